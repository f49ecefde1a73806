"""Which evidence is the place that a question names."""

from __future__ import annotations

from typing import Any

import pytest

from services.generation.answer_types import defines
from services.generation.asks import find_specifics
from services.generation.places import holds_place
from tests.unit.services.generation.builders import make_evidence


@pytest.mark.parametrize(
    ("label", "fields", "held"),
    [
        ("table 3", {"label": "table 3"}, True),
        ("table 3", {"label": "table 30"}, False),
        ("section 5.4", {"section_number": "5.4"}, True),
        ("section 5.4", {"section_number": "5.4.1"}, True),
        ("section 5.4", {"section_number": "5.41"}, False),
        ("rule 10", {"section_path": ["RULE #10 - Keep logs"]}, True),
        ("rule 1", {"section_path": ["RULE #10 - Keep logs"]}, False),
    ],
)
def test_a_place_is_known_by_label_number_or_title(label: str, fields: dict[str, Any], held: bool) -> None:
    assert holds_place(label, make_evidence("text", **fields)) is held


def test_specifics_are_names_codes_and_numbers() -> None:
    found = find_specifics("What speed does TraceMonkey reach on Windows with --fast-mode at 250 nodes in Table 3?")
    assert {"TraceMonkey", "Windows", "--fast-mode", "250"} <= set(found)
    assert not {"What", "Table"} & set(found)
    assert "Urlaub" not in find_specifics("Wie viel Urlaub bekomme ich?", "de")


def test_a_definition_begins_with_the_asked_term() -> None:
    asked = {"what", "is", "use", "or", "lose"}
    assert defines("Use or Lose is the number of hours you forfeit.", asked)
    assert not defines("Annual leave is what you use.", asked)
