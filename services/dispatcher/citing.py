"""Citations made by the dispatcher itself: the items that listing gathered, each tied to the words it stands in."""

from __future__ import annotations

from collections.abc import Iterable

from citemesh.evidence.citing import cite
from citemesh.v1 import answer_pb2, evidence_pb2, generation_pb2, retrieval_pb2


def tie_listing(
    listing: retrieval_pb2.ListItemsResponse | None, evidence: Iterable[evidence_pb2.Evidence]
) -> generation_pb2.ListingContext | None:
    """The listing with each item tied to the evidence that holds it; items without evidence are left out.

    None where no item is left: then the generator finds the items itself.
    """
    if listing is None:
        return None
    units = {unit.passage_id: unit for unit in evidence}
    context = generation_pb2.ListingContext()
    for item in listing.items:
        unit = units.get(item.passage_id)
        if unit is not None and item.text and unit.text[item.start_offset : item.end_offset] == item.text:
            citation = cite(unit, item.start_offset, item.end_offset)
            context.items.append(answer_pb2.ListItem(text=item.text, citations=[citation]))
    if not context.items:
        return None
    if listing.HasField("expected_count"):
        context.expected_count = listing.expected_count
    announcer = units.get(listing.announcement_passage_id)
    place = announcer.text.find(listing.announcement) if announcer and listing.announcement else -1
    if announcer is not None and place >= 0:
        context.announcement.CopyFrom(cite(announcer, place, place + len(listing.announcement)))
    return context


def cited_evidence(
    answer: answer_pb2.AnswerWithEvidence, evidence: Iterable[evidence_pb2.Evidence]
) -> tuple[evidence_pb2.Evidence, ...]:
    """The evidence that claims, items or conflicts of the answer cite, in order."""
    cited = {citation.evidence_id for citation in all_citations(answer)}
    return tuple(unit for unit in evidence if unit.evidence_id in cited)


def all_citations(answer: answer_pb2.AnswerWithEvidence) -> list[evidence_pb2.Citation]:
    """Every citation of the answer, those of claims first."""
    citations = [citation for claim in answer.claims for citation in claim.citations]
    citations += [citation for item in answer.items for citation in item.citations]
    return citations + [citation for conflict in answer.conflicts for citation in conflict.citations]
