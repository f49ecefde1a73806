from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.retrieval.places_of_label import label_alternatives, stands_at


@pytest.mark.parametrize(
    ("label", "alternative"),
    [
        ("section 5.4", "section 5.4"),
        ("section 2.1(b)(1)", "section 2.1(b)"),
        ("section 2.1(b)(1)", "section 2.1"),
        ("article 5", "section 5"),
        ("chapter ii", "section 2"),
        ("figure 2a", "figure 2"),
        ("annex b", "appendix b"),
        ("appendix iv", "appendix 4"),
    ],
)
def test_other_names_are_tried(label: str, alternative: str) -> None:
    assert alternative in list(label_alternatives(label))


def test_the_label_itself_comes_first_and_tables_have_no_other_name() -> None:
    assert next(label_alternatives("article 5")) == "article 5"
    assert list(label_alternatives("table 3")) == ["table 3"]


@given(st.text(max_size=30))
def test_any_label_ends(label: str) -> None:
    found = list(label_alternatives(label))
    assert len(found) == len(set(found))


@pytest.mark.parametrize(
    ("label", "text", "stands"),
    [
        ("table 3", "Table 3: Sizes of things", True),
        ("figure 2", "Some words\nFig. 2. The parts", True),
        ("table 3", "Table 3\nsizes", True),
        ("table 3", "Table 3 shows sizes.", False),
        ("table 3", "Table 31: Sizes", False),
        ("table 3", "as in Table 3: sizes", False),
        ("section 3", "Section 3: sizes", False),
    ],
)
def test_captions_are_told_from_mentions(label: str, text: str, stands: bool) -> None:
    assert stands_at(label, text) == stands
