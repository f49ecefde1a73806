"""What a parser returns: pages, outline and blocks of lines in reading order, the same for every format."""

from __future__ import annotations

import dataclasses
import enum
from dataclasses import dataclass, field
from typing import Any

Box = tuple[float, float, float, float]
"""left, bottom, right, top in PDF points, the origin at the page's lower left corner."""

CELL_SPACE = "  "
"""Between the cells of a table's row, in formats that have no mark of their own for it.

Every column has its place in every row, so an empty cell is nothing between two marks: `row.split(CELL_SPACE)` gives
the cells by column. Trailing empty cells are left out.
"""


def space_cells(cells: list[tuple[int, str]], first_column: int = 0) -> str:
    """A row's text from its cells (column, text), each in its place from `first_column` on."""
    places: list[str] = []
    for column, text in cells:
        text = " ".join(text.split())
        place = column - first_column
        if place < len(places):
            places[-1] = f"{places[-1]} {text}".strip()
        else:
            places.extend([""] * (place - len(places)))
            places.append(text)
    return CELL_SPACE.join(places)


class BlockKind(enum.StrEnum):
    """What a block is; decides how it may be split."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST = "list"
    TABLE = "table"
    CODE = "code"
    FIGURE_CAPTION = "figure_caption"
    FOOTNOTE = "footnote"


@dataclass(slots=True)
class Line:
    """One line of text as the file has it.

    `glue` stands between this line and the one before it in the same block: a space, a line break, or nothing
    where a word was divided at the line's end. `box` is None and `page` 0 for formats without pages.
    """

    text: str
    page: int = 0
    box: Box | None = None
    glue: str = "\n"


@dataclass(slots=True)
class Block:
    """Lines that belong together.

    - heading: `level` is its depth, 1 for the outermost.
    - list: `items` are the indices of the lines that begin an item, `levels` their depth (0 outermost).
    - table: the first `caption_count` lines are the caption, the next `header_count` the header; every line after
      them begins a row, unless `items` names the lines that do. `columns` are the column titles and `cells` the
      cells per row (column index, text), where they could be told apart.
    - `lead`: the bold words that open a paragraph and name it, where there are some.
    - `attached`: this block continues or completes the one before it (an introduction and its list).
    """

    kind: BlockKind
    lines: list[Line]
    level: int = 0
    items: list[int] = field(default_factory=list)
    levels: list[int] = field(default_factory=list)
    caption_count: int = 0
    header_count: int = 0
    columns: list[str] = field(default_factory=list)
    cells: list[list[tuple[int, str]]] = field(default_factory=list)
    lead: str = ""
    attached: bool = False

    @property
    def text(self) -> str:
        """The lines joined by their glue."""
        return join_lines(self.lines)

    @property
    def first_page(self) -> int:
        """Page of the first line; 0 where the format has no pages."""
        return self.lines[0].page if self.lines else 0


_TEXT_CHAR_COUNT = 20  # fewer characters than this are a page number
_STAMP_CHAR_COUNT = 120  # fewer than this on a picture that fills the page are a stamp, such as "Licensed to …"
_FULL_PAGE_SHARE = 0.8
_SCAN_SHARE = 0.5


class OcrOutcome(enum.StrEnum):
    """What came of reading a page as a picture."""

    NOT_ASKED = ""
    READ = "read"
    NOTHING_FOUND = "nothing_found"
    NOT_BEGUN = "not_begun"  # the pages before it took all the time
    OUT_OF_TIME = "out_of_time"
    OUT_OF_MEMORY = "out_of_memory"
    FAILED = "failed"


@dataclass(slots=True)
class Page:
    """Facts of one page: size in points, characters of its text layer (spaces not counted), the share of it that its
    largest picture covers, what OCR made of it and within how many seconds, its printed label ("iv"), and the lines
    that run along its edges."""

    number: int
    width: float
    height: float
    char_count: int
    image_share: float = 0.0
    ocr: OcrOutcome = OcrOutcome.NOT_ASKED
    ocr_limit_s: float = 0.0
    label: str = ""
    margin_lines: list[str] = field(default_factory=list)

    @property
    def has_text(self) -> bool:
        """Whether it has a text layer worth the name."""
        if self.image_share >= _FULL_PAGE_SHARE:
            return self.char_count >= _STAMP_CHAR_COUNT
        return self.char_count >= _TEXT_CHAR_COUNT

    @property
    def recognised(self) -> bool:
        """Whether its text is that of OCR."""
        return self.ocr is OcrOutcome.READ

    @property
    def is_scan(self) -> bool:
        """Whether it is a picture without a text layer."""
        return self.image_share >= _SCAN_SHARE and not self.has_text


@dataclass(slots=True)
class OutlineEntry:
    """One bookmark; `page` is 1-based, 0 where it leads nowhere."""

    title: str
    level: int
    page: int


@dataclass(slots=True)
class ParsedDocument:
    """A whole file, read. `truncated` says in words what was left out, empty when nothing was; `notes` what else its
    reader should know; `attachments` names the files attached to it, which are not read."""

    format: str
    title: str = ""
    pages: list[Page] = field(default_factory=list)
    outline: list[OutlineEntry] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    truncated: str = ""
    notes: list[str] = field(default_factory=list)
    encrypted: bool = False
    attachments: list[str] = field(default_factory=list)


def join_lines(lines: list[Line]) -> str:
    """Text of lines in order, each after its own glue."""
    parts: list[str] = []
    for number, line in enumerate(lines):
        if number:
            parts.append(line.glue)
        parts.append(line.text)
    return "".join(parts)


def to_json(document: ParsedDocument) -> dict[str, Any]:
    """Plain lists and dicts, for the pipe between child and parent."""
    data = dataclasses.asdict(document)
    for block in data["blocks"]:
        block["lines"] = [[line["text"], line["page"], line["box"], line["glue"]] for line in block["lines"]]
    return data


def from_json(data: dict[str, Any]) -> ParsedDocument:
    """The inverse of `to_json`. Raises KeyError, TypeError or ValueError where the child sent something else."""
    blocks = []
    for raw in data["blocks"]:
        lines = [Line(str(text), int(page), _box(box), str(glue)) for text, page, box, glue in raw["lines"]]
        cells = [[(int(column), str(text)) for column, text in row] for row in raw["cells"]]
        rest = {
            key: raw[key] for key in ("level", "items", "levels", "caption_count", "header_count", "columns", "lead")
        }
        blocks.append(
            Block(kind=BlockKind(raw["kind"]), lines=lines, cells=cells, attached=bool(raw["attached"]), **rest)
        )
    return ParsedDocument(
        format=str(data["format"]),
        title=str(data["title"]),
        pages=[Page(**{**page, "ocr": OcrOutcome(page["ocr"])}) for page in data["pages"]],
        outline=[OutlineEntry(**entry) for entry in data["outline"]],
        blocks=blocks,
        truncated=str(data["truncated"]),
        notes=[str(note) for note in data["notes"]],
        encrypted=bool(data["encrypted"]),
        attachments=[str(name) for name in data["attachments"]],
    )


def _box(value: Any) -> Box | None:
    if value is None:
        return None
    left, bottom, right, top = value
    return (float(left), float(bottom), float(right), float(top))
