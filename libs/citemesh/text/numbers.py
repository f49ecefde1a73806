"""Small numbers and months as words, in English, German, French and Spanish."""

from __future__ import annotations

from typing import Final


def _count_words(*rows: tuple[int, str]) -> dict[str, int]:
    """{word: value} of rows (first value, words that count up from it)."""
    return {word: value for first, words in rows for value, word in enumerate(words.split(), first)}


SMALL_NUMBERS: Final[dict[str, dict[str, int]]] = {
    "en": _count_words(
        (0, "zero"),
        (2, "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"),
        (17, "seventeen eighteen nineteen"),
    ),
    "de": _count_words(
        (0, "null"),
        (2, "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn"),
        (17, "siebzehn achtzehn neunzehn"),
    ),
    "fr": _count_words((2, "deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize")),
    "es": _count_words((2, "dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince")),
}
"""By language, 0 and 2 to 19. One is left out: it is an article as well. Spanish "once" (11) is an English word too."""

TENS: Final[dict[str, int]] = {
    word: place * 10
    for words in (
        "twenty thirty forty fifty sixty seventy eighty ninety",
        "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
        "vingt trente quarante cinquante soixante",
        "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
    )
    for place, word in enumerate(words.split(), 2)
}
"""20 to 90, of all four languages."""

MONTHS: Final[dict[str, int]] = {
    word: value
    for value, words in enumerate(
        (
            "january jan januar janvier enero",
            "february feb februar février febrero",
            "march mar märz mars marzo",
            "april apr avril abril",
            "may mai mayo",
            "june jun juni juin junio",
            "july jul juli juillet julio",
            "august aug août agosto",
            "september sep sept septembre septiembre",
            "october oct oktober octobre octubre",
            "november nov novembre noviembre",
            "december dec dezember décembre diciembre",
        ),
        1,
    )
    for word in words.split()
}
"""Names of months, lower case, short forms of English ones included: 1 for January."""


def numbers_between(first: int, last: int) -> dict[str, int]:
    """The words of all languages, tens included, for numbers from `first` to `last`."""
    every = [*(words for words in SMALL_NUMBERS.values()), TENS]
    return {word: value for words in every for word, value in words.items() if first <= value <= last}
