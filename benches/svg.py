"""Pictures as SVG, for light and dark pages: line charts with logarithmic axes, and bars of ratios."""

import math
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

WIDTH, HEIGHT, COLUMNS = 420, 260, 2
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 30, 38
LEGEND: Final = 18
# Names of what is drawn, with the colours of a light and of a dark page.
PALETTE: Final = {
    "page": ("fill:#fff", "fill:#161b22"),
    "text": ("fill:#1d2430", "fill:#e6e9ef"),
    "soft": ("fill:#59636e", "fill:#9aa4b2"),
    "grid": ("stroke:#dfe3ea;fill:none", "stroke:#30363d;fill:none"),
    "line": ("stroke:#667085;fill:none", "stroke:#8b95a5;fill:none"),
    "head": ("fill:#667085", "fill:#8b95a5"),
    "box": ("fill:#eef3fc;stroke:#4c7fd9", "fill:#18263f;stroke:#6f9be8"),
    "kept": ("fill:#eaf6f0;stroke:#5aa88f", "fill:#12302a;stroke:#5fb59a"),
    "fast": ("fill:#fdf3e1;stroke:#d99a2b", "fill:#3a2a0d;stroke:#d9a441"),
    "ahead": ("fill:#3f7fd1", "fill:#5a97e6"),
    "behind": ("fill:#c2703d", "fill:#d98a57"),
}
COLOURS: Final = ("#1f6feb", "#d1242f", "#1a7f37", "#9a6700", "#8250df", "#57606a")


@dataclass(frozen=True, slots=True)
class Series:
    """One line: its name, and its points with x and y above zero; others are left out."""

    name: str
    points: list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart: its heading, what x is, its lines."""

    title: str
    axis: str
    series: list[Series]


def _decades(values: list[float]) -> tuple[int, int]:
    """The powers of ten that enclose the values, at least one apart."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _number(power: int) -> str:
    return f"{10.0**power:,.10g}" if power >= -3 else f"1e{power}"


def _chart(chart: Chart, x0: float, y0: float) -> list[str]:
    lines = [[point for point in series.points if min(point) > 0] for series in chart.series]
    points = [point for line in lines for point in line]
    if not points:
        return []
    x_low, x_high = _decades([x for x, _ in points])
    y_low, y_high = _decades([y for _, y in points])
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def place(x: float, y: float) -> tuple[float, float]:
        right = (math.log10(x) - x_low) / (x_high - x_low)
        up = (math.log10(y) - y_low) / (y_high - y_low)
        return x0 + LEFT + width * right, y0 + TOP + height * (1 - up)

    out = [f'<text x="{x0 + LEFT}" y="{y0 + 18}" class="title">{escape(chart.title)}</text>']
    for power in range(x_low, x_high + 1):
        x, bottom = place(10.0**power, 10.0**y_low)
        out.append(f'<path class="grid" d="M{x:.1f} {bottom:.1f}v{-height}"/>')
        out.append(f'<text x="{x:.1f}" y="{bottom + 14:.1f}" text-anchor="middle">{_number(power)}</text>')
    for power in range(y_low, y_high + 1):
        left, y = place(10.0**x_low, 10.0**power)
        out.append(f'<path class="grid" d="M{left:.1f} {y:.1f}h{width}"/>')
        out.append(f'<text x="{left - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{_number(power)}</text>')
    middle = x0 + LEFT + width / 2
    out.append(f'<text x="{middle}" y="{y0 + HEIGHT - 8}" text-anchor="middle">{escape(chart.axis)}</text>')
    for line, colour in zip(lines, COLOURS, strict=False):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in line))
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
    for i, (series, colour) in enumerate(zip(chart.series, COLOURS, strict=False)):
        x, y = x0 + LEFT + width * (i % 2) / 2, y0 + HEIGHT + LEGEND * (i // 2) + 10
        out.append(f'<path d="M{x} {y - 4}h16" stroke="{colour}" stroke-width="2"/>')
        out.append(f'<text x="{x + 22}" y="{y}">{escape(series.name)}</text>')
    return out


def document(width: int, height: int, title: str, parts: list[str], size: int = 13) -> str:
    """A picture with the colours of `PALETTE` by class.

    Args:
        width: in pixels.
        height: in pixels.
        title: what it shows, for those who do not see it.
        parts: what is drawn, later ones over earlier ones.
        size: of the font, in pixels.
    """
    light, dark = ("".join(f".{name}{{{colours[i]}}}" for name, colours in PALETTE.items()) for i in (0, 1))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" font-family="sans-serif" font-size="{size}">'
    )
    style = (
        f"<style>{light}.title{{font-size:{size + 2}px;font-weight:bold}}.code{{font:12px monospace}}"
        f"@media(prefers-color-scheme:dark){{{dark}}}</style>"
    )
    back = f'<rect class="page" width="{width}" height="{height}" rx="6"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", style, back, *parts, "</svg>"]) + "\n"


def text(x: float, y: float, words: str, kind: str = "text", anchor: str = "start") -> str:
    """A line of text of a class of `PALETTE`, or of several."""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


@dataclass(frozen=True, slots=True)
class Ratio:
    """What is compared, both figures as texts, and how many times less the own one is, a bar each."""

    title: str
    own: str
    other: str
    ratios: tuple[float, ...]


def bars(title: str, rows: list[Ratio]) -> str:
    """Bars from the line of 1: to the right where the own figure is less, to the left where it is more."""
    width, top, thick = 840, 54, 11
    line = 4 + thick * max(2, *(len(row.ratios) for row in rows))
    left, right, columns = 560, 790, (10, 340, 350)
    ratios = [ratio for row in rows for ratio in row.ratios]
    most = max(max(ratio, 1 / ratio) for ratio in ratios)
    least = min(1.0, *ratios)
    whole = math.log(most) - math.log(least)

    def place(ratio: float) -> float:
        return left + (right - left) * (math.log(ratio) - math.log(least)) / whole

    bottom = top + line * len(rows)
    parts = [
        text(columns[0], 22, title, "text title"),
        text(columns[1], 44, "Penstock", "soft", "end"),
        text(columns[2] + 10, 44, "best of the others", "soft"),
    ]
    for power in range(math.ceil(math.log10(most)) + 1):
        if 10**power <= most:
            x = place(10.0**power)
            parts.append(f'<path class="grid" d="M{x:.1f} {top - 4}V{bottom}"/>')
            parts.append(text(x, 44, f"{10**power:,}×", "soft", "middle"))
    for i, row in enumerate(rows):
        y = top + line * i
        middle = y + line / 2 + 4
        parts += [
            text(columns[0], middle, row.title),
            text(columns[1], middle, row.own, "text", "end"),
            text(columns[2] + 10, middle, row.other, "soft"),
        ]
        height = (line - 4) / len(row.ratios)
        for j, ratio in enumerate(row.ratios):
            start, end = sorted((place(1.0), place(ratio)))
            kind, wide, at = "ahead" if ratio >= 1 else "behind", max(1.0, end - start), y + 2 + height * j
            # Later bars are paler, so that the bars of one machine are followed down the picture.
            box = f'x="{start:.1f}" y="{at + 0.5:.1f}" width="{wide:.1f}" height="{height - 1:.1f}"'
            parts += [
                f'<rect class="{kind}" {box} opacity="{0.55**j:.2f}"/>',
                text(end + 5, at + height / 2 + 4, f"{ratio:.2g}×" if ratio < 100 else f"{ratio:.0f}×"),
            ]
    return document(width, bottom + 10, title, parts, 12)


def draw(charts: list[Chart]) -> str:
    """Draws charts side by side, two in a row.

    Raises:
        ValueError: A chart has more lines than there are colours.
    """
    if any(len(chart.series) > len(COLOURS) for chart in charts):
        raise ValueError(f"a chart has at most {len(COLOURS)} lines")
    legend = LEGEND * max((len(chart.series) + 1) // 2 for chart in charts) + 10
    rows = (len(charts) + COLUMNS - 1) // COLUMNS
    width, height = WIDTH * COLUMNS, (HEIGHT + legend) * rows
    parts = ['<g class="text">']
    for i, chart in enumerate(charts):
        parts += _chart(chart, WIDTH * (i % COLUMNS), (HEIGHT + legend) * (i // COLUMNS))
    return document(width, height, "; ".join(chart.title for chart in charts), [*parts, "</g>"], 11)
