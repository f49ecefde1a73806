"""Numbers, measures and dates in text, in forms that can be compared: "1'000" is 1000, "thirty days" is 30 days."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

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
_SMALL: Final[dict[str, int]] = {
    word: value
    for value, words in enumerate(
        (
            "zero null",
            "",
            "two zwei deux dos",
            "three drei trois tres",
            "four vier quatre cuatro",
            "five fünf cinq cinco",
            "six sechs seis",
            "seven sieben sept siete",
            "eight acht huit ocho",
            "nine neun neuf nueve",
            "ten zehn dix diez",
            "eleven elf onze",
            "twelve zwölf douze doce",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        )
    )
    for word in words.split()
}
_TENS: Final = {
    word: value * 10
    for value, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)  # noqa: SIM905  # reads better
}
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
_MONTHS: Final[dict[str, int]] = {
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

_MONTH: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATE: Final = re.compile(
    rf"(?P<iso>\b\d{{4}}-\d{{2}}-\d{{2}}\b)"
    rf"|\b(?P<d1>\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+"
    rf"|de\s+)?(?P<m1>{_MONTH})\.?(?:,?\s+(?:de\s+)?(?P<y1>\d{{4}}))?\b"
    rf"|\b(?P<m2>{_MONTH})\.?\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(?P<y2>\d{{4}}))?"
    rf"|\b(?P<m3>{_MONTH})\.?,?\s+(?:of\s+|de\s+)?(?P<y3>\d{{4}})\b"
    r"|\b(?P<a>\d{1,2})[./](?P<b>\d{1,2})[./](?P<y4>\d{4})\b"
)
_NUMBER: Final = re.compile(
    r"(?:(?<![\w.])(?<![a-z]-)|(?<=\bv))(?P<sign>[-−–](?=\d)(?<![\d\w][-−–]))?(?P<currency>[€$£¥]\s?|(?:eur|usd|gbp"
    r"|chf)\s)?"
    r"(?P<digits>\d{1,3}(?:[,'’ \u00a0\u202f]\d{3})+(?:\.\d+)?(?!\d)|\d{1,3}(?:\.\d{3})+(?:,\d+)?(?!\d)"
    r"|\d+(?:[.,]\d+)?(?![\d]|\.\d))"
    r"(?:\s?(?P<scale>k|bn|m|hundred|thousand|million|millions|billion|trillion|millionen)(?![\w.]))?"
    r"(?:\s?-?\s?(?P<unit>%|°[cf]|[€$£¥]|[a-zäöüßéèíóñ]+)(?![\w]))?"
)
_TIME_UNIT: Final = "second|minute|hour|day|week|month|quarter|year|percent|dollar|euro|pound"
_COMMA_GROUPS: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_POINT_GROUPS: Final = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_WORD_NUMBER: Final = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(_TENS)})(?:[- ](?P<ones>{'|'.join(_SMALL)}))?|(?P<small>{'|'.join(_SMALL)}|a"
    rf"|one)(?=\s(?:hundred|thousand|million|billion)\b)"
    rf"|(?P<bare>{'|'.join(_SMALL)})|(?P<single>one|an?)(?=[- ](?:{_TIME_UNIT})\b))(?:[- ](?P<scale>hundred|thousand"
    rf"|million|billion|trillion))?(?:[- ](?P<unit>%|[a-zäöü]+)(?!\w))?"
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number as written, its possible readings in the base unit, and that unit ("" where none is known)."""

    surface: str
    readings: frozenset[float]
    unit: str

    def agrees(self, other: Quantity) -> bool:
        """Whether both can be the same: a shared reading, and no two different known units."""
        same_unit = not self.unit or not other.unit or self.unit == other.unit
        return same_unit and any(_is_close(mine, its) for mine in self.readings for its in other.readings)


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
            dates.append(Date(match.group(), year, _MONTHS[name], int(match["d1"] or match["d2"] or 0)))
    return dates


def find_quantities(text: str) -> list[Quantity]:
    """The numbers of a folded text that are not parts of dates, in digits and in words ("one" is no number here)."""
    rest = _DATE.sub(lambda match: " " * len(match.group()), text)
    return [
        *(_read_digits(match) for match in _NUMBER.finditer(rest)),
        *(_read_words(match) for match in _WORD_NUMBER.finditer(rest)),
    ]


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
        _TENS.get(match["tens"] or "", 0)
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
    return abs(one - other) <= 1e-9 * max(1.0, abs(one), abs(other))
