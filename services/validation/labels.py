"""Labels that a claim gives credit to: "row (E)", "Table 3", "Section 5". The cited place must bear them, and a
labelled row must speak of what the claim says of it."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from citemesh.text.mentions import Mention, find_mentions
from services.validation.words import content_stems, fold

# Kinds of place that evidence shows by labels, numbers and titles.
_SHOWN_KINDS: Final = frozenset(
    ["table", "figure", "section", "chapter", "appendix", "article", "clause", "rule", "step", "algorithm", "equation"]
)
_HEADED_KINDS: Final = frozenset(["section", "chapter", "article", "appendix", "rule", "step", "clause"])
_DEEPEST_PART: Final = 8
_ROW: Final = re.compile(
    r"\b(?:(?:rows?|lines?|items?|points?|options?|criteri(?:on|a)|variant|zeile"
    r"|ligne)\s+(?P<label>\([a-z0-9]{1,4}\)|[a-z0-9]\))"
    r"|rows?\s+(?P<bare>[b-z](?![\w'’])))"
)
_ROW_END: Final = re.compile(r"(?m)\n\s*\n|(?:^|[\s|])\([a-z0-9]{1,3}\)(?=[\s|])|^[^\w\n]*+[a-z0-9]{1,3}[).](?=\s)")
# Words about labels and about showing, which say nothing of what the labelled place is about.
_ABOUT_LABELS: Final = frozenset(
    content_stems(
        "row rows line lines item items point table figure section chapter appendix article varied varies vary show"
        " shows shown list lists listed give gives given"
        " report reports reported see describe describes described present presented compare study studied test"
        " tested use used effect impact value values result"
        " results paper document text page"
    )
)


@dataclass(frozen=True, slots=True)
class Place:
    """What is known of the cited place besides the quote: its own labels, numbers and titles, as one folded text."""

    text: str
    """All of the evidence's text, to find the labelled row that a quote stands in."""
    about: str
    """Label, section number, section titles, document title, caption and header row."""


def find_label_fault(claim: str, quote: str, place: Place) -> str:
    """Why the labels of `claim` do not agree with the cited place; empty where they do."""
    credited = {
        (mention.word, mention.number.lower()): mention for mention in _find_places(claim) if mention.is_written
    }
    held = f"{quote}\n{place.about}"
    folded, named = (fold(held), _find_named(held)) if credited else ("", frozenset())
    for key, mention in credited.items():
        if key not in named and not _bears(folded, *key):
            return f'The cited place is not "{mention.surface}", which the claim credits.'
    rows = {match["label"] or match["bare"]: None for match in _ROW.finditer(fold(claim))}
    return next((fault for shown in rows if (fault := _find_row_fault(claim, shown, quote, place))), "")


def mask_labels(claim: str) -> str:
    """The folded claim without its labels, so that their numbers are not taken for quantities."""
    text = unicodedata.normalize("NFKC", claim)
    kept_from = len(text)
    for start, end in sorted({mention.span for mention in _find_places(claim)}, reverse=True):
        text = f"{text[:start]} {text[min(end, kept_from) :]}"
        kept_from = start
    return _ROW.sub(" ", fold(text))


def _find_places(text: str) -> list[Mention]:
    """The places that `text`, in its NFKC form, names."""
    mentions = find_mentions(unicodedata.normalize("NFKC", text), everyday=True)
    return [mention for mention in mentions if mention.word in _SHOWN_KINDS]


def _find_named(text: str) -> frozenset[tuple[str, str]]:
    """(word, number) of the places that `text` names and of the places that those are parts of: "3.1" is in "3"."""
    named: set[tuple[str, str]] = set()
    for mention in _find_places(text):
        number = mention.number.lower()
        named.add((mention.word, number))
        for _ in range(_DEEPEST_PART):
            number = number.rpartition(".")[0]
            if number:
                named.add((mention.word, number))
    return frozenset(named)


def _bears(folded: str, word: str, number: str) -> bool:
    """Whether a folded text has the label of the wanted place, or a heading with its number."""
    written = re.escape(number)
    if re.search(rf"\b{word} {written}(?:\.\d+)*(?!\w|[-–]\w)", folded):
        return True
    is_headed = word in _HEADED_KINDS
    return is_headed and re.search(rf"(?m)(?<![\w.]){written}(?:\.\d+)*\.?(?=\s|$)", folded) is not None


def _find_row_fault(claim: str, shown: str, quote: str, place: Place) -> str:
    label = shown.strip("()")
    row = _find_row(fold(quote), label) or _find_row(fold(place.text), label)
    if not row and any((other["label"] or other["bare"]) == shown for other in _ROW.finditer(fold(quote))):
        # The cited words give the row the same credit; the row itself stands elsewhere.
        return ""
    if not row:
        return f'No row "{shown}" stands in the cited words.'
    subject = {
        stem for stem in content_stems(mask_labels(claim)) if stem not in _ABOUT_LABELS and not stem[:1].isdigit()
    }
    said = {stem for stem in content_stems(row) if stem.isalpha() and stem != label}
    # A row of figures alone is about what the caption and the header row say.
    if len(said) < 2:
        said |= set(content_stems(place.about)) | set(content_stems(fold(quote)))
    if subject and not subject & said:
        return f'The row "{shown}" of the cited place does not speak of what the claim says of it.'
    return ""


def _find_row(text: str, label: str) -> str:
    """The row that begins with `label`, up to the next label of the same form, a blank line, or the end."""
    start = re.search(
        rf"(?m)(?:^|[\s|])\(?{re.escape(label)}[).](?=[\s|])|^[^\w\n]*+{re.escape(label)}(?=\s*+[|:\t])", text
    )
    if start is None:
        return ""
    following = _ROW_END.search(text, start.end())
    return text[start.start() : following.start() if following is not None else len(text)]
