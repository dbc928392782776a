"""Settings of Sphinx for the site that `make docs` makes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

import penstock

project = "Penstock"
copyright = "the authors of Penstock"
version = release = penstock.__version__
extensions = ["myst_parser"]
myst_enable_extensions = ["fieldlist", "colon_fence"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = f"Penstock {release}"
html_copy_source = False
html_show_sourcelink = False
maximum_signature_line_length = 88
python_use_unqualified_type_names = True
add_module_names = False
toc_object_entries_show_parents = "hide"
# Types of parameters are links where there is one such name; what is written as a name of `tf` has to be one.
nitpick_ignore_regex = [(r"py:.*", r"(?!tf\.).*")]
suppress_warnings = ["ref.python"]
# The names of the reference's entries, by all public names.
ENTRIES: dict[str, str] = json.loads(Path(__file__).with_name("reference").joinpath("names.json").read_text())


class NamesAreLinks(SphinxPostTransform):
    """Makes of `tf.name`, in code, a link to what the reference says of it."""

    default_priority = 5

    def run(self, **kwargs: Any) -> None:
        """Puts a reference around each such literal that is not within one."""
        objects = self.env.get_domain("py").objects
        for node in list(self.document.findall(nodes.literal)):
            found = re.match(r"tf\.[\w.]*\w", node.astext())
            if found is None:
                continue
            name = ENTRIES.get(found[0], found[0])
            if name not in objects:
                continue
            if isinstance(node.parent, nodes.reference | pending_xref):
                continue
            link = pending_xref("", refdomain="py", reftype="obj", reftarget=name, refexplicit=True)
            link["refdoc"] = self.env.docname
            node.replace_self(link)
            link += node


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers what the site has of its own."""
    app.add_post_transform(NamesAreLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
