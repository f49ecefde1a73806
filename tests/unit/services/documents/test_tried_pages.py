"""What was tried on a page is remembered: nothing is read in vain twice, and each cause is told by its name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from citemesh.v1 import documents_pb2 as pb
from citemesh.v1.document_pb2 import PageReading, ParsingStrategy, Section
from citemesh.v1.evidence_pb2 import LineBox, Passage
from services.documents.page_readings import (
    FAILED,
    LAYOUT,
    NOTHING_FOUND,
    OCR,
    OUT_OF_MEMORY,
    OUT_OF_TIME,
    READ,
    is_too_short,
    is_worth_trying,
    merge_readings,
    to_duration,
)
from services.documents.page_replacement import choose_replaced, choose_without_loss, place_in_sections
from services.documents.parsing.blocks import OcrOutcome, ParsedDocument
from services.documents.parsing.refusal import ParseRefused, RefusalReason
from services.documents.parsing.sandbox import ParserSandbox
from services.documents.scan_reading import read_scanned_pages
from services.documents.scanned import describe_scans
from tests.unit.services.documents.scans import draw_text, write_scan
from tests.unit.services.documents.serving import Mesh, reason_of, start

REAL_PARSE = ParserSandbox.parse


class Parses:
    """Counts what the sandbox is asked to do; reading by OCR ends as it is told to."""

    def __init__(self, refusal: RefusalReason) -> None:
        self.refusal = refusal
        self.plain_count = self.ocr_count = 0
        self.layout_pages: Any = ()

    async def parse(self, sandbox: ParserSandbox, *arguments: Any) -> ParsedDocument:
        if len(arguments) > 4 and arguments[4]:
            self.ocr_count += 1
            raise ParseRefused(self.refusal, "It did not work.")
        self.plain_count += 1
        self.layout_pages = arguments[3] if len(arguments) > 3 else ()
        return await REAL_PARSE(sandbox, *arguments)


@pytest_asyncio.fixture
async def mesh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[Mesh]:
    monkeypatch.setattr("services.documents.scanned.ocr_is_installed", lambda: True)
    started = await start(monkeypatch, tmp_path / "state")
    yield started
    await started.service.close()


def watch(monkeypatch: pytest.MonkeyPatch, refusal: RefusalReason) -> Parses:
    parses = Parses(refusal)
    monkeypatch.setattr(ParserSandbox, "parse", lambda sandbox, *arguments: parses.parse(sandbox, *arguments))
    return parses


@pytest.mark.parametrize(
    ("refusal", "outcome", "cause"),
    [
        (RefusalReason.CRASHED, FAILED, "not read: OCR failed"),
        (RefusalReason.TOO_MUCH_MEMORY, OUT_OF_MEMORY, "not read: OCR needs more memory than is allowed"),
        (RefusalReason.TOO_SLOW, OUT_OF_TIME, "not read in the time allowed"),
    ],
)
async def test_ocr_that_failed_is_told_by_its_cause_and_not_tried_again(
    mesh: Mesh, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, refusal: RefusalReason, outcome: int, cause: str
) -> None:
    parses = watch(monkeypatch, refusal)
    scan = write_scan(tmp_path / "a.pdf", [draw_text(["Lamps"])]).read_bytes()
    document = (await mesh.ingest(scan, "a.pdf")).document
    assert document.warnings[-1] == f"page 1: a picture without text, {cause}"
    assert [reading.outcome for reading in document.profile.page_readings] == [outcome]
    before = (parses.plain_count, parses.ocr_count)
    for _ in range(2):
        again = await mesh.call("Reparse", pb.ReparseRequest(document_id="a", page_numbers=[1]))
        assert not again.changed
        assert list(again.skipped_page_numbers) == [1]
        assert [reading.outcome for reading in again.page_readings] == [outcome]
    assert (parses.plain_count, parses.ocr_count) == before
    forced = pb.ReparseRequest(document_id="a", page_numbers=[1], even_if_tried=True)
    assert not (await mesh.call("Reparse", forced)).skipped_page_numbers
    assert parses.ocr_count == 2


async def test_a_page_with_text_is_laid_out_once(mesh: Mesh, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    parses = watch(monkeypatch, RefusalReason.CRASHED)
    text = "A page with a text layer, and it is long enough to be one."
    await mesh.ingest(write_scan(tmp_path / "a.pdf", [text]).read_bytes(), "a.pdf")
    request = pb.ReparseRequest(document_id="a", page_numbers=[1])
    first = await mesh.call("Reparse", request)
    assert (first.passage_count, list(first.skipped_page_numbers)) == (1, [])
    assert [(reading.strategy, reading.outcome) for reading in first.page_readings] == [(LAYOUT, READ)]
    count = parses.plain_count
    again = await mesh.call("Reparse", request)
    assert (again.passage_count, list(again.skipped_page_numbers)) == (1, [1])
    assert parses.plain_count == count


async def test_pages_laid_out_before_are_laid_out_again_beside_those_asked_for(
    mesh: Mesh, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A cut between passages may move into them: plain text would come under the record of the layout."""
    parses = watch(monkeypatch, RefusalReason.CRASHED)
    text = "Page {} has a text layer, and it is long enough to be one."
    await mesh.ingest(write_scan(tmp_path / "a.pdf", [text.format("one"), text.format("two")]).read_bytes(), "a.pdf")
    await mesh.call("Reparse", pb.ReparseRequest(document_id="a", page_numbers=[1]))
    assert parses.layout_pages == (1,)
    second = await mesh.call("Reparse", pb.ReparseRequest(document_id="a", page_numbers=[2]))
    assert parses.layout_pages == (1, 2)
    assert [(reading.page_number, reading.strategy) for reading in second.page_readings] == [(2, LAYOUT)]
    native = ParsingStrategy.PARSING_STRATEGY_NATIVE_TEXT
    await mesh.call("Reparse", pb.ReparseRequest(document_id="a", page_numbers=[1], strategy=native))
    assert parses.layout_pages == (2,)


async def test_an_empty_page_is_looked_at_once(mesh: Mesh, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("services.documents.scanned.ocr_is_installed", lambda: False)
    scan = write_scan(tmp_path / "a.pdf", [draw_text([])]).read_bytes()
    document = (await mesh.ingest(scan, "a.pdf")).document
    assert document.warnings[-1] == "page 1: a picture without text, not read: OCR is not installed"
    refused = mesh.call("Reparse", pb.ReparseRequest(document_id="a", page_numbers=[1]))
    assert await reason_of(refused) == "NOT_CONFIGURED"


class Endings:
    """A sandbox whose parser ends on some pages, and says which of them it was where it can."""

    def __init__(self, *culprits: int, says: bool = True) -> None:
        self.culprits, self.says = culprits, says
        self.asked: list[tuple[int, ...]] = []

    async def parse(
        self, path: Path, name: str, password: str, layout: Any, pages: Any, ocr_s: float
    ) -> ParsedDocument:
        self.asked.append(pages)
        for page in pages:
            if page in self.culprits:
                refusal = ParseRefused(RefusalReason.CRASHED, "It is damaged.")
                refusal.page_number = page if self.says else 0
                raise refusal
        return ParsedDocument("pdf", title="read")


@pytest.mark.parametrize(
    ("endings", "asked", "is_read", "failed"),
    [
        (Endings(), [(1, 2, 3)], True, []),
        (Endings(2), [(1, 2, 3), (1, 3)], True, [2]),
        (Endings(1, 2), [(1, 2, 3), (2, 3), (3,)], True, [1, 2]),
        (Endings(1, 2, 3), [(1, 2, 3), (2, 3), (3,)], False, [1, 2, 3]),
        (Endings(2, says=False), [(1, 2, 3)], False, [1, 2, 3]),
    ],
)
async def test_a_page_that_ends_the_parser_costs_no_other(
    tmp_path: Path, endings: Any, asked: list[tuple[int, ...]], is_read: bool, failed: list[int]
) -> None:
    scans = await read_scanned_pages(endings, tmp_path / "a.pdf", "a.pdf", "", (), (1, 2, 3), 60.0)
    assert endings.asked == asked
    assert (scans.document is not None) is is_read
    assert {page: outcome for page, (outcome, _) in scans.ended.items()} == dict.fromkeys(failed, OcrOutcome.FAILED)


async def test_pages_that_a_bad_file_leaves_no_turn_are_read_by_the_next_call(tmp_path: Path) -> None:
    endings: Any = Endings(1, 2, 3)
    scans = await read_scanned_pages(endings, tmp_path / "a.pdf", "a.pdf", "", (), (1, 2, 3, 4, 5), 60.0)
    assert (scans.document, list(scans.ended)) == (None, [1, 2, 3])
    rest = await read_scanned_pages(endings, tmp_path / "a.pdf", "a.pdf", "", (), (4, 5), 60.0)
    assert (rest.document is not None, rest.ended) == (True, {})


async def test_pages_after_one_that_took_all_the_time_are_not_begun(tmp_path: Path) -> None:
    endings: Any = Endings(1)
    scans = await read_scanned_pages(endings, tmp_path / "a.pdf", "a.pdf", "", (), (1, 2), 1.0)
    assert endings.asked == [(1, 2)]
    assert list(scans.ended) == [1]


def reading(page: int, strategy: Any, outcome: Any, limit_s: float = 0.0) -> PageReading:
    made = PageReading(page_number=page, strategy=strategy, outcome=outcome)
    if limit_s:
        made.limit_duration.CopyFrom(to_duration(limit_s))
    return made


@pytest.mark.parametrize(
    ("known", "limit_s", "worth"),
    [
        ([], 5.0, True),
        ([reading(1, OCR, READ)], 60.0, False),
        ([reading(1, OCR, NOTHING_FOUND)], 60.0, False),
        ([reading(1, OCR, OUT_OF_TIME, 8.0)], 8.5, False),
        ([reading(1, OCR, OUT_OF_TIME, 8.0)], 12.5, True),
        ([reading(1, OCR, OUT_OF_TIME, 0.0)], 0.0, False),
        ([reading(1, OCR, OUT_OF_TIME, 8.0)], None, True),
        ([reading(1, LAYOUT, READ), reading(2, OCR, FAILED)], 5.0, True),
    ],
)
def test_a_page_is_tried_again_only_with_much_more_time(
    known: list[PageReading], limit_s: float | None, worth: bool
) -> None:
    assert is_worth_trying(known, 1, OCR, limit_s) is worth


def test_two_pages_given_up_speak_for_the_others_until_there_is_more_time() -> None:
    given_up = [reading(1, OCR, OUT_OF_TIME, 8.0), reading(2, OCR, OUT_OF_TIME, 7.0)]
    assert is_too_short(given_up, 8.0)
    assert not is_too_short(given_up, 30.0)
    assert not is_too_short(given_up, None)
    assert not is_too_short(given_up[:1], 8.0)
    assert not is_too_short([reading(1, OCR, FAILED), reading(2, OCR, READ)], 8.0)


def test_text_of_one_strategy_takes_the_place_of_another_and_stays_where_a_later_one_fails() -> None:
    laid_out = [reading(1, LAYOUT, READ)]
    by_ocr = merge_readings(laid_out, [reading(1, OCR, READ)])
    assert by_ocr == [reading(1, OCR, READ)]
    assert merge_readings(by_ocr, [reading(1, OCR, OUT_OF_TIME, 3.0)]) == by_ocr
    assert merge_readings(by_ocr, [], read_plainly=[1]) == []


outcomes = st.sampled_from([READ, NOTHING_FOUND, OUT_OF_TIME, OUT_OF_MEMORY, FAILED])
readings = st.lists(
    st.builds(lambda page, strategy, outcome: reading(page, strategy, outcome), st.integers(1, 4),
              st.sampled_from([LAYOUT, OCR]), outcomes),
    max_size=8,
)  # fmt: skip


@given(readings, readings)
def test_records_stay_one_for_each_page_and_strategy(stored: list[PageReading], new: list[PageReading]) -> None:
    merged = merge_readings(merge_readings([], stored), new)
    keys = [(each.page_number, each.strategy) for each in merged]
    assert keys == sorted(set(keys))
    read = [each.page_number for each in merged if each.outcome == READ]
    assert len(read) == len(set(read))
    assert merge_readings(merged, []) == merged


def test_each_cause_is_said_of_its_own_pages() -> None:
    known = [reading(1, OCR, READ), reading(2, OCR, NOTHING_FOUND), reading(3, OCR, FAILED)]
    assert describe_scans([1, 2, 3, 4], known) == [
        "page 1: read by OCR, which may have mistaken letters",
        "page 2: a picture without text, OCR found no text on it",
        "page 3: a picture without text, not read: OCR failed",
        "page 4: a picture without text, not read in the time allowed",
    ]


def passage(text: str, *pages: int) -> Passage:
    lines = [LineBox(page_number=page) for page in pages]
    return Passage(text=text, content_hash=text, page_first=pages[0], page_last=pages[-1], lines=lines)


def test_pages_that_ocr_read_before_are_kept_and_not_read_again() -> None:
    old = [passage("five", 5), passage("five and eight", 5, 8)]
    chosen = choose_replaced(old, [passage("six", 6), passage("seven", 7)], {6, 7}, unseen={5, 8})
    assert chosen.pages == [6, 7]
    assert [each.text for each in chosen.passages] == ["five and eight", "six", "seven"]
    assert not chosen.lost


def test_a_passage_that_shares_words_with_a_page_read_anew_needs_its_other_page_read_too() -> None:
    old = [passage("one and two", 1, 2)]
    assert choose_replaced(old, [passage("two, anew", 2)], {2}, unseen={1}).lost == [1]


def test_only_the_pages_tied_to_one_that_would_be_lost_are_given_up() -> None:
    old = [passage("one and two", 1, 2), passage("two", 2), passage("two and three", 2, 3), passage("nine", 9)]
    new = [passage("two, anew", 2), passage("three, anew", 3), passage("nine, anew", 9)]
    chosen, given_up = choose_without_loss(old, new, {2, 3, 9}, {1})
    assert given_up == [2, 3]
    assert (chosen.pages, [each.text for each in chosen.passages], chosen.lost) == ([9], ["nine, anew"], [])


def test_passages_of_a_second_reading_stand_in_stored_sections() -> None:
    stored = [
        Section(section_id="s1", level=1, title="Lamps", page_first=1, page_last=3),
        Section(section_id="s2", level=1, title="Ropes", page_first=4, page_last=9),
    ]
    read = [
        Section(section_id="s1", level=1, title="Ropes", page_first=4, page_last=9),
        Section(section_id="s2", level=2, title="Knots", page_first=5, page_last=9),
    ]
    passages = [passage("a", 5), passage("b", 5), passage("c", 5)]
    for each, parent in zip(passages, ("s1", "s2", ""), strict=True):
        each.parent_id = parent
    place_in_sections(passages, read, stored)
    assert [each.parent_id for each in passages] == ["s2", "s2", ""]
