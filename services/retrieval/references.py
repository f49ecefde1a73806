"""FollowReferences: from "see Table 3" to Table 3, first in the same document, a bounded number of times."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from citemesh.auth.principal import Principal
from citemesh.store.contract import StoreReader, VersionFilter
from citemesh.store.labels import canonical_label
from citemesh.v1 import question_pb2
from citemesh.v1.evidence_pb2 import Candidate, Passage
from citemesh.v1.question_pb2 import Reference
from citemesh.v1.retrieval_pb2 import FollowReferencesRequest, FollowReferencesResponse
from services.retrieval.named_documents import TitleBook, TitleBooks
from services.retrieval.places_of_label import has_caption, label_alternatives, stands_at
from services.retrieval.query_checks import MAX_REFERENCES, check_follow_references, read_time

_MIN_PASSAGES_PER_REFERENCE = 3
# Each step asks the store; what is reached may refer to hundreds of places.
_MAX_STEPS_PER_HOP = 100
# A number this long, or with this many parts, names one place among all documents of a collection.
_DISTINCT_NUMBER = re.compile(r"\d{3,}|\d+[.-]\d+[.-]\d+")


@dataclass
class _Step:
    """A reference to follow, and the passages by which it was reached."""

    reference: Reference
    document_ids: tuple[str, ...]
    trail: tuple[str, ...] = ()


@dataclass
class _Walk:
    """What was found so far; nothing is visited twice."""

    candidates: dict[str, Candidate] = field(default_factory=dict)
    visited: set[tuple[str, tuple[str, ...]]] = field(default_factory=set)
    unresolved: list[Reference] = field(default_factory=list)


class ReferenceFollower:
    """The domain call behind FollowReferences."""

    def __init__(self, store: StoreReader, default_passage_count: int, max_titled_document_count: int = 5_000) -> None:
        self._store = store
        self._default_passage_count = default_passage_count
        self._books = TitleBooks(store, max_titled_document_count)

    def follow(self, request: FollowReferencesRequest, principal: Principal) -> FollowReferencesResponse:
        """The places that the references name, as far as `principal` may read them. Raises INVALID_FIELD."""
        check_follow_references(request)
        scope = request.scope if request.HasField("scope") else None
        as_of = read_time(request.as_of_time) if request.HasField("as_of_time") else None
        versions = self._store.allowed_versions(principal, scope, as_of)
        limit = request.max_passages or self._default_passage_count
        walk = _Walk()
        found = self._store.passages_by_id(request.from_passage_ids, versions)
        origins = [found[each] for each in request.from_passage_ids if each in found]
        if request.references:
            steps = _named_steps(request.references, origins)
        else:
            book = self._books.open(principal, scope, as_of, versions)
            steps = [step for origin in origins for step in _own_steps(origin, book)][:MAX_REFERENCES]
        for hop in range(1, (request.max_hops or 1) + 1):
            per_reference = max(_MIN_PASSAGES_PER_REFERENCE, limit // max(1, len(steps)))
            reached: list[Passage] = []
            for step in steps:
                # The references asked for are all tried, as what names no place is said.
                if hop == 1 or len(walk.candidates) < limit:
                    reached += self._take(step, versions, walk, hop, per_reference)
            steps = list(islice(_next_steps(reached, walk), _MAX_STEPS_PER_HOP))
        candidates = list(walk.candidates.values())[:limit]
        return FollowReferencesResponse(candidates=candidates, unresolved_references=walk.unresolved)

    def _take(self, step: _Step, versions: VersionFilter, walk: _Walk, hop: int, limit: int) -> list[Passage]:
        """Passages that a step newly reaches; they are noted in `walk`, or else the reference as unresolved."""
        key = (step.reference.label or step.reference.surface, step.document_ids)
        if key in walk.visited:
            return []
        walk.visited.add(key)
        places = [each for each in self._find_places(step, versions) if each.passage_id not in step.trail]
        if not places and hop == 1:
            walk.unresolved.append(step.reference)
        new = [each for each in places[:limit] if each.passage_id not in walk.candidates]
        for passage in new:
            walk.candidates[passage.passage_id] = Candidate(
                passage=passage, hop_count=hop, hop_passage_ids=step.trail, reached_by=step.reference
            )
        return new

    def _find_places(self, step: _Step, versions: VersionFilter) -> list[Passage]:
        reference = step.reference
        if reference.kind == question_pb2.REFERENCE_KIND_DOCUMENT:
            return self._document_start(reference, versions)
        label = canonical_label(reference.label or reference.surface)
        documents = self._named_documents(reference, versions)
        if reference.document_id and not documents:
            # A place of a document that is not here is not looked for in another one.
            return []
        documents = documents or step.document_ids
        for document_id in documents:
            places = self._places_in(label, document_id, versions)
            if places:
                return places
        if documents and not _DISTINCT_NUMBER.search(label):
            return []
        return self._places_anywhere(label, versions)

    def _places_in(self, label: str, document_id: str, versions: VersionFilter) -> list[Passage]:
        for alternative in label_alternatives(label):
            found = self._store.passages_by_label([alternative], versions, [document_id])
            if found:
                return _prefer_own_words(label, next(iter(found.values())))
        if not has_caption(label):
            return []
        passages = self._store.document_passages(versions, document_id)
        for alternative in label_alternatives(label):
            places = [passage for passage in passages if stands_at(alternative, passage.text)]
            if places:
                return places
        return []

    def _places_anywhere(self, label: str, versions: VersionFilter) -> list[Passage]:
        """Places in any document: all of them, as only the reader can tell which is meant."""
        for alternative in label_alternatives(label):
            found = self._store.passages_by_label([alternative], versions)
            if found:
                return _prefer_own_words(label, next(iter(found.values())))
        return []

    def _named_documents(self, reference: Reference, versions: VersionFilter) -> tuple[str, ...]:
        """The document that a reference names by id, or by something like its title."""
        if not reference.document_id:
            return ()
        if self._store.document_passages(versions, reference.document_id):
            return (reference.document_id,)
        return tuple(self._store.documents_by_title(reference.document_id, versions, 1))

    def _document_start(self, reference: Reference, versions: VersionFilter) -> list[Passage]:
        documents = self._named_documents(reference, versions)
        if not documents:
            names = [reference.surface, reference.label.removeprefix("document ")]
            titles = (self._store.documents_by_title(name, versions, 1) for name in names if name.strip())
            documents = tuple(next((each for each in titles if each), ()))
        return [passage for each in documents[:1] for passage in self._store.document_passages(versions, each)]


def _named_steps(references: Sequence[Reference], origins: Sequence[Passage]) -> list[_Step]:
    """References as asked for; those that a passage holds are looked for in its document first."""
    documents = tuple(dict.fromkeys(origin.document_id for origin in origins))
    steps = []
    for reference in references:
        holder = _find_holder(reference, origins)
        if holder is None:
            steps.append(_Step(reference, documents))
        else:
            ordered = tuple(dict.fromkeys((holder.document_id, *documents)))
            steps.append(_Step(reference, ordered, (holder.passage_id,)))
    return steps


def _own_steps(origin: Passage, book: TitleBook) -> Iterable[_Step]:
    """The references that a passage holds, then the other documents that it names by title."""
    for reference in origin.references:
        yield _Step(reference, (origin.document_id,), (origin.passage_id,))
    for named in book.find(origin.text):
        if origin.document_id in named.document_ids:
            continue
        for document_id in named.document_ids:
            reference = Reference(
                kind=question_pb2.REFERENCE_KIND_DOCUMENT,
                label=f"document {document_id}",
                surface=named.surface,
                document_id=document_id,
            )
            yield _Step(reference, (document_id,), (origin.passage_id,))


def _next_steps(reached: Sequence[Passage], walk: _Walk) -> Iterable[_Step]:
    for passage in reached:
        trail = (*walk.candidates[passage.passage_id].hop_passage_ids, passage.passage_id)
        for reference in passage.references:
            yield _Step(reference, (passage.document_id,), trail)


def _find_holder(reference: Reference, origins: Sequence[Passage]) -> Passage | None:
    """The first passage that holds the reference: as one that was found at ingest, else by its words."""
    label = canonical_label(reference.label)
    for origin in origins:
        if label and any(canonical_label(each.label) == label for each in origin.references):
            return origin
    words = " ".join((reference.surface or reference.label).lower().split())
    return next((each for each in origins if words and words in " ".join(each.text.lower().split())), None)


def _prefer_own_words(label: str, passages: Sequence[Passage]) -> list[Passage]:
    """For "section 1003.2(b)(1)" found as section 1003.2: passages with the paragraph's mark first."""
    marks = re.findall(r"\([a-z0-9]+\)", label)
    if not marks:
        return list(passages)
    innermost = marks[-1]
    return sorted(passages, key=lambda passage: innermost not in passage.text.lower())
