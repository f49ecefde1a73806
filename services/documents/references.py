"""Which places a text refers to ("see Table 3", "§ 1003.2(g)") and which place a caption is."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from citemesh.store.labels import canonical_label
from citemesh.v1.question_pb2 import Reference, ReferenceKind
from services.documents.mentions import Mention, find_mentions
from services.documents.paragraph_marks import complete, join_marks, split_marks

_LINK = re.compile(r"\[([^\]\n]{1,120})\]\((?!\w+:|//)([^)\s#]*\.(?:md|html?|pdf|docx))(?:#[^)\s]*)?\)")
_CAPTION = re.compile(
    r"^\W*(table|tableau|tabelle|figure|fig\.?|abbildung|algorithm|example|listing)\s*((?:[A-Z]{1,2}[-.]?)?(?:\d+(?:[-.]\d+)*|[IVX]+))\b",
    re.IGNORECASE,
)
_CAPTION_WORDS = {"tableau": "table", "tabelle": "table", "fig": "figure", "fig.": "figure", "abbildung": "figure"}
# "paragraphs (b) and (c) of § 5"
_OWNING_SECTION = re.compile(r"(?:§\s*|[Ss]ection\s+)(\S+)")
# Labels of paragraphs are those of their sections.
_LABEL_WORDS = {"paragraph": "section", "article": "section", "clause": "section"}
_OWN_PARTS = frozenset({"Section", "Part", "Chapter", "Appendix", "Annex", "Article", "Table", "Figure"})
# What an organisation's documents are called; "Section 22 of the Penn Treebank" is in none of them.
_IS_DOCUMENT = re.compile(r"(?:Policy|Handbook|Manual|Guide(?:lines?)?|Procedures?|Agreement|Contract|Charter|Plan)$")
_MAX_REFERENCES = 30


def find_label(caption: str) -> str:
    """The label that a caption gives to what it stands by, such as "table 3"; empty where it gives none."""
    match = _CAPTION.match(caption)
    if match is None:
        return ""
    word = match.group(1).lower()
    return canonical_label(f"{_CAPTION_WORDS.get(word, word)} {match.group(2)}")


def find_references(
    text: str,
    *,
    own_labels: Collection[str] = (),
    section_number: str = "",
    known_section: Callable[[str], str] = lambda number: number,
) -> list[Reference]:
    """Places that a text refers to, each label once, in the order of mention.

    `own_labels` are the text's own place and no references. `section_number` completes "paragraph (a) of this
    section". `known_section` gives the document's section that a number means, or nothing: "Section 23 of the Wall
    Street Journal" is none of ours, and § 1003.2(g)(1) is found in § 1003.2(g).
    """
    found: dict[str, Reference] = {}
    for mention in find_mentions(text):
        known, document = resolve_mention(mention, section_number, known_section)
        label = canonical_label(f"{_LABEL_WORDS.get(mention.word, mention.word)} {known}")
        is_own = label in own_labels and not document
        if known and not is_own and label not in found and len(found) < _MAX_REFERENCES:
            found[label] = Reference(
                kind=mention.kind, label=label, surface=mention.surface[:200], document_id=document
            )
    for match in _LINK.finditer(text):
        stem = match.group(2).rpartition("/")[2].rpartition(".")[0]
        label = f"document {stem.lower()}"
        if stem and label not in found and len(found) < _MAX_REFERENCES:
            found[label] = Reference(
                kind=ReferenceKind.REFERENCE_KIND_DOCUMENT, label=label, surface=match.group(1), document_id=stem
            )
    return list(found.values())


def resolve_mention(mention: Mention, section_number: str, known_section: Callable[[str], str]) -> tuple[str, str]:
    """The number that is meant in this document, or with the other document's title; empty: no place that we know."""
    within = _OWNING_SECTION.match(mention.owner)
    other = None if within else _other_document(mention.owner)
    if other is not None:
        return (mention.number, other) if _IS_DOCUMENT.search(other) else ("", "")
    if mention.kind != ReferenceKind.REFERENCE_KIND_SECTION or mention.word in ("part", "title"):
        return mention.number, ""
    place = within.group(1) if within else section_number
    numbers = complete_paragraph(mention.number, place) if mention.word == "paragraph" else [mention.number]
    exact = next((number for number in numbers if known_section(number) == number.lower()), None)
    return known_section(exact or numbers[0]) if numbers else "", ""


def complete_paragraph(marks: str, section_number: str) -> list[str]:
    """What "paragraph (b)(1)" may mean within "1002.9(a)(3)", likeliest first; nothing outside a numbered section."""
    if not section_number:
        return []
    base, own = split_marks(section_number)
    deeper = [join_marks(base, own[:depth]) + marks for depth in range(len(own), -1, -1)]
    return list(dict.fromkeys((complete(section_number, marks), *deeper)))


def _other_document(owner: str) -> str | None:
    """The other document that the place is of, by its name; None where it is of this one."""
    name = owner.removeprefix("the ")
    if not name[:1].isupper() or name.split()[0] in _OWN_PARTS:
        return None
    return name
