"""How well the title or the number of a section fits a question; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from citemesh.store.analysis import content_words, stem_words, word_forms
from citemesh.store.contract import SectionHit
from citemesh.store.labels import canonical_label
from citemesh.v1.document_pb2 import Section

_LABEL = re.compile(
    r"(?:\b(?:sections?|sec\.|chapter|part|article|clause|appendix|annex|schedule)|§+)\s*"
    r"([0-9]+[a-z]?(?:[.-][0-9]+[a-z]?)*|[a-z]\b|[ivxlc]+\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class FoundSection:
    """A section that a store found, before it is measured."""

    version_key: int
    document_id: str
    section: Section
    is_named: bool
    """Whether the question names its number."""


@dataclass(frozen=True)
class TocQuestion:
    """What a question says about sections."""

    forms: frozenset[str]
    """The stems of its content words, in each language of the documents."""
    labels: frozenset[str]
    """The labels of sections that it names."""
    languages: tuple[str, ...]
    """The languages of the documents."""

    def rank(self, found: Iterable[FoundSection], limit: int) -> list[SectionHit]:
        """The best of what was found, best first."""
        hits = [SectionHit(each.version_key, each.document_id, each.section, self._rate(each)) for each in found]
        hits.sort(key=lambda hit: (-hit.leg_score, hit.document_id, hit.section.section_id))
        return hits[:limit]

    def _rate(self, found: FoundSection) -> float:
        """How much of the title the question holds, and how much of the question the title holds, as one measure."""
        words = _title_forms(found.section.title, self.languages)
        matched = sum(1 for word in words if not self.forms.isdisjoint(word))
        of_title = matched / len(words) if words else 0.0
        of_question = matched / len(self.forms) if self.forms else 0.0
        total = of_title + of_question
        measure = 2.0 * of_title * of_question / total if total else 0.0
        # A long question never fills a title, so a title that is filled counts on its own as well.
        return measure + 0.5 * of_title + (1.0 if found.is_named else 0.0)


def read_toc_question(text: str, languages: tuple[str, ...]) -> TocQuestion:
    """What `text` says about sections of documents in `languages`."""
    return TocQuestion(
        frozenset(form for word in content_words(text, languages) for form in word_forms(word, languages)),
        frozenset(canonical_label(match.group()) for match in _LABEL.finditer(text)),
        languages,
    )


def title_words(section: Section, language: str) -> list[str]:
    """The words by which a section of a document in `language` is found."""
    return sorted({*stem_words(section.title, language), *stem_words(section.title, "en")})


def descend(sections: Sequence[Section], section_ids: Iterable[str]) -> set[str]:
    """`section_ids` with all sections below them; parents stand before their children."""
    wanted = set(section_ids)
    for section in sections:
        if section.parent_id in wanted:
            wanted.add(section.section_id)
    return wanted


@lru_cache(maxsize=20_000)
def _title_forms(title: str, languages: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    """For each content word of a title the forms by which a question may name it."""
    return tuple(frozenset(word_forms(word, ("en", *languages))) for word in content_words(title, languages))
