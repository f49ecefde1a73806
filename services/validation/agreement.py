"""Whether the numbers, dates, labels, polarity and strength of a claim agree with the words it cites."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from citemesh.text.sentences import cut_sentences
from citemesh.text.stems import stem
from citemesh.v1.answer_pb2 import Verdict
from services.validation.held_values import HeldDates, HeldQuantities
from services.validation.labels import Place, find_label_fault, mask_labels
from services.validation.quantities import Quantity, find_dates, find_quantities
from services.validation.words import content_stems, fold

_SHARED_ENOUGH: Final = 0.6  # of a claim's content words in one sentence, for the two to speak of the same
_NEGATOR_REACH: Final = 3  # words before what is negated

_NEGATORS: Final = re.compile(
    r"\b(?:not|no|never|none|neither|nor|nobody|nothing|nowhere|without|cannot|can't|won't|don't|doesn't|didn't"
    r"|isn't|aren't|wasn't|weren't|shouldn't|mustn't"
    r"|couldn't|wouldn't|hasn't|haven't|hadn't|fails? to|failed to|refus\w+ to|lacks?|unable|nicht|kein\w*|nie"
    r"|niemals|ohne|ne \w+ pas|n'\w+ pas|jamais|sin|nunca"
    r"|jamás|non|mai|não|niet|geen)\b|\bno (?=\w)"
)
_NOT_NEGATING: Final = re.compile(
    r"\bnot only\b|\bno later than\b|\bno more than\b|\bno less than\b|\bno fewer than\b|\bno earlier than\b"
    r"|\bwhether or not\b|\bno\. ?\d"
)
_ANTONYMS: Final = tuple(
    (frozenset(map(stem, one.split())), frozenset(map(stem, other.split())))
    for one, other in (
        (
            "allow allowed allows permitted permit permits may acceptable",
            "forbidden forbid forbids prohibited prohibit prohibits banned disallowed unacceptable",
        ),
        (
            "increase increases increased rise rises rose grow grows grew raise raises raised improve improves"
            " improved",
            "decrease decreases decreased fall falls fell reduce reduces reduced reduction decline declines declined"
            " shrink lower lowers lowered worsen worsens",
        ),
        ("enable enabled enables", "disable disabled disables"),
        ("include included includes including", "exclude excluded excludes excluding exempt"),
        ("exceed exceeds greater higher larger longer", "less fewer smaller lower shorter"),
        ("supported supports support", "unsupported"),
        ("mandatory required compulsory obligatory", "optional voluntary"),
        ("accept accepted accepts approve approved", "reject rejected rejects refuse refused deny denied"),
        ("encrypted", "unencrypted plaintext"),
        ("safe secure", "unsafe insecure"),
        ("effective", "ineffective"),
        ("positive positively", "negative negatively"),
        ("true correct", "false incorrect wrong"),
        (
            "activate activates activation activated promote promotes induces enhance enhances",
            "inhibit inhibits inhibition inhibited suppress suppresses block blocks prevent prevents impair impairs",
        ),
        ("presence present", "absence absent lack lacking"),
        ("start starts begin begins open opens", "end ends close closes stop stops"),
        ("deprecated removed obsolete", "introduced added new"),
        ("win wins won", "lose loses lost"),
    )
)
_OPPOSED: Final = tuple(
    (re.compile(one), re.compile(other))
    for one, other in (
        (
            r"\b(?:at least|minimum|no (?:less|fewer) than|or more|not less than)\b",
            r"\b(?:at most|maximum|up to|no more than|or (?:less|fewer)|not more than|no later than)\b",
        ),
        (r"\bbefore\b", r"\bafter\b"),
        (r"\babove\b", r"\bbelow\b"),
        (r"\bmore than\b", r"\b(?:less|fewer) than\b"),
    )
)
_STRONG: Final = re.compile(
    r"\b(?:all|every|each|always|never|only|must|shall|entirely|completely|exclusively|solely|any|guarantees?"
    r"|proves?|alle|immer|muss|müssen|tous|toujours|doit|todos|siempre|debe)\b"
)
_WEAK: Final = re.compile(
    r"\b(?:some|may|might|could|can|usually|often|typically|generally|most|many|sometimes|possibly|partly|several"
    r"|likely|suggests?|should|einige|oft|meist|kann|certains|souvent|peut"
    r"|algunos|puede)\b"
)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """What does not agree: the verdict it makes, and one line for people."""

    verdict: Verdict.ValueType
    reason: str


def find_disagreement(claim: str, quote: str, place: Place, dates_in_force: str = "") -> Disagreement | None:
    """The first disagreement of `claim` with its quote; `dates_in_force` are the evidence's own dates, as text."""
    fault = find_label_fault(claim, quote, place)
    if fault:
        return Disagreement(Verdict.VERDICT_UNSUPPORTED, fault)
    masked = mask_labels(claim)
    context = fold(f"{quote}\n{place.about}\n{dates_in_force}")
    return (
        _compare_dates(masked, context)
        or _compare_quantities(masked, fold(quote), context)
        or _compare_polarity(claim, quote)
        or _compare_strength(claim, quote)
    )


def _compare_dates(claim: str, context: str) -> Disagreement | None:
    held = HeldDates(find_dates(context))
    for date in find_dates(claim):
        if not held.agree(date):
            verdict = Verdict.VERDICT_CONTRADICTED if held else Verdict.VERDICT_UNSUPPORTED
            return Disagreement(verdict, f'The date "{date.surface}" is not in the cited words.')
    return None


def _compare_quantities(claim: str, quote: str, context: str) -> Disagreement | None:
    held = HeldQuantities(find_quantities(context))
    years = {float(date.year) for date in find_dates(context) if date.year}
    quoted = find_quantities(quote)
    for quantity in find_quantities(claim):
        if held.agree(quantity) or (not quantity.unit and quantity.readings & years):
            continue
        return Disagreement(
            _judge_missing(quantity, quoted), f'The number "{quantity.surface}" is not in the cited words.'
        )
    return None


def _judge_missing(quantity: Quantity, quoted: list[Quantity]) -> Verdict.ValueType:
    """Another value of the same unit, or the same value of another one, says otherwise; else nothing is said."""
    if not quantity.unit:
        return Verdict.VERDICT_UNSUPPORTED
    otherwise = any(
        other.unit == quantity.unit or (other.unit and other.readings & quantity.readings) for other in quoted
    )
    return Verdict.VERDICT_CONTRADICTED if otherwise else Verdict.VERDICT_UNSUPPORTED


def _compare_polarity(claim: str, quote: str) -> Disagreement | None:
    """Opposite polarity of a claim and the sentence of the quote that speaks of the same."""
    stems = set(content_stems(claim))
    sentence, shared = find_closest_sentence(stems, quote)
    if shared < _SHARED_ENOUGH or not stems:
        return None
    flips = _count_negations(claim) % 2 != _count_negations(_cut_to_shared(sentence, stems)) % 2
    opposed = _find_opposites(stems, set(content_stems(sentence))) or _find_opposed_phrase(fold(claim), fold(sentence))
    if flips == bool(opposed):
        return None
    what = f'"{opposed}" against what the claim says' if opposed else "a negation that only one of the two has"
    return Disagreement(Verdict.VERDICT_CONTRADICTED, f"The cited words say the opposite: {what}.")


def find_closest_sentence(stems: set[str], quote: str) -> tuple[str, float]:
    """The sentence of `quote` that holds most of `stems`, and the share that it holds, 0 to 1."""
    best, most = "", -1
    for sentence in cut_sentences(quote) or [quote]:
        count = len(stems & set(content_stems(sentence)))
        if count > most:
            best, most = sentence, count
    return best, most / len(stems) if stems else 0.0


def _cut_to_shared(sentence: str, stems: set[str]) -> str:
    """The part of a sentence from a little before the first word that `stems` hold to the last: negators stand
    close."""
    words = sentence.split()
    shared = [position for position, word in enumerate(words) if stems & set(content_stems(word))]
    return " ".join(words[max(0, shared[0] - _NEGATOR_REACH) : shared[-1] + 1]) if shared else sentence


def _count_negations(text: str) -> int:
    return len(_NEGATORS.findall(_NOT_NEGATING.sub(" ", fold(text))))


def _find_opposites(claim: set[str], sentence: set[str]) -> str:
    """A word of the sentence that is the opposite of one of the claim's, where neither has the other's; empty if
    none."""
    for pair in _ANTONYMS:
        for mine, theirs in (pair, pair[::-1]):
            if claim & mine and sentence & theirs and not claim & theirs and not sentence & mine:
                return min(sentence & theirs)
    return ""


def _find_opposed_phrase(claim: str, sentence: str) -> str:
    for pair in _OPPOSED:
        for mine, theirs in (pair, pair[::-1]):
            said = theirs.search(sentence)
            if said is not None and mine.search(claim) and not theirs.search(claim) and not mine.search(sentence):
                return said.group()
    return ""


def _compare_strength(claim: str, quote: str) -> Disagreement | None:
    """A claim of all or always over a sentence of some or may."""
    stems = set(content_stems(claim))
    sentence, shared = find_closest_sentence(stems, quote)
    strong = _STRONG.search(fold(claim))
    if shared < _SHARED_ENOUGH or strong is None:
        return None
    folded = fold(sentence)
    weak = _WEAK.search(folded)
    if weak is None or _STRONG.search(folded) or _WEAK.search(fold(claim)):
        return None
    return Disagreement(
        Verdict.VERDICT_UNSUPPORTED, f'The claim says "{strong.group()}", the cited words say "{weak.group()}".'
    )
