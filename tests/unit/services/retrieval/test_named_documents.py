"""Titles in running text: what names a document and what does not; books of what a caller may read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.auth.principal import Principal
from citemesh.v1.question_pb2 import DocumentIds, Scope
from services.retrieval.named_documents import TitleBook, TitleBooks
from tests.unit.services.retrieval.library import ANNA, HANNA, Library

BOOK = TitleBook(
    [
        ("travel", "Travel Policy"),
        ("abroad", "Travel Policy Abroad"),
        ("neighbours", "Neighbours (series)"),
        ("one", "The One"),
        ("year", "1984"),
        ("faq", "FAQ"),
        *((f"notes{number}", "Meeting Notes") for number in range(4)),
    ]
)


def names(text: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(named.surface, named.document_ids) for named in BOOK.find(text)]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("As the travel policy says.", [("travel policy", ("travel",))]),
        ("See Travel-Policy, then Travel  Policy.", [("Travel-Policy", ("travel",))]),
        ("The travel policy abroad differs.", [("travel policy abroad", ("abroad",))]),
        ("A role in the soap Neighbours made her known.", [("Neighbours", ("neighbours",))]),
        ("Neighbours complained. Neighbours moved.", []),
        ("The neighbours complained.", []),
        ("Only the one of 1984, as the FAQ says.", []),
        ("As our meeting notes say.", []),
        ("Travel. Policy", [("Travel. Policy", ("travel",))]),
        ("", []),
    ],
)
def test_what_names_a_document(text: str, named: list[tuple[str, tuple[str, ...]]]) -> None:
    assert names(text) == named


@given(st.text(st.sampled_from("Travel Policy abroad.\n "), max_size=60))
def test_what_is_found_stands_in_the_text(text: str) -> None:
    found = names(text)
    assert all(surface in text for surface, _ in found)
    assert len(found) == len(set(found))


def test_a_book_holds_what_its_reader_may_read(library: Library) -> None:
    library.add("bands", ["Bands."], title="Salary Bands", groups=["hr"])
    library.add("leave", ["Leave."], title="Leave Policy")
    books = TitleBooks(library.reader, 10)
    text = "Salary Bands and Leave Policy"

    def find(principal: Principal) -> list[str]:
        book = books.open(principal, None, None, library.reader.allowed_versions(principal))
        return [each for named in book.find(text) for each in named.document_ids]

    assert (find(ANNA), find(HANNA)) == (["leave"], ["bands", "leave"])
    library.writer.delete("acme", "leave")
    assert (find(ANNA), find(HANNA)) == ([], ["bands"])


def test_of_too_many_documents_no_title_is_known(library: Library) -> None:
    library.add("leave", ["Leave."], title="Leave Policy")
    versions = library.reader.allowed_versions(ANNA)
    assert len(TitleBooks(library.reader, 1).open(ANNA, None, None, versions)) == 1
    assert len(TitleBooks(library.reader, 0).open(ANNA, None, None, versions)) == 0


def test_only_titles_in_scope_are_known(library: Library) -> None:
    for name in ("Leave", "Travel"):
        library.add(name.lower(), [f"{name}."], title=f"{name} Policy")
    scope = Scope(documents=DocumentIds(document_ids=["leave"]))
    versions = library.reader.allowed_versions(ANNA, scope)
    book = TitleBooks(library.reader, 10).open(ANNA, scope, None, versions)
    assert [named.surface for named in book.find("Leave Policy, Travel Policy")] == ["Leave Policy"]
