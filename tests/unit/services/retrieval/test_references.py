from __future__ import annotations

import pytest

from citemesh.auth.principal import Principal
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import errors_pb2, question_pb2
from citemesh.v1.retrieval_pb2 import FollowReferencesRequest, FollowReferencesResponse
from services.retrieval.references import ReferenceFollower
from tests.unit.services.retrieval.library import ANNA, HANNA, Library, make_passage, make_section, refer


def follow(
    library: Library,
    *references: question_pb2.Reference,
    origins: tuple[str, ...] = (),
    principal: Principal = ANNA,
    hops: int = 1,
    limit: int = 0,
) -> FollowReferencesResponse:
    request = FollowReferencesRequest(
        references=references, from_passage_ids=origins, max_hops=hops, max_passages=limit
    )
    return ReferenceFollower(library.reader, 12).follow(request, principal)


def texts(response: FollowReferencesResponse) -> list[str]:
    return [candidate.passage.text for candidate in response.candidates]


@pytest.fixture
def manual(library: Library) -> Library:
    """Two manuals with the same labels; the first one's text refers on, in a circle."""
    sections = [make_section("s1", "Use", number="1"), make_section("s2", "Limits", number="2")]
    library.add(
        "manual",
        [
            make_passage("Use it as Table 3 says.", section="s1", references=[refer("table 3")]),
            make_passage("Sizes; see Section 2.", section="s1", label="Table 3", references=[refer("section 2")]),
            make_passage("Limits; see Table 3.", section="s2", references=[refer("table 3"), refer("section 1")]),
        ],
        sections=sections,
        title="Pump Manual",
    )
    library.add("other", [make_passage("Sizes of others.", label="table 3")], title="Valve Manual")
    return library


def test_the_same_document_comes_first(manual: Library) -> None:
    response = follow(manual, refer("table 3"), origins=("manual@1#0",))
    assert texts(response) == ["Sizes; see Section 2."]
    (candidate,) = response.candidates
    assert candidate.hop_count == 1
    assert list(candidate.hop_passage_ids) == ["manual@1#0"]
    assert candidate.reached_by.label == "table 3"
    assert not response.unresolved_references


def test_a_reference_may_name_its_document(manual: Library) -> None:
    for name in ("other", "Valve Manual"):
        response = follow(manual, refer("table 3", document_id=name), origins=("manual@1#0",))
        assert texts(response) == ["Sizes of others."]


def test_without_an_origin_every_place_is_returned(manual: Library) -> None:
    assert set(texts(follow(manual, refer("table 3")))) == {"Sizes; see Section 2.", "Sizes of others."}


def test_circles_end(manual: Library) -> None:
    response = follow(manual, refer("table 3"), origins=("manual@1#0",), hops=3)
    assert texts(response) == ["Sizes; see Section 2.", "Limits; see Table 3."]
    assert [candidate.hop_count for candidate in response.candidates] == [1, 2]
    assert list(response.candidates[1].hop_passage_ids) == ["manual@1#0", "manual@1#1"]


def test_what_names_no_place_is_said(manual: Library) -> None:
    response = follow(manual, refer("figure 9"), refer("table 3"), origins=("manual@1#0",))
    assert [reference.label for reference in response.unresolved_references] == ["figure 9"]
    assert len(response.candidates) == 1


def test_a_place_is_found_by_its_caption_too(library: Library) -> None:
    library.add("scan", ["As in Table 2.", "Table 2: Prices of tea.", "Table 2 shows prices."])
    assert texts(follow(library, refer("table 2"), origins=("scan@1#0",))) == ["Table 2: Prices of tea."]


def test_a_distinct_number_is_found_in_another_document(library: Library) -> None:
    library.add("part1", ["As § 1003.2 says."])
    library.add(
        "part2", [make_passage("Definitions.", section="s")], sections=[make_section("s", "D", number="1003.2")]
    )
    assert texts(follow(library, refer("section 1003.2"), origins=("part1@1#0",))) == ["Definitions."]
    assert texts(follow(library, refer("section 1003.2(a)(1)"), origins=("part1@1#0",))) == ["Definitions."]


def test_a_document_is_reached_by_its_title(manual: Library) -> None:
    reference = refer("document valve-manual", surface="the valve manual")
    assert texts(follow(manual, reference, origins=("manual@1#0",))) == ["Sizes of others."]


def test_without_references_those_of_the_passages_are_followed(manual: Library) -> None:
    manual.add("guide", [make_passage("As Table 3 of the valve manual.", references=[refer("section 9")])])
    response = follow(manual, origins=("guide@1#0", "manual@1#0"))
    assert texts(response) == ["Sizes of others.", "Sizes; see Section 2."]
    named, label = response.candidates
    assert named.reached_by.kind == question_pb2.REFERENCE_KIND_DOCUMENT
    assert (named.reached_by.surface, named.reached_by.document_id) == ("valve manual", "other")
    assert list(named.hop_passage_ids) == ["guide@1#0"]
    assert label.reached_by.label == "table 3"
    assert [reference.label for reference in response.unresolved_references] == ["section 9"]


def test_a_document_named_by_title_is_not_reached_without_access(library: Library) -> None:
    library.add("open", ["As the Salary Bands say."])
    library.add("bands", ["Secret."], title="Salary Bands", groups=["hr"])
    closed = follow(library, origins=("open@1#0",))
    assert not closed.candidates
    assert not closed.unresolved_references
    assert texts(follow(library, origins=("open@1#0",), principal=HANNA)) == ["Secret."]


def test_a_document_does_not_name_itself(library: Library) -> None:
    library.add("leave", ["This Leave Policy holds from May."], title="Leave Policy")
    assert not follow(library, origins=("leave@1#0",)).candidates


def test_access_holds_at_every_hop(library: Library) -> None:
    library.add("open", [make_passage("See § 77.1.", references=[refer("section 77.10.1")])])
    library.add(
        "closed",
        [make_passage("Secret.", section="s")],
        sections=[make_section("s", "S", number="77.10.1")],
        groups=["hr"],
    )
    outside = follow(library, refer("section 77.10.1"), origins=("open@1#0",))
    assert texts(outside) == []
    assert len(outside.unresolved_references) == 1
    assert texts(follow(library, refer("section 77.10.1"), origins=("open@1#0",), principal=HANNA)) == ["Secret."]


def test_the_number_of_passages_is_bounded(library: Library) -> None:
    many = [make_passage(f"Line {number}.", section="s") for number in range(30)]
    library.add("long", many, sections=[make_section("s", "S", number="4")])
    assert len(follow(library, refer("section 4"), limit=5).candidates) == 5


def test_wrong_requests_are_refused(library: Library) -> None:
    for request in (
        FollowReferencesRequest(),
        FollowReferencesRequest(references=[refer("table 1")], max_hops=9),
        FollowReferencesRequest(references=[refer("table 1")] * 21),
        FollowReferencesRequest(references=[question_pb2.Reference()]),
    ):
        with pytest.raises(ServiceError) as raised:
            ReferenceFollower(library.reader, 12).follow(request, ANNA)
        assert raised.value.reason == errors_pb2.ERROR_REASON_INVALID_FIELD
