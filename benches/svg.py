"""Line charts with logarithmic axes, as SVG."""

import math
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

WIDTH, HEIGHT, COLUMNS = 420, 260, 2
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 30, 38
LEGEND: Final = 18
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
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    font = 'font-family="sans-serif" font-size="11" fill="#333"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>',
        "<style>.grid{stroke:#ddd;fill:none}.title{font-size:13px;font-weight:bold}</style>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for i, chart in enumerate(charts):
        parts += _chart(chart, WIDTH * (i % COLUMNS), (HEIGHT + legend) * (i // COLUMNS))
    return "\n".join([*parts, "</svg>"]) + "\n"
