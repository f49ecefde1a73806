from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.store.labels import canonical_label, section_labels
from citemesh.v1.document_pb2 import Section


@pytest.mark.parametrize(
    ("written", "label"),
    [
        ("Table  3", "table 3"),
        ("§ 1003.2", "section 1003.2"),
        ("§1003.2(a)(1)", "section 1003.2(a)(1)"),
        ("§ 1003.2(g)", "section 1003.2(g)"),
        ("Section 1003.2(g)).", "section 1003.2(g)"),
        ("Section 1003.2(g)(1)):", "section 1003.2(g)(1)"),
        ("§ 5 )", "section 5"),
        ("Sec. 5.4.", "section 5.4"),
        ("Sections 5", "section 5"),
        ("Fig. 2", "figure 2"),
        ("Table 3)", "table 3"),
        ("Appendix B", "appendix b"),
        ("", ""),
    ],
)
def test_labels_have_one_form(written: str, label: str) -> None:
    assert canonical_label(written) == label


@given(
    st.sampled_from(["Section ", "§ ", "Table ", "Sec. "]),
    st.from_regex(r"[1-9][0-9]{0,3}(\.[1-9]){0,2}(\([a-z0-9]\)){0,3}", fullmatch=True),
    st.text(alphabet=".:;,) ", max_size=4),
)
def test_punctuation_around_a_label_is_none_of_it(word: str, number: str, after: str) -> None:
    assert canonical_label(f"{word}{number}{after}") == canonical_label(f"{word}{number}")
    assert canonical_label(f"{word}{number}").endswith(number)


@given(st.text(max_size=40))
def test_the_one_form_is_stable(text: str) -> None:
    once = canonical_label(text)
    assert canonical_label(once) in (once, canonical_label(canonical_label(once)))


@pytest.mark.parametrize(
    ("section", "label"),
    [
        (Section(number="5.4", title="Regularization"), "section 5.4"),
        (Section(number="B", title="Forms"), "appendix b"),
        (Section(title="Appendix B: Forms"), "appendix b"),
        (Section(title="Annex II Rules"), "annex ii"),
        (Section(title="Article 12 - Scope"), "article 12"),
        (Section(title="Article 12 - Scope"), "section 12"),
        (Section(title="§ 1003.2 Definitions"), "section 1003.2"),
        (Section(number="1003.2(g)", title="Small entity"), "section 1003.2(g)"),
        (Section(number="A.2", title="Proofs"), "section a.2"),
    ],
)
def test_sections_are_known_by_their_labels(section: Section, label: str) -> None:
    assert label in section_labels(section)


def test_a_title_without_number_has_no_label() -> None:
    assert section_labels(Section(title="Introduction")) == set()
