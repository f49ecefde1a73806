"""Words of a question: tokens that keep flags, paths, identifiers and section numbers whole."""

from __future__ import annotations

import re
from dataclasses import dataclass

from citemesh.text.sentences import cut_sentences

_TOKEN = re.compile(
    r"""
      (?<!§)§++\s*+\d[\w.()-]*\w\)?            # § 1003.2(g)
    | (?<![\w-])--?[A-Za-z][\w-]*(?:=[\w./-]+)?  # --snapshot-count, -v
    | (?<![\w.])/[A-Za-z][\w/.-]*\w            # /metrics, /etc/hosts
    | [^\W_]+(?:[._:/@+&'’-]+[^\W_]+)*\+*      # words, v3.5, a/b, can't, user_name, C++
    | _\w+\b                                   # __proto__
    """,
    re.VERBOSE,
)
_IDENTIFIER = re.compile(r"[_/=@+§]|^--?[A-Za-z]|\w\.\w|\d|[a-z][A-Z]|^[A-Z]{2,}")


@dataclass(frozen=True, slots=True)
class Word:
    """A token with its place in the text, in code points."""

    text: str
    start: int
    end: int

    @property
    def lower(self) -> str:
        """The token in lower case, curly apostrophes straightened."""
        return self.text.lower().replace("’", "'")

    @property
    def is_identifier(self) -> bool:
        """Whether it is a name that must not be changed: a flag, path, number, acronym or mixed-case word."""
        return bool(_IDENTIFIER.search(self.text))

    @property
    def is_capitalised(self) -> bool:
        """Whether it starts with a capital letter."""
        return self.text[:1].isupper()


def split_words(text: str) -> list[Word]:
    """The tokens of `text` in order; punctuation is left out."""
    return [Word(match.group(), match.start(), match.end()) for match in _TOKEN.finditer(text)]


def split_sentences(text: str) -> list[str]:
    """The sentences of a question as people type them, end marks kept, stripped; abbreviations do not end one."""
    return cut_sentences(text, is_typed=True)


def is_question(sentence: str) -> bool:
    """Whether the sentence ends in a question mark."""
    return sentence.rstrip("\"'”’) ").endswith(("?", "？", "؟"))


def upper_first(text: str) -> str:
    """`text` with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def lower_first(text: str) -> str:
    """`text` with its first letter in lower case, unless its first word is a name."""
    words = split_words(text)
    if not words or words[0].is_identifier or words[0].start != 0:
        return text
    return text[:1].lower() + text[1:]


def strip_marks(text: str) -> str:
    """`text` without what is no letter, digit or underscore at its ends. (A pattern for the end takes squared time.)"""
    start, end = 0, len(text)
    while start < end and not (text[start].isalnum() or text[start] == "_"):
        start += 1
    while end > start and not (text[end - 1].isalnum() or text[end - 1] == "_"):
        end -= 1
    return text[start:end]
