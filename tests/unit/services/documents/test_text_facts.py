"""Sentences, fingerprints, references, language, headers: the small pure modules."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from citemesh.files.ids import derive_id
from citemesh.rpc.errors import ServiceError
from citemesh.v1.document_pb2 import AccessPolicy, AllowedPrincipals, ParsingStrategy
from citemesh.v1.documents_pb2 import IngestHeader
from citemesh.v1.evidence_pb2 import Passage
from services.documents.encoding import text_to_encode
from services.documents.fingerprints import simhash
from services.documents.headers import check_header, title_from_name
from services.documents.language import tell_language
from services.documents.parsing.blocks import Block, BlockKind, Line, Page, ParsedDocument
from services.documents.profile import make_profile
from services.documents.references import find_label, find_references
from services.documents.sentences import split_sentences


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("It burns. It smokes! Does it?", 3),
        ("See Fig. 3 and Eq. 4. Then stop.", 2),
        ("Dr. Ada Smith et al. found 3.5 days. J. Bo did not.", 2),
        ("Use e.g. a rope. End", 2),
        ("He said “stop.” Then he left.", 2),
        ("One\n\nTwo", 2),
        ("灯は夜に燃える。朝に消える。", 2),
        ("", 0),
    ],
)
def test_sentences_end_where_a_reader_says(text: str, count: int) -> None:
    assert len(sentences(text)) == count


@given(st.text("ab .!?\n(A)1-", max_size=200))
def test_sentences_hold_all_the_text_in_order(text: str) -> None:
    spans = split_sentences(text)
    assert "".join("".join(text[a:b].split()) for a, b in spans) == "".join(text.split())
    assert all(a < b for a, b in spans)
    assert spans == sorted(spans)


def test_near_duplicates_share_most_bits() -> None:
    base = "The keeper shall write down each reading on the day it is made and send the list to the office each month"
    near = base.replace("each month", "every month")
    other = "A vessel that comes to the harbour pays its dues before any of the cargo is brought to land by the crew"
    assert (simhash(base) ^ simhash(near)).bit_count() < 16 < (simhash(base) ^ simhash(other)).bit_count()
    assert simhash(" - ") == 0


def labels(text: str, known_section: Callable[[str], str] = lambda number: number) -> list[str]:
    return [reference.label for reference in find_references(text, known_section=known_section)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("as Table 3 and Figures 2 and 4 show", ["table 3", "figure 2", "figure 4"]),
        ("described on the bottom line of table 3", ["table 3"]),
        ("see Section 3.2.2 (and Appendix B)", ["section 3.2.2", "appendix b"]),
        ("Fig. 7 repeats Figure 7", ["figure 7"]),
        ("Equation (3) and Algorithm 1", ["equation 3", "algorithm 1"]),
        ("Example 3-9 and Table 2-1", ["example 3-9", "table 2-1"]),
        ("a table of 3 legs in section A", []),
    ],
)
def test_mentions_are_found_in_canonical_form(text: str, expected: list[str]) -> None:
    assert sorted(labels(text)) == sorted(expected)


def test_only_the_documents_own_sections_are_references() -> None:
    known = {"5.4", "1003.2(g)"}

    def nearest(number: str) -> str:
        while number and number not in known:
            number = number.rpartition("(")[0]
        return number

    assert labels("section 5.4 and Section 22 of the Journal", known_section=nearest) == ["section 5.4"]
    found = find_references("as in § 1003.2(g)(1)", known_section=nearest)
    assert [reference.surface for reference in found] == ["§ 1003.2(g)(1)"]


def test_a_link_to_another_document_is_a_reference() -> None:
    found = find_references("see [limits](../dev-guide/limit.md#size) and [web](https://x.org/a.html)")
    assert [(reference.document_id, reference.surface) for reference in found] == [("limit", "limits")]


@pytest.mark.parametrize(
    ("caption", "label"),
    [("Table 3: Wicks", "table 3"), ("Tableau 2. Mèches", "table 2"), ("Fig. 4 Rock", "figure 4"), ("No label", "")],
)
def test_captions_give_labels(caption: str, label: str) -> None:
    assert find_label(caption) == label


def test_the_profile_knows_scans_and_language() -> None:
    text = "Les gardiens allument la lampe au coucher du soleil et la surveillent toute la nuit. " * 3
    pages = [Page(1, 600, 800, 200), Page(2, 600, 800, 0, 1.0), Page(3, 600, 800, 3, 0.9)]
    profile = make_profile(
        ParsedDocument("pdf", pages=pages, blocks=[Block(BlockKind.PARAGRAPH, [Line(text, 1)])]),
        has_usable_toc=False,
        toc_entry_count=0,
    )
    assert profile.likely_scanned
    assert list(profile.pages_without_text) == [2, 3]
    assert profile.language == "fr"
    assert profile.suggested_strategy == ParsingStrategy.PARSING_STRATEGY_OCR


def test_empty_pages_without_pictures_are_no_scan() -> None:
    profile = make_profile(
        ParsedDocument("pdf", pages=[Page(1, 600, 800, 0), Page(2, 600, 800, 0)]),
        has_usable_toc=False,
        toc_entry_count=0,
    )
    assert not profile.likely_scanned
    assert profile.language == "und"


@pytest.mark.parametrize(
    ("name", "document_id"),
    [
        ("Travel policy (2025).pdf", "Travel-policy-2025"),
        ("Décret.md", "Decret"),
        ("規則.pdf", "document-898f-5247"),
        (".env", "env"),
    ],
)
def test_ids_are_derived_from_names(name: str, document_id: str) -> None:
    assert derive_id(name) == document_id
    assert check_header(IngestHeader(file_name=name)).document_id == document_id


def test_titles_are_derived_from_names() -> None:
    assert title_from_name("travel_policy-2025.pdf") == "travel policy 2025"


def test_all_that_is_wrong_with_a_header_is_said_at_once() -> None:
    header = IngestHeader(
        document_id="no spaces",
        title="x" * 400,
        effective_from_time=Timestamp(seconds=20),
        effective_to_time=Timestamp(seconds=10),
        access=AccessPolicy(),
    )
    with pytest.raises(ServiceError) as refused:
        check_header(header)
    assert [field for field, _ in refused.value.field_violations] == [
        "header.file_name",
        "header.document_id",
        "header.title",
        "header.effective_to_time",
        "header.access",
    ]


def test_a_set_of_nobody_is_a_policy() -> None:
    header = IngestHeader(file_name="a.txt", access=AccessPolicy(only=AllowedPrincipals()))
    assert check_header(header).access.WhichOneof("access") == "only"


def test_folders_in_a_file_name_are_dropped() -> None:
    assert check_header(IngestHeader(file_name="../../etc/passwd")).file_name == "passwd"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The lamp shall burn from the setting of the sun until it is day, and the keeper is to watch it.", "en"),
        ("Les gardiens allument la lampe au coucher du soleil et la surveillent pour les navires.", "fr"),
        ("Der Wärter zündet die Lampe an und geht nicht fort, bis es Tag ist und kein Schiff mehr kommt.", "de"),
        (
            "灯台の灯は日没から日の出まで燃えるものとし、守は毎晩それを見守り、毎朝その記録を帳面に書き留めなければならない。",
            "ja",
        ),
        ("Strážce rozsvěcuje lampu při západu slunce a hlídá ji celou noc, dokud nepřijde den a lodě neodplují.", "cs"),
        ("12 34 56", "und"),
    ],
)
def test_languages_are_told(text: str, language: str) -> None:
    assert tell_language(text) == language


def test_what_is_encoded_names_the_section_once_and_has_no_markup() -> None:
    later = Passage(
        text="It [burns](http://x.org/y) **all** night.", section_path=["Rules", "1 Lamp"], title="Handbook"
    )
    assert text_to_encode(later) == "1 Lamp\nIt burns all night."
    first = Passage(text="1 Lamp\nIt burns.", section_path=["Rules", "1 Lamp"])
    assert text_to_encode(first) == "1 Lamp\nIt burns."
    part = Passage(text="- rope", heading_context="Bring:", section_path=["2 Tools"])
    assert text_to_encode(part) == "2 Tools\nBring:\n- rope"
