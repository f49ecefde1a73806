"""ListItems: the items of a listing around its anchors, and whether they are as many as announced."""

from __future__ import annotations

import re
from collections.abc import Sequence

from citemesh.auth.principal import Principal
from citemesh.store.contract import StoreReader, VersionFilter
from citemesh.text.function_words import is_function_word
from citemesh.v1 import activation_pb2, retrieval_pb2
from citemesh.v1.evidence_pb2 import Candidate, LegRank, Passage
from citemesh.v1.retrieval_pb2 import FoundItem, ListingStatus, ListItemsRequest, ListItemsResponse
from services.retrieval.listing_choice import (
    Wanted,
    choose_listing,
    find_asked,
    join_documents,
    weigh_words,
    word_forms,
)
from services.retrieval.listings import Listing, find_listings
from services.retrieval.query_checks import check_list_items, read_time

# A listing question is about a place, not about a book.
_MAX_PASSAGES = 400
_NEAR_PASSAGES = 5
_QUESTION_WORDS = word_forms(
    "what which who whose where when why how the are does did was were list name all give tell there for and with"
    " that this these those from into can could should would may must has have had you your"
)


class Lister:
    """The domain call behind ListItems."""

    def __init__(self, store: StoreReader) -> None:
        self._store = store

    def list_items(self, request: ListItemsRequest, principal: Principal) -> ListItemsResponse:
        """The listing nearest to the anchors that fits the question. Raises INVALID_FIELD."""
        check_list_items(request)
        scope = request.scope if request.HasField("scope") else None
        as_of = read_time(request.as_of_time) if request.HasField("as_of_time") else None
        versions = self._store.allowed_versions(principal, scope, as_of)
        found = self._store.passages_by_id(request.anchor_passage_ids, versions)
        anchors = [found[each] for each in request.anchor_passage_ids if each in found]
        passages = self._gather(anchors, request.listing_scope, versions)
        titles = self._section_titles(passages, versions)
        language = anchors[0].language if anchors else ""
        words = _content_forms(request.question, language) | word_forms(" ".join(request.keywords))
        requested = request.requested_count if request.HasField("requested_count") else None
        ranks = {anchor.passage_id: rank for rank, anchor in enumerate(anchors)}
        wanted = Wanted(weigh_words(words, passages), ranks, requested, find_asked(request.question, language))
        listings = find_listings(passages, titles)
        chosen = choose_listing(listings, passages, wanted)
        if chosen is None:
            return ListItemsResponse(expected_count=requested)
        if request.listing_scope == retrieval_pb2.LISTING_SCOPE_DOCUMENT:
            chosen = join_documents(chosen, listings, passages)
        return _make_response(chosen, passages, requested, request.question)

    def _gather(
        self, anchors: Sequence[Passage], scope: retrieval_pb2.ListingScope.ValueType, versions: VersionFilter
    ) -> list[Passage]:
        """The passages to look at, in the order of the text, the documents and sections of the best anchors first."""
        if scope == retrieval_pb2.LISTING_SCOPE_PASSAGE:
            return sorted(anchors, key=lambda passage: (passage.document_id, passage.ordinal))
        gathered: dict[str, Passage] = {}
        for anchor in anchors:
            if anchor.passage_id in gathered and scope != retrieval_pb2.LISTING_SCOPE_DOCUMENT:
                continue
            for passage in self._around(anchor, scope, versions):
                gathered.setdefault(passage.passage_id, passage)
            if len(gathered) >= _MAX_PASSAGES:
                break
        return sorted(gathered.values(), key=lambda passage: (passage.document_id, passage.ordinal))[:_MAX_PASSAGES]

    def _around(
        self, anchor: Passage, scope: retrieval_pb2.ListingScope.ValueType, versions: VersionFilter
    ) -> list[Passage]:
        if scope == retrieval_pb2.LISTING_SCOPE_DOCUMENT or not anchor.parent_id:
            passages = self._store.document_passages(versions, anchor.document_id)
            if scope == retrieval_pb2.LISTING_SCOPE_DOCUMENT:
                return passages
            # Without sections, what is near stands in for them.
            return [each for each in passages if not each.parent_id and _is_near(each, anchor)]
        section_id = anchor.parent_id
        if scope == retrieval_pb2.LISTING_SCOPE_PARENT_SECTION:
            sections = {each.section_id: each for each in self._store.version_sections(versions, anchor.document_id)}
            own = sections.get(section_id)
            section_id = own.parent_id if own is not None and own.parent_id else section_id
        passages = self._store.section_passages(versions, anchor.document_id, [section_id])
        return passages or [anchor]

    def _section_titles(self, passages: Sequence[Passage], versions: VersionFilter) -> dict[str, str]:
        documents = dict.fromkeys(passage.document_id for passage in passages)
        return {
            section.section_id: section.title
            for document_id in documents
            for section in self._store.version_sections(versions, document_id)
        }


def _content_forms(question: str, language: str) -> set[str]:
    """The words of a question that tell what it is about."""
    words = re.findall(r"\w+", question.lower())
    return word_forms(" ".join(word for word in words if not is_function_word(word, language))) - _QUESTION_WORDS


def _is_near(passage: Passage, anchor: Passage) -> bool:
    return abs(passage.ordinal - anchor.ordinal) <= _NEAR_PASSAGES


def _make_response(
    listing: Listing, passages: Sequence[Passage], requested: int | None, question: str
) -> ListItemsResponse:
    items = []
    seen: set[str] = set()
    for place in listing.items:
        passage = passages[place.passage_index]
        start, end = place.span.start, place.span.end
        # A list that is printed twice, or in two documents, has its items once.
        # Signs tell things apart ("C", "C++", "C#"): only emphasis and the end of a sentence are left out.
        key = " ".join(passage.text[start:end].casefold().split()).strip("*_`").rstrip(".,;:")
        if key and key in seen:
            continue
        seen.add(key)
        items.append(
            FoundItem(text=passage.text[start:end], passage_id=passage.passage_id, start_offset=start, end_offset=end)
        )
    expected = listing.expected_count if listing.expected_count is not None else requested
    response = ListItemsResponse(items=items, expected_count=expected, status=_status(len(items), expected))
    held = {item.passage_id for item in items}
    indices = {index for index, passage in enumerate(passages) if passage.passage_id in held}
    if listing.announcement is not None:
        holder = passages[listing.announcement.passage_index]
        span = listing.announcement.span
        response.announcement = holder.text[span.start : span.end]
        response.announcement_passage_id = holder.passage_id
        indices.add(listing.announcement.passage_index)
    for rank, index in enumerate(sorted(indices), 1):
        place_rank = LegRank(leg=activation_pb2.PATTERN_LISTING_AGGREGATION, query=question, rank=rank)
        response.candidates.append(Candidate(passage=passages[index], leg_ranks=[place_rank]))
    return response


def _status(found: int, expected: int | None) -> ListingStatus.ValueType:
    if expected is None:
        return retrieval_pb2.LISTING_STATUS_UNSPECIFIED
    if found == expected:
        return retrieval_pb2.LISTING_STATUS_COMPLETE
    return retrieval_pb2.LISTING_STATUS_SHORT if found < expected else retrieval_pb2.LISTING_STATUS_OVER
