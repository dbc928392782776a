"""Curves of a training as a picture, for the other examples."""

import html
from pathlib import Path

WIDTH, HEIGHT, MARGIN = 640, 360, 48
COLOURS = ("#1f6feb", "#d1242f", "#1a7f37", "#9a6700")


def save(path, title, curves, axis="epoch"):
    """Writes curves as a picture in SVG.

    Args:
        path: the file; its folder is made.
        title: stands above the curves.
        curves: from names to lists of numbers, one for each epoch.
        axis: what the numbers are counted by.
    """
    longest = max(len(values) for values in curves.values())
    top = max(max(values) for values in curves.values()) or 1.0
    across, up = (WIDTH - 2 * MARGIN) / max(longest - 1, 1), (HEIGHT - 2 * MARGIN) / top
    lines = [f'<text x="{MARGIN}" y="24" font-size="15">{html.escape(title)}</text>']
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = HEIGHT - MARGIN - share * top * up
        lines.append(f'<path d="M{MARGIN} {y:.1f}H{WIDTH - MARGIN}" stroke="#dfe3ea"/>')
        lines.append(f'<text x="{MARGIN - 6}" y="{y + 4:.1f}" text-anchor="end">{share * top:.3g}</text>')
    for (name, values), colour, y in zip(curves.items(), COLOURS, range(MARGIN, HEIGHT, 18), strict=False):
        points = " ".join(
            f"{MARGIN + i * across:.1f},{HEIGHT - MARGIN - value * up:.1f}" for i, value in enumerate(values)
        )
        lines.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        lines.append(
            f'<text x="{WIDTH - MARGIN}" y="{y}" text-anchor="end" fill="{colour}">{html.escape(name)}</text>'
        )
    lines.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 12}" text-anchor="middle">{axis} 1 to {longest}</text>')
    picture = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="12"><rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>{"".join(lines)}</svg>\n'
    )
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(picture, encoding="utf-8")
