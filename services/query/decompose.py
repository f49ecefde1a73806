"""The parts of a compound question, each complete in itself. A simple question has none."""

from __future__ import annotations

import re
from typing import Final

from citemesh.text.function_words import is_function_word
from services.query.lexicon import GENERIC_WORDS
from services.query.words import is_question, lower_first, split_sentences, split_words, strip_marks, upper_first

MOST_PARTS: Final = 6
_WH = (
    r"(?:which|what|who|whom|whose|where|when|why|how|welche\w*|was|wer|wo|wann|warum|wie|quel(?:le)?s?|que|qui|où"
    r"|quand|pourquoi|combien|cuál(?:es)?"
    r"|qué|quién|dónde|cuándo|por qué|cómo)"
)
_LEAD = (
    r"(?:(?:by|up to|from|in|on|at|with|for|to|under|into|after|since|until|about|from about|of|à|de"
    r"|in welche\w*)\s++)?"
)
_AND_ASKS: Final = re.compile(rf"(?:[,;]\s*+|(?<!\s)\s++)(?:and|und|et|y)\s++(?:also\s++)?(?={_LEAD}{_WH}\b)", re.I)
_STARTS_ASKING: Final = re.compile(
    rf"^\W*+(?:and |but |so )?(?:{_LEAD}{_WH}|is|are|was|were|do|does|did|has|have|can|could|may|must|should|will"
    rf"|would|name|list|give|explain|describe)\b",
    re.I,
)
_NOT_A_QUESTION: Final = re.compile(
    r"^\s*+(?:what|which|who|how|where|when|that)\s++(?:(?:is|was)\s*+)?(?:more|so|ever)\b", re.I
)
_ASKS_LATER: Final = re.compile(rf"[,:]\s*+{_LEAD}{_WH}\b", re.I)

_SUBJECT_AND_ASK: Final = re.compile(r"^(?P<subject>[^?:]{3,120}):\s*+(?P<ask>[^?]{4,}+\?)\s*+$")
_BETWEEN_SUBJECTS: Final = re.compile(r"(?<!\s)\s++(?:or|versus|vs\.?|and)\s++(?:the\s++)?", re.I)
_ARTICLE: Final = re.compile(r"^the\s++", re.I)
_EACH: Final = re.compile(
    r"\b(?:each of (?:them|these|those|the two)|both of (?:them|these|those)|either of them|each one|each)\b", re.I
)
_COMPARE: Final = re.compile(
    r"^\W*+how (?:do|does|did) (?:the )?(?P<what>.{1,120}?) of (?P<first>.{1,120}?) and (?:of )?"
    r"(?P<second>.{1,120}?) (?:compare|differ)\W*+$",
    re.I,
)
_DIFFERENCE: Final = re.compile(
    r"\bdifferences? between (?:the )?(?P<first>[^?,]{2,60}?) and (?:the )?(?P<second>[^?,]{2,60}?)\W{0,20}$", re.I
)
_TWO_PLACES: Final = re.compile(
    r"^(?P<stem>.+?)(?<!\s)\s++(?P<preposition>in|for|of|on|by|with|under|at|from|to|für|bei|pour|dans|para"
    r"|en)\s++(?P<first>[^,?]{2,60}?),?\s++and\s++(?P=preposition)\s++(?P<second>[^,?]{2,60}?)\?\s*+$",
    re.I,
)
_BOTH: Final = re.compile(
    r"\bboth (?:the )?(?P<first>[\w -]{2,50}?) and (?:the )?(?P<second>[\w -]{2,60}?)(?=\s++(?:papers?|documents?"
    r"|sheets?|policies|reports?|pages?|train|use|have|are|were|do|can|say|need|run|get)\b)",
    re.I,
)
_WHAT_OF: Final = re.compile(
    r"^(?P<stem>.*\bwhat (?:(?:becomes|happens|is|are|about)(?:\s++(?:of|to|with))?|of|to|with))\s++"
    r"(?P<first>[^?]{1,200}?),? and what (?:of|about|with|to) (?P<second>[^?]{1,200})\?\s*+$",
    re.I,
)
_PRONOUN: Final = re.compile(
    r"\b(?:it|its|they|them|their|that|this|these|those|he|she|his|her|there|then|one|ones)\b", re.I
)


def decompose(question: str, language: str = "en") -> list[str]:
    """The complete parts of `question`, at most six, in order; empty for a simple question."""
    sentences = split_sentences(question)
    asking = [sentence for sentence in sentences if is_question(sentence)]
    context = " ".join(sentence for sentence in sentences if not is_question(sentence))
    if not asking:
        return []
    compared = _split_compared(asking[-1], context) if len(asking) == 1 else []
    if compared:
        return compared
    parts: list[str] = []
    for sentence in asking:
        parts += _split_coordinated(sentence)
    if len(parts) < 2:
        return []
    return [_complete(part, position, parts, context, language) for position, part in enumerate(parts[:MOST_PARTS])]


def _split_compared(sentence: str, context: str) -> list[str]:
    """Parts of a question that asks the same of two things."""
    colon = _SUBJECT_AND_ASK.match(sentence)
    if colon is not None:
        return _split_subjects(colon["subject"], colon["ask"])
    what_of = _WHAT_OF.match(sentence)
    if what_of is not None:
        return [f"{what_of['stem']} {what_of['first']}?", f"{what_of['stem']} {what_of['second']}?"]
    compare = _COMPARE.match(sentence)
    if compare is not None:
        return [f"What are the {compare['what']} of {compare[side]}?" for side in ("first", "second")]
    difference = _DIFFERENCE.search(sentence)
    if difference is not None and len(split_words(sentence)) <= 14:
        return [f"What is {difference[side].strip()}?" for side in ("first", "second")]
    both = _BOTH.search(context) if context else None
    if both is not None and _EACH.search(sentence):
        return [upper_first(_EACH.sub(_with_article(both[side]), sentence, count=1)) for side in ("first", "second")]
    places = _TWO_PLACES.match(sentence)
    if places is not None and not _AND_ASKS.search(sentence) and _STARTS_ASKING.search(sentence):
        prefix = f"{context} " if context else ""
        return [f"{prefix}{places['stem']} {places['preposition']} {places[side]}?" for side in ("first", "second")]
    return []


def _split_subjects(subject: str, ask: str) -> list[str]:
    """ "A or B: which .., and which ..?" by question; "A versus B: what makes each fire?" by subject."""
    between = _BETWEEN_SUBJECTS.search(subject)
    if between is not None and _EACH.search(ask):
        first = _ARTICLE.sub("", strip_marks(subject[: between.start()]), count=1)
        second = strip_marks(subject[between.end() :])
        if first and second:
            return [upper_first(_EACH.sub(lower_first(side), ask, count=1)) for side in (first, second)]
    asks = _split_coordinated(ask)
    return [f"{subject}: {_end(lower_first(each))}" for each in asks] if len(asks) > 1 else []


def _split_coordinated(sentence: str) -> list[str]:
    """Split before each "and which", "and where" and the like that opens a question of its own."""
    if not _STARTS_ASKING.search(sentence) and not _ASKS_LATER.search(sentence):
        return [sentence]
    pieces = [piece.strip() for piece in _AND_ASKS.split(sentence)]
    kept = [pieces[0]]
    for piece in pieces[1:]:
        if (len(split_words(piece)) < 2 and not is_question(piece)) or _NOT_A_QUESTION.match(piece):
            kept[-1] = f"{kept[-1]} and {piece}"
        else:
            kept.append(piece)
    return [_end(piece) for piece in kept]


def _complete(part: str, position: int, parts: list[str], context: str, language: str) -> str:
    """A part with what it needs of the sentences before: the context in front, the topic of the first part behind."""
    text = upper_first(part)
    if context and position == 0:
        return f"{context} {text}"
    topic = find_topic(parts[0], language)
    if position == 0 or not topic or not _leans(part, parts[0], language):
        return f"{context} {text}" if context and _PRONOUN.search(part) else text
    return f"{text.rstrip('?')} ({topic})?"


def find_topic(question: str, language: str = "en") -> str:
    """The content of a question in its own words and order, such as "regularization techniques, Transformer paper"."""
    runs: list[list[str]] = [[]]
    end = -1
    for word in split_words(question):
        if is_function_word(word.lower, language) or word.lower in {"use", "uses", "used", "using"}:
            runs.append([])
            continue
        if end >= 0 and question[end : word.start] != " ":
            runs.append([])
        runs[-1].append(word.text)
        end = word.end
    trimmed = [_trim(run) for run in runs]
    return ", ".join([" ".join(run) for run in trimmed if run][:4])


def _trim(run: list[str]) -> list[str]:
    """A run of words without the general ones at its ends."""
    telling = [position for position, word in enumerate(run) if word.lower() not in GENERIC_WORDS]
    return run[telling[0] : telling[-1] + 1] if telling else []


def _leans(part: str, first: str, language: str) -> bool:
    """Whether a part needs the first one to be understood: a pronoun, or hardly any content of its own."""
    content = [
        word.lower
        for word in split_words(part)
        if not is_function_word(word.lower, language) and word.lower not in GENERIC_WORDS
    ]
    shared = {word.lower for word in split_words(first)} & set(content)
    return bool(_PRONOUN.search(part)) or (len(content) <= 3 and not shared)


def _with_article(name: str) -> str:
    return f"the {name.strip()}" if name[:1].isupper() else name.strip()


def _end(text: str) -> str:
    return text.rstrip("?,;. ") + "?"
