"""Which pages are planned to be read again: none in vain, and none by a strategy that was not asked for."""

from __future__ import annotations

import pytest

from citemesh.rpc.errors import ServiceError
from citemesh.v1.document_pb2 import Document, DocumentProfile, PageReading, ParsingStrategy
from services.documents.page_plan import make_plan
from services.documents.page_readings import LAYOUT, OCR, OUT_OF_TIME, READ

NATIVE_TEXT = ParsingStrategy.PARSING_STRATEGY_NATIVE_TEXT
NEXT = ParsingStrategy.PARSING_STRATEGY_UNSPECIFIED
MISSING = "OCR is not installed"


def document(*readings: PageReading) -> Document:
    """Page 1 has a text layer, page 2 has none."""
    return Document(profile=DocumentProfile(page_count=2, pages_without_text=[2], page_readings=readings))


@pytest.mark.parametrize("no_ocr", ["", MISSING])
@pytest.mark.parametrize(("pages", "plain"), [([2], ()), ([1, 2], (1,))])
def test_native_text_plans_no_ocr(pages: list[int], plain: tuple[int, ...], no_ocr: str) -> None:
    plan = make_plan(document(), pages, NATIVE_TEXT, [], 30.0, no_ocr)
    assert (plan.plain, plan.layout, plan.ocr, plan.untried) == (plain, (), (), (2,))


def test_pages_read_by_ocr_before_are_left_out_also_where_it_is_missing_now() -> None:
    both = [PageReading(page_number=page, strategy=OCR, outcome=READ) for page in (1, 2)]
    plan = make_plan(document(*both), [1, 2], OCR, [], 30.0, MISSING)
    assert (plan.pages, plan.untried) == (set(), ())
    with pytest.raises(ServiceError, match=MISSING):
        make_plan(document(both[0]), [1, 2], OCR, [], 30.0, MISSING)


def test_a_page_given_up_without_ocr_waits_for_it() -> None:
    given_up = document(PageReading(page_number=1, strategy=LAYOUT, outcome=OUT_OF_TIME))
    assert not make_plan(given_up, [1], NEXT, [], 30.0, MISSING).pages
    assert not make_plan(given_up, [1], NEXT, [], 0.0, "OCR is switched off").pages
    assert make_plan(given_up, [1], NEXT, [], 30.0).layout == (1,)
