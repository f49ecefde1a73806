"""Sections and documents by the words of their titles, from a tenant's catalog, measured as the embedded store does."""

from __future__ import annotations

from collections.abc import Sequence

from citemesh.store.contract import SectionHit
from citemesh.store.embedded import title_match, toc_search
from citemesh.store.embedded.analysis import content_words, word_forms
from citemesh.store.labels import canonical_label, section_labels
from citemesh.store.opensearch.records import DocumentRecord, VersionRecord

Named = Sequence[tuple[DocumentRecord, VersionRecord]]


def search_sections(named: Named, text: str, limit: int, languages: tuple[str, ...]) -> list[SectionHit]:
    """See StoreReader.toc_search."""
    forms = {form for word in content_words(text, languages) for form in word_forms(word, languages)}
    labels = {canonical_label(match.group()) for match in toc_search._LABEL.finditer(text)}
    hits: list[SectionHit] = []
    for record, version in named:
        for section in version.sections:
            is_named = bool(labels) and not labels.isdisjoint(section_labels(section))
            row = (0, version.version_key, record.document_id, section.SerializeToString())
            hit = toc_search._rate(row, forms, languages, is_named=is_named)
            if hit.leg_score > 0.0:
                hits.append(hit)
    hits.sort(key=lambda hit: (-hit.leg_score, hit.document_id, hit.section.section_id))
    return hits[:limit]


def match_titles(named: Named, title: str, limit: int) -> list[str]:
    """See StoreReader.documents_by_title."""
    asked = title_match._stems(title)
    if not asked:
        return []
    rated = [
        (title_match._rate(asked, title_match._names(version.document.SerializeToString())), record.document_id)
        for record, version in named
    ]
    best = [entry for entry in rated if entry[0] >= title_match._SMALLEST_MATCH]
    return [document_id for _, document_id in sorted(best, key=lambda entry: (-entry[0], entry[1]))[:limit]]
