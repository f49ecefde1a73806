"""References by position: "the table below", "the next section", "the preceding paragraph"; pure.

They are resolved against what stands around a text in its document. Where that leaves a doubt, they name nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from citemesh.store.labels import canonical_label
from citemesh.v1.evidence_pb2 import Passage, PassageKind
from citemesh.v1.question_pb2 import Reference, ReferenceKind
from services.documents.references import find_label
from services.documents.sections import SectionTree

_BACK: Final = "preceding|previous|foregoing|above"
_ON: Final = "following|next|succeeding|below"
_FLOATS: Final = "table|figure"
_PLACES: Final = "section|subsection|chapter|article|clause|appendix|annex|paragraph"
_BEFORE_NOUN: Final = re.compile(
    rf"\bthe\s+(?:immediately\s+)?(?:(?P<back>{_BACK})|(?P<on>{_ON}))\s+(?P<noun>{_FLOATS}|{_PLACES})\b(?!\s*[\d(])",
    re.IGNORECASE,
)
_AFTER_NOUN: Final = re.compile(
    rf"\b(?:the|this|see)\s+(?P<noun>{_FLOATS}|{_PLACES})\s+(?:(?:immediately|shown|given|directly)\s+)?"
    r"(?:(?P<back>above)|(?P<on>below))\b",
    re.IGNORECASE,
)
# "in paragraph (b) above" names its place by itself. A float is looked for this many passages away, no further.
_REACH: Final = 6
_FLOAT_KINDS: Final = {
    "table": (PassageKind.PASSAGE_KIND_TABLE, ReferenceKind.REFERENCE_KIND_TABLE),
    "figure": (PassageKind.PASSAGE_KIND_FIGURE_CAPTION, ReferenceKind.REFERENCE_KIND_FIGURE),
}
_APPENDICES: Final = frozenset({"appendix", "annex"})


@dataclass(frozen=True, slots=True)
class RelativeMention:
    """Words that name a place by where it stands."""

    noun: str
    is_after: bool
    """Whether the place follows."""
    surface: str


def find_relative_mentions(text: str) -> list[RelativeMention]:
    """The mentions in `text` in order."""
    matches = sorted(
        (match for pattern in (_BEFORE_NOUN, _AFTER_NOUN) for match in pattern.finditer(text)),
        key=lambda match: match.start(),
    )
    return [
        RelativeMention(match["noun"].lower(), match["on"] is not None, " ".join(match.group().split()))
        for match in matches
    ]


def add_relative_references(passages: Sequence[Passage], tree: SectionTree) -> None:
    """Give each of a document's passages, in order, the references that its text makes by position."""
    indices = {section.section_id: index for index, section in enumerate(tree.sections)}
    for at, passage in enumerate(passages):
        for mention in find_relative_mentions(passage.text):
            reference = _resolve(mention, at, passages, indices.get(passage.parent_id, -1), tree)
            labels = {each.label for each in passage.references}
            if reference is not None and reference.label not in labels and reference.label != passage.label:
                passage.references.append(reference)


def _resolve(
    mention: RelativeMention, at: int, passages: Sequence[Passage], section: int, tree: SectionTree
) -> Reference | None:
    if mention.noun in _FLOAT_KINDS:
        _, kind = _FLOAT_KINDS[mention.noun]
        label = _find_float(mention, at, passages)
    else:
        is_appendix = mention.noun in _APPENDICES
        kind = ReferenceKind.REFERENCE_KIND_APPENDIX if is_appendix else ReferenceKind.REFERENCE_KIND_SECTION
        number = _find_neighbour(mention, section, tree)
        label = canonical_label(number if is_appendix else f"section {number}") if number else ""
    return Reference(kind=kind, label=label, surface=mention.surface) if label else None


def _find_float(mention: RelativeMention, at: int, passages: Sequence[Passage]) -> str:
    """The label of the nearest table or figure on that side; empty where the nearest has none, or stands far off."""
    wanted, _ = _FLOAT_KINDS[mention.noun]
    steps = range(at + 1, at + 1 + _REACH) if mention.is_after else range(at - 1, at - 1 - _REACH, -1)
    for index in steps:
        if not 0 <= index < len(passages):
            return ""
        passage = passages[index]
        if passage.label.startswith(f"{mention.noun} "):
            return passage.label
        if passage.kind == wanted:
            label = _caption_before(passages, index)
            return label if label.startswith(f"{mention.noun} ") else ""
    return ""


def _caption_before(passages: Sequence[Passage], index: int) -> str:
    """The label of a caption that ends the passage before, as in texts whose captions are paragraphs."""
    lines = passages[index - 1].text.rstrip().splitlines() if index else []
    return find_label(lines[-1]) if lines else ""


def _find_neighbour(mention: RelativeMention, section: int, tree: SectionTree) -> str:
    """The number of the place beside the one that holds the text, of the kind that is named; empty: in doubt."""
    line = _line(section, tree)
    own = next((index for index in line if _is_of_kind(tree.sections[index].number, mention.noun)), -1)
    if own < 0:
        return ""
    siblings = [index for index, parent in enumerate(tree.parents) if parent == tree.parents[own]]
    place = siblings.index(own) + (1 if mention.is_after else -1)
    if not 0 <= place < len(siblings):
        return ""
    number = tree.sections[siblings[place]].number
    return number if _is_of_kind(number, mention.noun) else ""


def _line(section: int, tree: SectionTree) -> Iterator[int]:
    """The section and those around it, from the innermost outwards."""
    while section >= 0:
        yield section
        section = tree.parents[section]


def _is_of_kind(number: str, noun: str) -> bool:
    """Whether a section of this number is called a `noun`: paragraphs end in marks, sections and articles do not."""
    if noun in _APPENDICES:
        return number.lower().startswith(("appendix ", "annex "))
    is_paragraph = number.endswith(")")
    is_top = "." not in number
    if noun == "paragraph":
        return is_paragraph
    if noun == "subsection":
        return bool(number) and (is_paragraph or not is_top)
    return number[:1].isdigit() and not is_paragraph and (is_top or noun != "chapter")
