"""Scanned pages of a PDF: drawn, read by OCR while there is time, and given as lines like those of a text layer."""

from __future__ import annotations

import dataclasses
import statistics
import tempfile
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from services.documents.parsing.blocks import Block, Box, OcrOutcome, Page
from services.documents.parsing.ocr import PageTimeoutError, ReadLine, ReadPicture, ScanReader, load_scan_reader
from services.documents.parsing.pdf_geometry import order_by_place
from services.documents.parsing.pdf_text import TextLine, Word
from services.documents.parsing.request import BEGUN_PAGE_NAME

_DPI = 144.0  # of the picture that is read: at 100 small type is lost, at 200 it takes twice the time
_MAX_SIDE = 2_200  # pixels
_MAX_PICTURE_PIXELS = 200_000_000  # A4 at 1,000 dots per inch has half of them
_INK_SHARE = 0.74  # of a line box's height: boxes are drawn higher than the letters, on both sides
_SAME_SIZE = 0.25  # type within this share of the page's usual size is taken for that: box heights vary with the words


@dataclass(frozen=True, slots=True)
class ScanJob:
    """Which pages are read, by what, and until when by the monotonic clock; `note` is told each page that is begun."""

    reader: ScanReader
    page_numbers: Collection[int]
    ends_at: float
    note: Callable[[int], object] = lambda number: None


@dataclass(slots=True)
class Scans:
    """By page number: the lines of pages that were read; quarter turns to the left of those that stood otherwise; and
    for every page asked for what came of it, and the seconds that it had."""

    lines: dict[int, list[TextLine]] = field(default_factory=dict)
    turns: dict[int, int] = field(default_factory=dict)
    outcomes: dict[int, OcrOutcome] = field(default_factory=dict)
    limits_s: dict[int, float] = field(default_factory=dict)


def begin_scans(page_numbers: Collection[int], time_s: float, thread_count: int) -> ScanJob | None:
    """A job that ends `time_s` seconds from now; None where no page is asked for, or the extra `ocr` is missing."""
    ends_at = time.monotonic() + time_s
    reader = load_scan_reader(thread_count) if page_numbers else None
    if reader is None:
        return None
    # A page can end this process: who started it reads there which one it was.
    begun = Path(tempfile.gettempdir()) / BEGUN_PAGE_NAME
    return ScanJob(reader, frozenset(page_numbers), ends_at, lambda number: begun.write_text(str(number), "ascii"))


def read_scans(document: pdfium.PdfDocument, job: ScanJob, clock: Callable[[], float] = time.monotonic) -> Scans:
    """Reads pages in their order. A page begins only where the one before it would have fitted into the time left."""
    scans = Scans()
    longest = 0.0
    for number in sorted(job.page_numbers):
        started = clock()
        scans.limits_s[number] = max(0.0, job.ends_at - started)
        if started + longest > job.ends_at:
            scans.outcomes[number] = OcrOutcome.NOT_BEGUN
            continue
        try:
            job.note(number)
            page = document[number - 1]
            _refuse_huge_pictures(page)
            read, scale = _read_page(page, job)
            width, height = page.get_size()
            page.close()
        except PageTimeoutError:
            scans.outcomes[number] = OcrOutcome.OUT_OF_TIME
        except MemoryError:
            scans.outcomes[number] = OcrOutcome.OUT_OF_MEMORY
        except Exception:  # noqa: BLE001 - the recogniser's libraries raise types of their own: it costs this page alone
            scans.outcomes[number] = OcrOutcome.FAILED
        else:
            read_height = width if read.quarter_turns % 2 else height
            _keep(scans, number, read, [_to_text_line(line, number, scale, read_height) for line in read.lines])
        longest = max(longest, clock() - started)
    return scans


def _keep(scans: Scans, number: int, read: ReadPicture, lines: list[TextLine]) -> None:
    scans.outcomes[number] = OcrOutcome.READ if lines else OcrOutcome.NOTHING_FOUND
    if lines:
        scans.lines[number] = order_by_place(_set_sizes(lines))
    if read.quarter_turns:
        scans.turns[number] = read.quarter_turns


def turn_back(blocks: list[Block], pages: list[Page], turns: dict[int, int]) -> None:
    """Puts the boxes of turned pages where the words stand on the page as it is shown."""
    for line in (line for block in blocks for line in block.lines):
        if line.box is not None and line.page in turns:
            page = pages[line.page - 1]
            line.box = _turn(line.box, turns[line.page], page.width, page.height)


def _turn(box: Box, quarter_turns: int, width: float, height: float) -> Box:
    """A box of the picture as read, in coordinates of the page `width` x `height` as shown."""
    left, bottom, right, top = box
    if quarter_turns == 1:  # read after one turn to the left: what leads up there leads to the right here
        return (bottom, height - right, top, height - left)
    if quarter_turns == 2:
        return (width - right, height - top, width - left, height - bottom)
    return (width - top, left, width - bottom, right)


def _refuse_huge_pictures(page: pdfium.PdfPage) -> None:
    """Raises MemoryError where a picture has more pixels than any scanner makes: drawing the page would unfold it."""
    for image in page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_IMAGE], max_depth=3):
        width, height = image.get_px_size()
        if width * height > _MAX_PICTURE_PIXELS:
            raise MemoryError


def _read_page(page: pdfium.PdfPage, job: ScanJob) -> tuple[ReadPicture, float]:
    scale = min(_DPI / 72.0, _MAX_SIDE / max(*page.get_size(), 1.0))
    picture = page.render(scale=scale, draw_annots=False).to_numpy()
    colours = picture if picture.ndim == 3 else picture[:, :, None].repeat(3, axis=2)
    return job.reader.read(np.ascontiguousarray(colours[:, :, :3]), job.ends_at), scale


def _to_text_line(line: ReadLine, page_number: int, scale: float, page_height: float) -> TextLine:
    _, top, _, bottom = line.box
    outside = (bottom - top) * (1 - _INK_SHARE) / 2
    low, high = page_height - (bottom - outside) / scale, page_height - (top + outside) / scale
    words = [Word(word.text, word.left / scale, word.right / scale, low, high, 0) for word in line.words]
    divided = len(words) > 1 and words[-1].text.endswith("-") and words[-1].text[-2:-1].isalpha()
    if divided:
        words[-1].text = words[-1].text[:-1]
    size = round(high - low, 1)
    return TextLine(words, size=size, bold=False, fixed_width=False, divided=divided, page=page_number)


def _set_sizes(lines: list[TextLine]) -> list[TextLine]:
    if not lines:
        return lines
    usual = round(statistics.median(line.size for line in lines for _ in line.words), 1)
    return [
        dataclasses.replace(line, size=usual if abs(line.size - usual) <= _SAME_SIZE * usual else line.size)
        for line in lines
    ]
