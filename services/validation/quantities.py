"""Numbers, measures and dates in text, in forms that can be compared: "1'000" is 1000, "thirty days" is 30 days.

A measure may be a rate: in "EUR 64 a day" the day belongs to the 64 and is no number of its own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from citemesh.text.numbers import MONTHS, TENS, numbers_between
from services.validation.words import SHARED_WORDS

_UNITS: Final[dict[str, tuple[str, float]]] = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), ("s", 0.001)),
    **dict.fromkeys(("s", "sec", "second", "seconds", "sekunden", "secondes", "segundos"), ("s", 1.0)),
    **dict.fromkeys(("min", "mins", "minute", "minutes", "minuten", "minutos"), ("s", 60.0)),
    **dict.fromkeys(
        ("h", "hr", "hrs", "hour", "hours", "stunde", "stunden", "heure", "heures", "horas"), ("s", 3600.0)
    ),
    **dict.fromkeys(("day", "days", "tag", "tage", "tagen", "jour", "jours", "día", "días"), ("s", 86400.0)),
    **dict.fromkeys(("week", "weeks", "woche", "wochen", "semaine", "semaines", "semanas"), ("s", 604800.0)),
    **dict.fromkeys(("month", "months", "monat", "monate", "monaten", "mois", "mes", "meses"), ("month", 1.0)),
    **dict.fromkeys(("quarter", "quarters", "quartal", "quartale"), ("month", 3.0)),
    **dict.fromkeys(
        ("year", "years", "yr", "yrs", "jahr", "jahre", "jahren", "an", "ans", "années", "año", "años"), ("month", 12.0)
    ),
    **dict.fromkeys(("%", "percent", "prozent", "pct", "percentage"), ("%", 1.0)),
    **dict.fromkeys(("eur", "euro", "euros", "€"), ("eur", 1.0)),
    **dict.fromkeys(("usd", "dollar", "dollars", "$", "us$"), ("usd", 1.0)),
    **dict.fromkeys(("gbp", "pound", "pounds", "£"), ("gbp", 1.0)),
    **dict.fromkeys(("chf", "franc", "francs", "franken"), ("chf", 1.0)),
    **dict.fromkeys(("jpy", "yen", "¥"), ("jpy", 1.0)),
    **dict.fromkeys(("byte", "bytes"), ("byte", 1.0)),
    **dict.fromkeys(("kb", "kilobyte", "kilobytes"), ("byte", 1e3)),
    **dict.fromkeys(("mb", "megabyte", "megabytes"), ("byte", 1e6)),
    **dict.fromkeys(("gb", "gigabyte", "gigabytes"), ("byte", 1e9)),
    **dict.fromkeys(("tb", "terabyte", "terabytes"), ("byte", 1e12)),
    **dict.fromkeys(("kib",), ("byte", 2.0**10)),
    **dict.fromkeys(("mib",), ("byte", 2.0**20)),
    **dict.fromkeys(("gib",), ("byte", 2.0**30)),
    **dict.fromkeys(("bit", "bits"), ("bit", 1.0)),
    **dict.fromkeys(("mm", "millimetre", "millimetres", "millimeter", "millimeters"), ("m", 0.001)),
    **dict.fromkeys(("cm", "centimetre", "centimetres", "centimeter", "centimeters"), ("m", 0.01)),
    **dict.fromkeys(("m", "metre", "metres", "meter", "meters"), ("m", 1.0)),
    **dict.fromkeys(("km", "kilometre", "kilometres", "kilometer", "kilometers"), ("m", 1000.0)),
    **dict.fromkeys(("g", "gram", "grams"), ("g", 1.0)),
    **dict.fromkeys(("kg", "kilogram", "kilograms"), ("g", 1000.0)),
    **dict.fromkeys(("°c", "celsius"), ("°c", 1.0)),
    **dict.fromkeys(("°f", "fahrenheit"), ("°f", 1.0)),
}
# "Once" is how often, unless it stands for 11 in Spanish, which nothing here can tell.
_SMALL: Final = {word: value for word, value in numbers_between(0, 19).items() if word != "once"}
_SCALES: Final = {
    "hundred": 100.0,
    "thousand": 1e3,
    "million": 1e6,
    "billion": 1e9,
    "trillion": 1e12,
    "millionen": 1e6,
    "millions": 1e6,
}
_SUFFIXES: Final = {"k": 1e3, "m": 1e6, "bn": 1e9}
_MONTH: Final = "|".join(sorted(MONTHS, key=len, reverse=True))
_DATE: Final = re.compile(
    rf"(?P<iso>\b\d{{4}}-\d{{2}}-\d{{2}}\b)"
    rf"|\b(?P<d1>\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+"
    rf"|de\s+)?(?P<m1>{_MONTH})\.?(?:,?\s+(?:de\s+)?(?P<y1>\d{{4}}))?\b"
    rf"|\b(?P<m2>{_MONTH})\.?\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(?P<y2>\d{{4}}))?"
    rf"|\b(?P<m3>{_MONTH})\.?,?\s+(?:of\s+|de\s+)?(?P<y3>\d{{4}})\b"
    r"|\b(?P<a>\d{1,2})[./](?P<b>\d{1,2})[./](?P<y4>\d{4})\b"
)
_TIME_UNIT: Final = "second|minute|hour|day|week|month|quarter|year|percent|dollar|euro|pound"
# Only words that are units: what follows a number otherwise ("500 need", "46 a") says nothing of its measure.
# The "an" of "64 an hour" is no French year.
_UNIT: Final = rf"(?!an\s(?:{_TIME_UNIT})\b)(?:{'|'.join(map(re.escape, sorted(_UNITS, key=len, reverse=True)))})(?!\w)"
_NUMBER: Final = re.compile(
    r"(?:(?<![\w.])(?<![a-z]-)|(?<=\bv))(?P<sign>[-−–](?=\d)(?<![\d\w][-−–]))?(?P<currency>[€$£¥]\s?|(?:eur|usd|gbp"
    r"|chf)\s)?"
    r"(?P<digits>\d{1,3}(?:[,'’ \u00a0\u202f]\d{3})+(?:\.\d+)?(?!\d)|\d{1,3}(?:\.\d{3})+(?:,\d+)?(?!\d)"
    r"|\d+(?:[.,]\d+)?(?![\d]|\.\d))"
    r"(?:\s?(?P<scale>k|bn|m|hundred|thousand|million|millions|billion|trillion|millionen)(?![\w.]))?"
    rf"(?:\s?-?\s?(?P<unit>{_UNIT}))?"
)
_COMMA_GROUPS: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_POINT_GROUPS: Final = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_WORD_NUMBER: Final = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(TENS)})(?:[- ](?P<ones>{'|'.join(_SMALL)}))?|(?P<small>{'|'.join(_SMALL)}|a"
    rf"|one)(?=\s(?:hundred|thousand|million|billion)\b)"
    rf"|(?P<bare>{'|'.join(_SMALL)})|(?P<single>one|an?)(?=[- ](?:{_TIME_UNIT})\b))(?!\w)(?:[- ](?P<scale>hundred"
    rf"|thousand|million|billion|trillion))?(?:[- ](?P<unit>{_UNIT}))?"
)
_FREQUENCY: Final = re.compile(r"\b(?P<word>once|twice)\b")
# "a day", "per person per day", "/day", "pro Tag", at most three words after the number that it belongs to.
_RATE: Final = re.compile(
    r"(?P<between>(?:\s[^\W\d_][\w'-]*){0,3}?)(?:\s(?P<article>an?)\s|\s?/\s?|\s(?:per|each|every|pro|je|par|por)[\s-])"
    rf"(?P<unit>{_UNIT})"
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number as written, its possible readings in the base unit, and that unit ("" where none is known)."""

    surface: str
    readings: frozenset[float]
    unit: str
    per: tuple[str, float] | None = None
    """Of a rate, the unit and the amount that it is for: ("s", 86400) for "a day"; None where the text gives none."""

    def agrees(self, other: Quantity) -> bool:
        """Whether both can be the same: a shared reading, and neither units nor rates that are known and differ."""
        same_unit = not self.unit or not other.unit or self.unit == other.unit
        same_rate = self.per is None or other.per is None or self.per == other.per
        return same_unit and same_rate and any(_is_close(mine, its) for mine in self.readings for its in other.readings)


@dataclass(frozen=True, slots=True)
class Date:
    """A date as written; year, month and day are 0 where it does not say. `swapped`: day and month may be exchanged."""

    surface: str
    year: int
    month: int
    day: int
    swapped: bool = False

    def agrees(self, other: Date) -> bool:
        """Whether no part that both give differs."""
        readings = [(other.month, other.day)] + ([(other.day, other.month)] if other.swapped or self.swapped else [])
        years = not self.year or not other.year or self.year == other.year
        return years and any(
            (not month or not self.month or month == self.month) and (not day or not self.day or day == self.day)
            for month, day in readings
        )


def find_dates(text: str) -> list[Date]:
    """The dates of a folded text."""
    dates = []
    for match in _DATE.finditer(text):
        if match["iso"]:
            year, month, day = (int(part) for part in match["iso"].split("-"))
            dates.append(Date(match.group(), year, month, day))
        elif match["a"]:
            dates.append(Date(match.group(), int(match["y4"]), int(match["b"]), int(match["a"]), swapped=True))
        else:
            name = match["m1"] or match["m2"] or match["m3"]
            year = int(match["y1"] or match["y2"] or match["y3"] or 0)
            dates.append(Date(match.group(), year, MONTHS[name], int(match["d1"] or match["d2"] or 0)))
    return dates


def find_quantities(text: str) -> list[Quantity]:
    """The numbers of a folded text that are not parts of dates, in digits and in words ("one" is no number here)."""
    rest = _DATE.sub(lambda match: " " * len(match.group()), text)
    numbers = [(match, _read_digits(match)) for match in _NUMBER.finditer(rest)]
    numbers += [(match, _read_words(match)) for match in _WORD_NUMBER.finditer(rest)]
    numbers += [(match, _read_frequency(match)) for match in _FREQUENCY.finditer(rest)]
    numbers.sort(key=lambda number: number[0].start())
    return list(_attach_rates(rest, numbers))


def _attach_rates(text: str, numbers: list[tuple[re.Match[str], Quantity]]) -> Iterator[Quantity]:
    """The quantities with the rates that follow them; the "a day" of a rate, and a bare "once", are left out."""
    taken_until = 0
    reaches: list[int] = []  # where the number after each begins, from the last one back
    next_start = len(text)
    for match, _ in reversed(numbers):
        reaches.append(next_start)
        next_start = next_start if _is_article(match) else match.start()
    for (match, quantity), reach in zip(numbers, reversed(reaches), strict=True):
        if match.start() < taken_until and _is_article(match):
            continue
        rate = _RATE.match(text, match.end(), reach)
        if rate is not None and not _is_governed(rate):
            taken_until = rate.end()
            surface = text[match.start() : rate.end()].strip()
            yield replace(quantity, surface=surface, per=_UNITS[rate["unit"]])
        elif match.re is not _FREQUENCY:
            yield quantity


def _is_article(match: re.Match[str]) -> bool:
    return match.re is _WORD_NUMBER and match["single"] in {"a", "an"}


def _is_governed(rate: re.Match[str]) -> bool:
    """Whether "a day" depends on the word before it ("EUR 64 within a day"), and so is a measure of its own."""
    words = rate["between"].split()
    return bool(rate["article"] and words and words[-1] in SHARED_WORDS)


def _read_frequency(match: re.Match[str]) -> Quantity:
    return Quantity(match.group(), frozenset({1.0 if match["word"] == "once" else 2.0}), "")


def _read_digits(match: re.Match[str]) -> Quantity:
    values = _read_number(match["digits"])
    sign = -1.0 if match["sign"] in {"-", "−"} else 1.0
    scale = match["scale"] or ""
    unit_word = match["unit"] or ""
    if scale == "m" and not match["currency"]:
        # "5 m" is metres unless money is meant.
        scale, unit_word = "", "m"
    factor = _SCALES.get(scale, _SUFFIXES.get(scale, 1.0))
    currency = (match["currency"] or "").strip()
    unit, base = _UNITS.get(currency) or _UNITS.get(unit_word) or ("", 1.0)
    return Quantity(match.group().strip(), frozenset(sign * value * factor * base for value in values), unit)


def _read_words(match: re.Match[str]) -> Quantity:
    small = match["small"] or match["bare"] or ""
    value = float(
        TENS.get(match["tens"] or "", 0)
        + _SMALL.get(match["ones"] or "", 0)
        + (1 if small in {"a", "one"} or match["single"] else _SMALL.get(small, 0))
    )
    unit, base = _UNITS.get(match["unit"] or "", ("", 1.0))
    return Quantity(match.group().strip(), frozenset({value * _SCALES.get(match["scale"] or "", 1.0) * base}), unit)


def _read_number(digits: str) -> list[float]:
    """Every reading of a number in digits: "1,500" and "1.500" can be thousands or decimals."""
    plain = re.sub(r"['’ \u00a0\u202f]", "", digits)
    readings = {plain.replace(",", ".")}
    if _COMMA_GROUPS.fullmatch(plain):
        readings.add(plain.replace(",", ""))
    if _POINT_GROUPS.fullmatch(plain):
        readings.add(plain.replace(".", "").replace(",", "."))
    return [float(reading) for reading in readings if re.fullmatch(r"\d+(?:\.\d+)?", reading)]


def _is_close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
