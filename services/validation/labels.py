"""Labels that a claim gives credit to: "row (E)", "Table 3", "Section 5". The cited place must bear them, and a
labelled row must speak of what the claim says of it."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from services.validation.words import content_stems, fold

_PLACE: Final = re.compile(
    r"(?:\b(?P<kind>tables?|figures?|fig\.|sections?|sec\.|chapters?|appendix|annex|articles?|clause|rule|step"
    r"|algorithm|equation|tabelle|abbildung"
    r"|abschnitt|kapitel|artikel|anhang|tableau|chapitre)\s+#?\s?|(?P<sign>§+)\s*)"
    r"(?P<number>\d+(?:[.\-]\d+)*(?:\([a-z0-9]+\))*|[a-z](?:\.\d+)*|[ivx]{1,5})(?![\w])",
    re.IGNORECASE,
)
_ROW: Final = re.compile(
    r"\b(?:(?:rows?|lines?|items?|points?|options?|criteri(?:on|a)|variant|zeile"
    r"|ligne)\s+(?P<label>\([a-z0-9]{1,4}\)|[a-z0-9]\))"
    r"|rows?\s+(?P<bare>[b-z](?![\w'’])))"
)
_KINDS: Final = {
    "fig.": "figure",
    "sec.": "section",
    "annex": "appendix",
    "tabelle": "table",
    "abbildung": "figure",
    "abschnitt": "section",
    "kapitel": "chapter",
    "artikel": "article",
    "anhang": "appendix",
    "tableau": "table",
    "chapitre": "chapter",
}
_ROW_END: Final = re.compile(r"(?m)\n\s*\n|(?:^|[\s|])\([a-z0-9]{1,3}\)(?=[\s|])|^\W*[a-z0-9]{1,3}[).](?=\s)")
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
    folded = fold(claim)
    held = fold(f"{quote}\n{place.about}")
    for match in _find_places(claim):
        if not _bears(held, match):
            return f'The cited place is not "{match.group().strip()}", which the claim credits.'
    for match in _ROW.finditer(folded):
        fault = _find_row_fault(claim, match, quote, place)
        if fault:
            return fault
    return ""


def mask_labels(claim: str) -> str:
    """The folded claim without its labels, so that their numbers are not taken for quantities."""
    text = unicodedata.normalize("NFKC", claim)
    for match in reversed(_find_places(claim)):
        text = f"{text[: match.start()]} {text[match.end() :]}"
    return _ROW.sub(" ", fold(text))


def _find_places(claim: str) -> list[re.Match[str]]:
    """Places in a claim; a letter is a label only as a capital ("Appendix B", but not "the table a user sees")."""
    matches = _PLACE.finditer(unicodedata.normalize("NFKC", claim))
    return [match for match in matches if not match["number"].isalpha() or match["number"].isupper()]


def _bears(held: str, wanted: re.Match[str]) -> bool:
    kind = _kind(wanted)
    number = wanted["number"].lower()
    for match in _PLACE.finditer(held):
        if _kind(match) == kind and (match["number"] == number or match["number"].startswith(f"{number}.")):
            return True
    numbered = kind in {"section", "chapter", "article", "appendix", "rule", "step", "clause"}
    return numbered and re.search(rf"(?m)(?<![\w.]){re.escape(number)}(?:\.\d+)*\.?(?=\s|$)", held) is not None


def _kind(match: re.Match[str]) -> str:
    if match["sign"]:
        return "section"
    name = match["kind"].lower()
    return _KINDS.get(name, name.removesuffix("s"))


def _find_row_fault(claim: str, match: re.Match[str], quote: str, place: Place) -> str:
    shown = match["label"] or match["bare"]
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
    start = re.search(rf"(?m)(?:^|[\s|])\(?{re.escape(label)}[).](?=[\s|])|^\W*{re.escape(label)}(?=\s*[|:\t])", text)
    if start is None:
        return ""
    following = _ROW_END.search(text, start.end())
    return text[start.start() : following.start() if following is not None else len(text)]
