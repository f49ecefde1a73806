"""Scanned pages for tests: pictures of text, made here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import reportlab
from PIL import Image, ImageDraw, ImageFont
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

DPI = 150
WIDTH, HEIGHT = 400.0, 300.0  # of a page, in points
_FONT = Path(reportlab.__file__).parent / "fonts" / "Vera.ttf"


def draw_text(lines: Sequence[str], size: int = 24, quarter_turns: int = 0) -> Image.Image:
    """A page's picture with lines of text from the top, then turned to the left."""
    sides = (round(WIDTH * DPI / 72), round(HEIGHT * DPI / 72))
    picture = Image.new("RGB", sides if quarter_turns % 2 == 0 else sides[::-1], "white")
    draw = ImageDraw.Draw(picture)
    font = ImageFont.truetype(str(_FONT), size)
    for number, line in enumerate(lines):
        draw.text((60, 60 + number * 2 * size), line, fill=(20, 20, 20), font=font)
    return picture.rotate(90 * quarter_turns, expand=True)


def write_scan(path: Path, pages: Sequence[Image.Image | str]) -> Path:
    """A PDF whose pages are pictures, or one line of real text."""
    canvas = Canvas(str(path), pagesize=(WIDTH, HEIGHT))
    for page in pages:
        if isinstance(page, str):
            canvas.drawString(40, HEIGHT - 60, page)
        else:
            canvas.drawImage(ImageReader(page), 0, 0, WIDTH, HEIGHT)
        canvas.showPage()
    canvas.save()
    return path
