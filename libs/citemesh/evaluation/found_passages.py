"""What the ways to search found for each query, and where a passage stands in the text that it was made from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from citemesh.evaluation.collection_ingest import store_id
from citemesh.evaluation.judged_collection import CorpusDocument, JudgedQuery
from citemesh.v1 import evidence_pb2

KEYWORD: Final = "keyword"
DENSE: Final = "dense"
FUSED: Final = "fused"
TWO_HOP: Final = "two_hop"
RERANKED: Final = "reranked"
WAYS: Final = (KEYWORD, DENSE, FUSED, TWO_HOP, RERANKED)
"""The legs, keyword and dense fused, what is fused with the places that it refers to, and what is fused reranked."""


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """One passage of a ranking; `span` is where it stands in its document's text, where that was asked for and is."""

    passage_id: str
    document_id: str
    span: tuple[int, int] | None = None


@dataclass(slots=True)
class Searched:
    """What the ways found for one query: passages, best first."""

    query: JudgedQuery
    passages: dict[str, list[FoundPassage]] = field(default_factory=dict)

    def documents(self, way: str) -> list[str]:
        """Ids of documents in the order of their best passages."""
        return list(dict.fromkeys(passage.document_id for passage in self.passages[way]))


class PassagePlaces:
    """Finds passages in the texts of their documents, white space between words aside; each is looked for once."""

    def __init__(self, corpus: Iterable[CorpusDocument]) -> None:
        self._texts = {store_id(document.document_id): document.text for document in corpus}
        self._squeezed: dict[str, tuple[str, list[int]]] = {}
        self._known: dict[str, tuple[int, int] | None] = {}

    def find(self, passage: evidence_pb2.Passage) -> tuple[int, int] | None:
        """From the passage's first character to behind its last one; None where its text is not there."""
        if passage.passage_id not in self._known:
            self._known[passage.passage_id] = self._look_for(passage)
        return self._known[passage.passage_id]

    def _look_for(self, passage: evidence_pb2.Passage) -> tuple[int, int] | None:
        text, places = self._squeeze(passage.document_id)
        wanted = "".join(passage.text.split())
        start = text.find(wanted) if wanted else -1
        return None if start < 0 else (places[start], places[start + len(wanted) - 1] + 1)

    def _squeeze(self, document_id: str) -> tuple[str, list[int]]:
        """A text without white space, and where each of its characters was."""
        if document_id not in self._squeezed:
            text = self._texts.get(document_id, "")
            places = [place for place, character in enumerate(text) if not character.isspace()]
            self._squeezed[document_id] = "".join(text[place] for place in places), places
        return self._squeezed[document_id]


def find_passages(
    query: JudgedQuery, passages: Iterable[evidence_pb2.Passage], places: PassagePlaces
) -> list[FoundPassage]:
    """The passages as they are kept: with their spans where they are of a document with a wanted span."""
    wanted = {store_id(span.document_id) for span in query.spans}
    return [
        FoundPassage(each.passage_id, each.document_id, places.find(each) if each.document_id in wanted else None)
        for each in passages
    ]
