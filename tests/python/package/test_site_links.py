"""What is asked of the links of the built site."""

import documentation
import site_links


def site(folder, **pages):
    """Writes pages, and reads them back."""
    for name, body in pages.items():
        file = folder / f"{name.replace('__', '/')}.html"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"<html><body>{body}</body></html>", encoding="utf-8")
    return site_links.read(folder)


def test_links_to_places_and_files_are_found_good(tmp_path):
    (tmp_path / "a picture.png").touch()
    pages = site(
        tmp_path,
        index='<a href="inner/page.html#there">a</a> <a href="https://e.org/x">b</a> <a href="#own">c</a>'
        '<h2 id="own">d</h2> <img src="a%20picture.png"> <a href="inner/page.html?q=1">e</a>',
        inner__page='<p id="there"><a href="../index.html#own">f</a></p>',
    )
    assert site_links.broken(tmp_path, pages) == []


def test_a_link_to_no_file_and_one_to_no_place_are_told(tmp_path):
    pages = site(tmp_path, index='<a href="none.html">a</a> <a href="page.html#no">b</a>', page="")
    assert site_links.broken(tmp_path, pages) == [
        "index.html: none.html does not exist",
        "index.html: page.html#no is no place of that page",
    ]


def test_an_answer_is_as_many_clicks_away_as_links_lead_to_it(tmp_path):
    pages = site(
        tmp_path,
        index='<a href="one.html">a</a>',
        one='<a href="two.html">b</a>',
        two='<a href="three.html#answer">c</a>',
        three='<p id="answer"></p>',
    )
    answers = {"why": "three.html#answer"}
    assert site_links.unanswered(pages, answers, clicks=3) == []
    assert site_links.unanswered(pages, answers, clicks=2) == [
        "2 clicks do not lead to three.html#answer: why"
    ]
    assert site_links.way_to("three.html#answer", site_links.ways(pages)) == [
        "index.html",
        "one.html",
        "two.html",
        "three.html#answer",
    ]


def test_the_shortest_way_is_found_among_several(tmp_path):
    pages = site(
        tmp_path,
        index='<a href="one.html">a</a> <a href="two.html">b</a>',
        one='<a href="two.html#answer">c</a>',
        two='<a href="#answer">d</a> <p id="answer"></p> <a href="index.html">e</a>',
    )
    found = site_links.ways(pages)
    assert len(site_links.way_to("two.html#answer", found)) == 3
    assert site_links.way_to("two.html#none", found) is None


def test_a_name_that_is_no_place_of_the_reference_is_told(tmp_path):
    pages = site(tmp_path, index='<p id="tf.b">b</p>', reference__tf='<dt id="tf.a">a</dt>')
    assert site_links.without_entry(pages, ["tf.b", "tf.a"]) == ["the reference has no place tf.b"]


def test_the_answers_stand_under_headings_of_the_guides():
    for answer in site_links.ANSWERS.values():
        page, anchor = answer.split("#")
        text = (documentation.DOCS / page.replace(".html", ".md")).read_text(encoding="utf-8")
        assert anchor in documentation.anchors(text), answer
