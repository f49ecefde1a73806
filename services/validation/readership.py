"""Who may read, now, the documents that a withheld answer rests on: asked of the store each time it is shown."""

from __future__ import annotations

from collections.abc import Iterable

from citemesh.auth.principal import Principal
from citemesh.store.contract import StoreReader
from citemesh.v1.answer_pb2 import AnswerWithEvidence


class Readership:
    """Asks the store each time, so that a revoke holds at once.

    Blocks while the store reads, once a document: under no lock of the caller's.
    """

    def __init__(self, store: StoreReader) -> None:
        self._store = store

    def find_unreadable(self, principal: Principal, document_ids: Iterable[str]) -> set[str]:
        """Those that `principal` may not read, in any version; documents that are gone among them."""
        wanted = set(document_ids)
        return {each for each in wanted if not self._store.document_versions(principal, each)}

    def close(self) -> None:
        """Close the store."""
        self._store.close()


def find_cited_documents(answer: AnswerWithEvidence) -> set[str]:
    """The documents that claims, items and conflicts of the answer quote."""
    citations = [citation for claim in answer.claims for citation in claim.citations]
    citations += [citation for item in answer.items for citation in item.citations]
    citations += [citation for conflict in answer.conflicts for citation in conflict.citations]
    return {citation.document_id for citation in citations if citation.document_id}
