"""The text of one PDF page as visual lines of words with boxes, sizes and weights, in the file's own order."""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from services.documents.parsing.blocks import Box

_DIVIDED = "￾"  # pdfium's mark for a hyphen at a line's end; the next line's text follows at once
_TIDY = str.maketrans(
    {
        # Characters without a meaning of their own: fonts that do not say what they draw.
        **dict.fromkeys((*range(1, 9), *range(14, 32), 127), "�"),
        "ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st",
        "\xa0": " ", "\xad": None, "\x00": None, "\x02": "-", "\f": " ",
    }
)  # fmt: skip
_WIDE_WORD = 1.3  # times the letters' height for each letter: no type is as wide
_BOLD_NAME = re.compile(r"bold|black|heavy|semib|demi|medi\b|cmbx|cmssbx|-bd", re.IGNORECASE)
_FIXED_NAME = re.compile(r"mono|courier|consol|cmtt|typewriter|menlo", re.IGNORECASE)
_PRIVATE_USE = re.compile("[\ue000-\uf8ff]")


@dataclass(slots=True)
class Word:
    """A run of characters without spaces; `left` and `right` in PDF points, `start` its first character on the page."""

    text: str
    left: float
    right: float
    bottom: float
    top: float
    start: int


@dataclass(slots=True)
class TextLine:
    """One visual line. `divided` says that its last word goes on in the next line, after a hyphen in the file."""

    words: list[Word]
    size: float
    bold: bool
    fixed_width: bool
    divided: bool = False
    lead_count: int = 0
    page: int = 0
    left: float = field(init=False)
    right: float = field(init=False)
    bottom: float = field(init=False)
    top: float = field(init=False)

    def __post_init__(self) -> None:
        self.measure()

    def measure(self) -> None:
        """Takes the line's box from its words."""
        self.left = min(word.left for word in self.words)
        self.right = max(word.right for word in self.words)
        self.bottom = min(word.bottom for word in self.words)
        self.top = max(word.top for word in self.words)

    @property
    def text(self) -> str:
        """The words with one space between them."""
        return " ".join(word.text for word in self.words)

    @property
    def box(self) -> Box:
        """left, bottom, right, top in PDF points."""
        return (round(self.left, 1), round(self.bottom, 1), round(self.right, 1), round(self.top, 1))

    @property
    def height(self) -> float:
        """Height in points."""
        return self.top - self.bottom


def read_lines(page: pdfium.PdfPage, page_number: int) -> list[TextLine]:
    """Visual lines of a page, in the order in which the file draws them; rotated marginal text is left out."""
    return read_all_lines(page, page_number)[0]


def read_all_lines(page: pdfium.PdfPage, page_number: int) -> tuple[list[TextLine], list[TextLine]]:
    """The same, and the turned lines that are left out: stamps in the margin, or the titles of narrow columns."""
    textpage = page.get_textpage()
    try:
        characters = _characters(textpage)
        fonts = _FontReader(textpage, page)
        lines = _split_lines(characters, fonts)
    finally:
        textpage.close()
    for line, _ in lines:
        line.page = page_number
    upright = [line for line, angled in lines if not angled]
    # A page that is mostly turned (a landscape table) is kept as it is; stray turned lines are marginal stamps.
    if len(upright) * 2 < len(lines):
        return _join_rows([line for line, _ in lines]), []
    return _join_rows(upright), [line for line, angled in lines if angled]


def _characters(textpage: pdfium.PdfTextPage) -> list[str]:
    """One entry per pdfium character, so that positions agree with pdfium's indices."""
    count = textpage.count_chars()
    if count <= 0:
        return []
    text = textpage.get_text_range()
    if len(text) == count:
        return list(text)
    codes = (pdfium_c.FPDFText_GetUnicode(textpage.raw, index) for index in range(count))
    return [chr(code) if 0 < code < 0xD800 or 0xDFFF < code < 0x110000 else "\x00" for code in codes]


def place_on_page(page: pdfium.PdfPage) -> Callable[[float, float], tuple[float, float]]:
    """Puts a point of the page's own coordinates where it is on the page as shown."""
    rotation, (x0, y0, x1, y1) = page.get_rotation(), page.get_cropbox()
    turns = {
        90: lambda x, y: (y - y0, x1 - x),
        180: lambda x, y: (x1 - x, y1 - y),
        270: lambda x, y: (y1 - y, x - x0),
    }
    return turns.get(rotation, lambda x, y: (x - x0, y - y0))


class _FontReader:
    """Boxes and fonts of single characters, by pdfium's index; boxes as the page is shown, its rotation applied."""

    def __init__(self, textpage: pdfium.PdfTextPage, page: pdfium.PdfPage) -> None:
        self._raw = textpage.raw
        self._rotation = page.get_rotation()
        self._frame = page.get_cropbox()
        self._rect = pdfium_c.FS_RECTF()
        self._matrix = pdfium_c.FS_MATRIX()
        self._name = ctypes.create_string_buffer(128)
        self._flags = ctypes.c_int()

    def box(self, index: int) -> Box:
        rect = self._rect
        pdfium_c.FPDFText_GetLooseCharBox(self._raw, index, rect)
        x0, y0, x1, y1 = self._frame
        left, right = min(rect.left, rect.right), max(rect.left, rect.right)
        bottom, top = min(rect.bottom, rect.top), max(rect.bottom, rect.top)
        if self._rotation == 90:
            return (bottom - y0, x1 - right, top - y0, x1 - left)
        if self._rotation == 180:
            return (x1 - right, y1 - top, x1 - left, y1 - bottom)
        if self._rotation == 270:
            return (y1 - top, left - x0, y1 - bottom, right - x0)
        return (left - x0, bottom - y0, right - x0, top - y0)

    def size(self, index: int) -> float:
        size = float(pdfium_c.FPDFText_GetFontSize(self._raw, index))
        matrix = self._matrix
        if pdfium_c.FPDFText_GetMatrix(self._raw, index, matrix):
            size *= (matrix.c**2 + matrix.d**2) ** 0.5
        return round(size, 1)

    def name(self, index: int) -> str:
        pdfium_c.FPDFText_GetFontInfo(self._raw, index, self._name, 128, self._flags)
        return self._name.value.decode("utf-8", "replace")

    def bold(self, index: int) -> bool:
        return bool(_BOLD_NAME.search(self.name(index))) or pdfium_c.FPDFText_GetFontWeight(self._raw, index) >= 600

    def angled(self, index: int) -> bool:
        turn = math.radians(self._rotation)
        angle = (float(pdfium_c.FPDFText_GetCharAngle(self._raw, index)) - turn) % math.pi
        return 0.3 < angle < 2.84


def _split_lines(characters: list[str], fonts: _FontReader) -> list[tuple[TextLine, bool]]:
    lines: list[tuple[TextLine, bool]] = []
    words: list[Word] = []
    start = -1

    def end_word(end: int) -> None:
        nonlocal start
        for first, last in _pieces(start, end, fonts) if start >= 0 else ():
            text = _PRIVATE_USE.sub("•", "".join(characters[first:last]).translate(_TIDY))
            if text.strip():
                word = _word(text, first, last, fonts)
                if words and _falls_back(words[-1], word):
                    end_line(False)
                words.append(word)
        start = -1

    def end_line(divided: bool) -> None:
        if words:
            line = _line(words, fonts, divided)
            lines.append((line, fonts.angled(words[0].start)))
            words.clear()

    for index, character in enumerate(characters):
        if character in "\r\n":
            end_word(index)
            end_line(False)
        elif character == _DIVIDED:
            end_word(index)
            end_line(True)
        elif character.isspace() or character == "\xa0":
            end_word(index)
        elif start < 0:
            start = index
    end_word(len(characters))
    end_line(False)
    return lines


def _pieces(start: int, end: int, fonts: _FontReader) -> list[tuple[int, int]]:
    """A run of characters, divided where pdfium joined single ones that stand one below the other, or far apart."""
    if end - start < 2:
        return [(start, end)]
    first, last = fonts.box(start), fonts.box(end - 1)
    if last[3] >= first[1]:
        # Marks of several columns, with no space between them in the file.
        wide = last[2] - first[0] > _WIDE_WORD * (end - start) * (first[3] - first[1])
        return _cut_at_gaps(start, end, fonts) if wide else [(start, end)]
    cuts = [start]
    for index in range(start + 1, end):
        if fonts.box(index)[3] < fonts.box(index - 1)[1]:
            cuts.append(index)
    return list(zip(cuts, [*cuts[1:], end], strict=True))


def _cut_at_gaps(start: int, end: int, fonts: _FontReader) -> list[tuple[int, int]]:
    cuts = [start]
    for index in range(start + 1, end):
        before, box = fonts.box(index - 1), fonts.box(index)
        if box[0] - before[2] > box[3] - box[1]:
            cuts.append(index)
    return list(zip(cuts, [*cuts[1:], end], strict=True))


def _falls_back(previous: Word, word: Word) -> bool:
    """A word below and left of the one before it begins another line, though pdfium put no line end between."""
    height = previous.top - previous.bottom
    return word.left < previous.right and word.top < previous.bottom + 0.2 * height


def _word(text: str, start: int, end: int, fonts: _FontReader) -> Word:
    first, last = fonts.box(start), fonts.box(end - 1)
    return Word(
        text,
        left=min(first[0], last[0]),
        right=max(first[2], last[2]),
        bottom=min(first[1], last[1]),
        top=max(first[3], last[3]),
        start=start,
    )


def _line(words: list[Word], fonts: _FontReader, divided: bool) -> TextLine:
    probe = [words[0].start, words[len(words) // 2].start, words[-1].start]
    sizes = sorted(fonts.size(index) for index in probe)
    first_bold, last_bold = fonts.bold(probe[0]), fonts.bold(probe[2])
    lead_count = 0
    if first_bold and not last_bold:
        lead_count = next((i for i, word in enumerate(words) if not fonts.bold(word.start)), 0)
    return TextLine(
        list(words),
        size=sizes[1],
        bold=first_bold and last_bold and fonts.bold(probe[1]),
        fixed_width=all(_FIXED_NAME.search(fonts.name(index)) for index in probe),
        divided=divided,
        lead_count=lead_count,
    )


def _join_rows(lines: list[TextLine]) -> list[TextLine]:
    """Pdfium ends a line at every raised or lowered character; pieces on one baseline, left to right, are one line."""
    rows: list[TextLine] = []
    for line in lines:
        previous = rows[-1] if rows else None
        if previous is not None and _continues_row(previous, line):
            previous.size = max(previous.size, line.size)
            previous.bold = previous.bold and line.bold
            previous.divided = line.divided
            previous.words.extend(line.words)
            previous.measure()
        else:
            rows.append(line)
    return rows


def _continues_row(row: TextLine, piece: TextLine) -> bool:
    if row.divided or piece.height <= 0 or row.height <= 0:
        return False
    overlap = min(row.top, piece.top) - max(row.bottom, piece.bottom)
    gap = piece.left - row.words[-1].right
    size = max(row.size, piece.size)
    return overlap >= 0.35 * min(row.height, piece.height) and -0.3 * size <= gap <= 2.5 * size
