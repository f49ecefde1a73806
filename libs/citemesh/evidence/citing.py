"""Citations made from spans of evidence: the quote, its page and the boxes to highlight."""

from __future__ import annotations

from citemesh.text.hashes import hash_text
from citemesh.v1 import evidence_pb2


def cite(evidence: evidence_pb2.Evidence, start: int, end: int) -> evidence_pb2.Citation:
    """The citation of evidence.text[start:end]; offsets in code points.

    Raises ValueError where the span is empty or outside the text: a quote is never made up.
    """
    if not 0 <= start < end <= len(evidence.text):
        raise ValueError(f"span {start}:{end} is not within a text of {len(evidence.text)} characters")
    boxes = [line for line in evidence.lines if line.start_offset < end and line.end_offset > start]
    return evidence_pb2.Citation(
        evidence_id=evidence.evidence_id,
        quote=evidence.text[start:end],
        start_offset=start,
        end_offset=end,
        content_hash=evidence.content_hash or hash_text(evidence.text),
        page_number=boxes[0].page_number if boxes else evidence.page_first,
        boxes=boxes,
        document_id=evidence.document_id,
        document_version=evidence.document_version,
        title=evidence.title,
        section_path=evidence.section_path,
    )
