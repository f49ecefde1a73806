"""Which places a text refers to ("see Table 3", "§ 1003.2(g)") and which place a caption is."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

from citemesh.store.labels import canonical_label
from citemesh.text.mentions import Mention, find_mentions
from citemesh.text.paragraph_marks import complete, join_marks, split_marks
from citemesh.text.place_forms import DOCUMENT_NUMBER
from citemesh.v1.question_pb2 import Reference, ReferenceKind

_LINK = re.compile(r"\[([^\]\n]{1,120})\]\((?!\w+:|//)([^)\s#]*\.(?:md|html?|pdf|docx))(?:#[^)\s]*)?\)")
_CAPTION = re.compile(
    r"^\W*(table|tableau|tabelle|figure|fig\.?|abbildung|algorithm|example|listing)\s*((?:[A-Z]{1,2}[-.]?)?(?:\d+(?:[-.]\d+)*|[IVX]+))\b",
    re.IGNORECASE,
)
_CAPTION_WORDS = {"tableau": "table", "tabelle": "table", "fig": "figure", "fig.": "figure", "abbildung": "figure"}
# "paragraphs (b) and (c) of § 5"
_OWNING_SECTION = re.compile(r"(?:§\s*|(?:[Ss]ection|[Aa]rticle)\s+)(\S+)")
_OWNING_APPENDIX = re.compile(r"(?:appendix|annex)\s+\w+$", re.IGNORECASE)
# Labels of paragraphs are those of their sections.
_LABEL_WORDS = {"paragraph": "section", "article": "section", "clause": "section"}
_OWN_PARTS = frozenset({"Section", "Part", "Chapter", "Appendix", "Annex", "Article", "Table", "Figure"})
# What an organisation's documents are called; "Section 22 of the Penn Treebank" is in none of them.
_IS_DOCUMENT = re.compile(r"(?:Policy|Handbook|Manual|Guide(?:lines?)?|Procedures?|Agreement|Contract|Charter|Plan)$")
_NUMBERED_DOCUMENT = re.compile(DOCUMENT_NUMBER)
_OTHER_CODE = re.compile(r"\d+\s")
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
    title: str = "",
) -> list[Reference]:
    """Places that a text refers to, each label once, in the order of mention.

    `own_labels` are the text's own place and no references. `section_number` completes "paragraph (a) of this
    section". `known_section` gives the document's section that a number means, or nothing: "Section 23 of the Wall
    Street Journal" is none of ours, and § 1003.2(g)(1) is found in § 1003.2(g). `title` is the document's own: where
    it holds a name, places of that name are its own.
    """
    found: dict[str, Reference] = {}
    for mention in find_mentions(text):
        known, document = resolve_mention(mention, section_number, known_section, title)
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


def resolve_mention(
    mention: Mention, section_number: str, known_section: Callable[[str], str], title: str = ""
) -> tuple[str, str]:
    """The number that is meant in this document, or with the other document's title; empty: no place that we know."""
    within = _OWNING_SECTION.match(mention.owner)
    appendix = _OWNING_APPENDIX.match(mention.owner)
    if _OTHER_CODE.match(mention.owner):
        return "", ""
    other = None if within or appendix else _other_document(mention.owner, title)
    if other is not None:
        is_document = _IS_DOCUMENT.search(other) or _NUMBERED_DOCUMENT.fullmatch(other)
        return (mention.number, other) if is_document else ("", "")
    if mention.kind != ReferenceKind.REFERENCE_KIND_SECTION or mention.word in ("part", "title"):
        return mention.number, ""
    if mention.word != "paragraph":
        return known_section(mention.number), ""
    place = within.group(1) if within else appendix.group() if appendix else section_number
    return _resolve_paragraph(mention.number, place, known_section), ""


def nearest_section(wanted: str, numbers: Mapping[str, str]) -> str:
    """The section that a number names, or the nearest one around it: 1003.2(g) for 1003.2(g)(1); empty: none.

    `numbers` gives the document's numbers by their lower case.
    """
    wanted = wanted.lower()
    while wanted:
        if wanted in numbers:
            return numbers[wanted]
        shorter = re.sub(r"\([^()]*\)$", "", wanted)
        if shorter == wanted:
            return ""
        wanted = shorter
    return ""


def complete_paragraph(marks: str, section_number: str) -> list[str]:
    """What "paragraph (b)(1)" may mean within "1002.9(a)(3)", likeliest first; nothing outside a numbered section."""
    if not section_number:
        return []
    base, own = split_marks(section_number)
    deeper = [join_marks(base, own[:depth]) + marks for depth in range(len(own), -1, -1)]
    return list(dict.fromkeys((complete(section_number, marks), *deeper)))


def complete_number(number: str, section_number: str) -> list[str]:
    """What "paragraph 6", "9.iv", "I.D.3" or "4(a)" may mean within a section, likeliest first: what stands beside it,
    in it, then further out; "4(a)" within "1002.9" is "1002.4(a)"."""
    base, own = split_marks(section_number)
    stem, marks = split_marks(number)
    if marks:
        chapter = base[: base.rfind(".") + 1]
        return [number, f"{chapter}{number}"] if chapter else [number]
    if not section_number:
        return [number]
    parts = stem.split(".")
    depths = sorted(range(len(own) + 1), key=lambda depth: (depth == len(own), -depth))
    nested = [join_marks(base, own[:depth] + parts) for depth in depths]
    dotted = [f"{base}.{stem}", f"{base[: base.rfind('.') + 1]}{stem}"] if not own and base[:1].isdigit() else []
    return list(dict.fromkeys((*dotted[::-1], *nested)))


def _resolve_paragraph(number: str, place: str, known_section: Callable[[str], str]) -> str:
    """Paragraphs by their marks are found in the nearest section around them; those by a bare number exactly or not."""
    has_marks = number.startswith("(")
    numbers = complete_paragraph(number, place) if has_marks else complete_number(number, place)
    exact = next((each for each in numbers if known_section(each).lower() == each.lower()), None)
    if exact is not None:
        return known_section(exact)
    return known_section(numbers[0]) if has_marks and numbers else ""


def _other_document(owner: str, title: str) -> str | None:
    """The other document that the place is of, by its name; None where it is of this one."""
    name = owner.removeprefix("the ")
    is_numbered = _NUMBERED_DOCUMENT.fullmatch(name) is not None
    if not (name[:1].isupper() or is_numbered) or name.split()[0] in _OWN_PARTS:
        return None
    is_own = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", title, re.IGNORECASE) is not None
    return None if is_own else name
