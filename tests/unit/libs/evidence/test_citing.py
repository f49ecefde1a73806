"""Citations as they are cut out of evidence."""

from __future__ import annotations

import pytest

from citemesh.evidence.citing import cite
from citemesh.text.hashes import hash_text
from citemesh.v1 import evidence_pb2

TEXT = "Ünder the rule. Fees are due."


def make_evidence() -> evidence_pb2.Evidence:
    lines = [
        evidence_pb2.LineBox(start_offset=0, end_offset=15, page_number=2),
        evidence_pb2.LineBox(start_offset=16, end_offset=29, page_number=3),
    ]
    return evidence_pb2.Evidence(
        evidence_id="E1", document_id="d", document_version=4, title="T", section_path=["A"], text=TEXT, lines=lines
    )


def test_the_quote_is_cut_out_with_its_page_and_lines() -> None:
    citation = cite(make_evidence(), 16, 20)
    assert (citation.quote, citation.page_number, len(citation.boxes)) == ("Fees", 3, 1)
    assert (citation.evidence_id, citation.document_id, citation.document_version) == ("E1", "d", 4)
    assert citation.content_hash == hash_text(TEXT)


def test_without_lines_the_first_page_counts() -> None:
    assert cite(evidence_pb2.Evidence(text=TEXT, page_first=7), 0, 5).page_number == 7


@pytest.mark.parametrize("span", [(3, 3), (-1, 4), (0, 99), (9, 2)])
def test_a_quote_is_never_made_up(span: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="not within"):
        cite(make_evidence(), *span)
