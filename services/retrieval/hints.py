"""What the question names, a section or documents, as reasons to rank passages higher; never to leave others out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from citemesh.store.contract import StoreReader, VersionFilter

_MAX_DOCUMENTS_PER_HINT = 3
_MAX_SECTIONS = 3
_MAX_SECTION_PASSAGES = 40
_SMALLEST_TITLE_MATCH = 0.8
_BARE_NUMBER = re.compile(r"§?\s*([0-9]+[a-z]?(?:[.-][0-9]+[a-z]?)*|[A-Z](?:\.[0-9]+)*)(?:\([^)]*\))*", re.IGNORECASE)


@dataclass(frozen=True)
class Hints:
    """What the hints of one request lead to."""

    document_ids: frozenset[str]
    """Documents whose passages gain."""
    section_passage_ids: tuple[str, ...]
    """Passages of the section, in order: a ranking of its own."""


def resolve_hints(
    store: StoreReader, versions: VersionFilter, section_hint: str, document_hints: Sequence[str]
) -> Hints:
    """Look up what the hints name among `versions`; nothing where they name nothing."""
    documents: list[str] = []
    for hint in document_hints:
        documents += store.documents_by_title(hint, versions, _MAX_DOCUMENTS_PER_HINT)
    passages = _section_passages(store, versions, section_hint.strip(), documents) if section_hint.strip() else []
    return Hints(frozenset(documents), tuple(passages))


def _section_passages(store: StoreReader, versions: VersionFilter, hint: str, document_ids: Sequence[str]) -> list[str]:
    number = _BARE_NUMBER.fullmatch(hint)
    labels = [f"section {number.group(1)}", f"appendix {number.group(1)}"] if number else [hint]
    found = store.passages_by_label(labels, versions, document_ids or None)
    passages = [passage for label in labels for passage in found.get(label, ())]
    if not passages and number is None:
        for section in store.toc_search(hint, versions, _MAX_SECTIONS):
            if section.leg_score >= _SMALLEST_TITLE_MATCH and (not document_ids or section.document_id in document_ids):
                passages += store.section_passages(versions, section.document_id, [section.section.section_id])
    return list(dict.fromkeys(passage.passage_id for passage in passages))[:_MAX_SECTION_PASSAGES]
