"""Documents found by what they are called, sections by their titles and numbers."""

from __future__ import annotations

from citemesh.store.labels import section_labels
from citemesh.store.title_match import TitleIndex
from citemesh.store.toc_match import FoundSection, descend, read_toc_question
from citemesh.v1.document_pb2 import Section

TITLES = TitleIndex(
    [("docker", "Docker Security Cheat Sheet"), ("sql", "SQL Injection Cheat Sheet"), ("rfc2616", "Hypertext")]
)


def test_generic_words_lead_to_no_document() -> None:
    assert TITLES.match("the Docker cheat sheet", 3) == ["docker"]
    assert TITLES.match("the Kubernetes cheat sheet", 3) == []
    assert TITLES.match("rfc2616", 3) == ["rfc2616"]
    assert TITLES.match("", 3) == []


def test_a_title_that_is_filled_comes_first_and_a_named_number_before_all() -> None:
    sections = [
        Section(section_id="a", number="4", title="Annual leave and other leave of staff"),
        Section(section_id="b", number="5", title="Annual leave"),
        Section(section_id="c", number="6", title="Pay"),
    ]

    def rank(text: str) -> list[str]:
        question = read_toc_question(text, ("en",))
        found = [
            FoundSection(1, "d", each, is_named=not question.labels.isdisjoint(section_labels(each)))
            for each in sections
        ]
        return [hit.section.section_id for hit in question.rank(found, 3)]

    assert rank("How many days of annual leave are there?")[0] == "b"
    assert rank("What does section 6 say of leave?")[0] == "c"


def test_descent_takes_children_of_children() -> None:
    tree = [Section(section_id="a"), Section(section_id="b", parent_id="a"), Section(section_id="c", parent_id="b")]
    assert descend(tree, ["b"]) == {"b", "c"}
    assert descend(tree, ["a"]) == {"a", "b", "c"}
