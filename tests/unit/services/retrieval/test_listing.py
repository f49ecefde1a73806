from __future__ import annotations

from collections.abc import Sequence

import pytest

from citemesh.rpc.errors import ServiceError
from citemesh.v1 import errors_pb2, evidence_pb2, retrieval_pb2
from citemesh.v1.retrieval_pb2 import ListItemsRequest, ListItemsResponse
from services.retrieval.listing import Lister
from tests.unit.services.retrieval.library import ANNA, Library, make_passage, make_section

LIST = evidence_pb2.PASSAGE_KIND_LIST


def list_items(
    library: Library,
    question: str,
    anchors: Sequence[str],
    *,
    scope: retrieval_pb2.ListingScope.ValueType = retrieval_pb2.LISTING_SCOPE_SECTION,
    requested: int | None = None,
) -> ListItemsResponse:
    request = ListItemsRequest(
        question=question, anchor_passage_ids=anchors, listing_scope=scope, requested_count=requested
    )
    response = Lister(library.reader).list_items(request, ANNA)
    # Whatever is returned stands in the passage at its offsets.
    versions = library.reader.allowed_versions(ANNA)
    passages = library.reader.passages_by_id([item.passage_id for item in response.items], versions)
    for item in response.items:
        assert passages[item.passage_id].text[item.start_offset : item.end_offset] == item.text
    if response.announcement:
        holder = library.reader.passages_by_id([response.announcement_passage_id], versions)
        assert response.announcement in holder[response.announcement_passage_id].text
    return response


def texts(response: ListItemsResponse) -> list[str]:
    return [item.text for item in response.items]


def test_a_list_with_its_count(library: Library) -> None:
    library.add("kit", ["Approval has three steps:\n1. Ask.\n2. Wait.\n3. Go."])
    response = list_items(library, "What are the steps of approval?", ["kit@1#0"])
    assert texts(response) == ["Ask.", "Wait.", "Go."]
    assert response.expected_count == 3
    assert response.announcement == "Approval has three steps:"
    assert response.status == retrieval_pb2.LISTING_STATUS_COMPLETE
    assert [candidate.passage.passage_id for candidate in response.candidates] == ["kit@1#0"]


def test_things_that_differ_by_signs_alone_are_several(library: Library) -> None:
    library.add("kit", ["The compiler supports three languages:\n- C\n- C++\n- C#"])
    response = list_items(library, "Which languages does the compiler support?", ["kit@1#0"])
    assert texts(response) == ["C", "C++", "C#"]


def test_named_paragraphs_over_passages_and_pages(library: Library) -> None:
    sections = [make_section("s4", "Regularization", number="5.4")]
    path = ["Training", "Regularization"]
    library.add(
        "paper",
        [
            make_passage("5.4 Regularization\nWe employ two types of regularization:", section="s4", path=path),
            make_passage(
                "Residual Dropout We apply dropout to each sub-layer.", section="s4", path=path, kind=LIST,
                context="We employ two types of regularization:",
            ),
            make_passage(
                "Label Smoothing During training, we smooth the labels.", section="s4", path=path, kind=LIST,
                context="We employ two types of regularization:",
            ),
        ],
        sections=sections,
    )  # fmt: skip
    response = list_items(library, "Which regularization techniques are used?", ["paper@1#1"])
    assert [text.split(" We ")[0].split(" During ")[0] for text in texts(response)] == [
        "Residual Dropout",
        "Label Smoothing",
    ]
    assert response.expected_count == 2
    assert response.status == retrieval_pb2.LISTING_STATUS_COMPLETE
    assert response.announcement_passage_id == "paper@1#0"
    assert len(response.candidates) == 3


def test_an_addition_is_an_item_where_one_is_missing(library: Library) -> None:
    text = "We use three guards:\nDoor Guard We lock it. In addition, we watch it.\nRoof Guard People stand there."
    library.add("guards", [text])
    response = list_items(library, "Which guards are used?", ["guards@1#0"])
    assert texts(response) == [
        "Door Guard We lock it.",
        "In addition, we watch it.",
        "Roof Guard People stand there.",
    ]
    assert response.status == retrieval_pb2.LISTING_STATUS_COMPLETE


def test_a_list_that_goes_on_in_the_next_passage(library: Library) -> None:
    intro = "The office has five rules:"
    library.add(
        "office",
        [
            make_passage(f"{intro}\n1. Knock.\n2. Greet.\n3. Sit.", kind=LIST, section="s"),
            make_passage("4. Speak.\n5. Leave.", kind=LIST, section="s", context=intro),
        ],
        sections=[make_section("s", "Rules")],
    )
    response = list_items(library, "What are the rules of the office?", ["office@1#1"])
    assert texts(response) == ["Knock.", "Greet.", "Sit.", "Speak.", "Leave."]
    assert response.status == retrieval_pb2.LISTING_STATUS_COMPLETE


def test_sections_side_by_side_are_items(library: Library) -> None:
    sections = [
        make_section("p", "Phases", number="2"),
        make_section("a", "Planning", number="2.1", parent="p"),
        make_section("b", "Building", number="2.2", parent="p"),
    ]
    library.add(
        "plan",
        [
            make_passage("2 Phases\nThe project has two phases.", section="p", path=["Phases"]),
            make_passage("2.1 Planning\nPeople sit together.", section="a", path=["Phases", "Planning"]),
            make_passage("2.2 Building\nPeople work together.", section="b", path=["Phases", "Building"]),
        ],
        sections=sections,
    )
    response = list_items(library, "Which phases does the project have?", ["plan@1#0"])
    assert texts(response) == ["Planning", "Building"]


def test_rows_and_inline_lists(library: Library) -> None:
    table = "Table 1: Fees\n| kind | fee |\n|---|---|\n| child | 2 |\n| adult | 4 |"
    library.add("fees", [make_passage(table, kind=evidence_pb2.PASSAGE_KIND_TABLE)])
    assert texts(list_items(library, "List the fees by kind", ["fees@1#0"])) == ["| child | 2 |", "| adult | 4 |"]
    library.add("zoo", ["The zoo has three kinds of houses: cages, pools and halls. It is old."])
    response = list_items(library, "Which kinds of houses does the zoo have?", ["zoo@1#0"])
    assert texts(response) == ["cages", "pools", "halls"]


def test_sentences_that_enumerate(library: Library) -> None:
    library.add("pump", ["The pump is blue. Oil, clean water and thin syrup are pumped. It weighs 4 kg."])
    assert texts(list_items(library, "Which liquids are pumped?", ["pump@1#0"])) == ["Oil", "clean water", "thin syrup"]
    library.add("door", ["The door accepts cards, round keys and tokens."])
    assert texts(list_items(library, "What does the door accept?", ["door@1#0"])) == ["cards", "round keys", "tokens"]


def test_what_announces_the_things_asked_for_wins_over_words_here_and_there(library: Library) -> None:
    table = "The following table sums up the relief valves.\n| valve | bar |\n|---|---|\n| R1 | 2 |\n| R2 | 3 |"
    library.add(
        "valves",
        [
            "A closed valve in a release means:\n- The valve may leak in a release.\n- The valve stays shut.",
            make_passage(table, kind=evidence_pb2.PASSAGE_KIND_TABLE),
        ],
    )
    response = list_items(library, "Which relief valves can I open in this release?", ["valves@1#0", "valves@1#1"])
    assert texts(response) == ["| R1 | 2 |", "| R2 | 3 |"]


def test_an_item_that_is_printed_twice_is_one(library: Library) -> None:
    library.add("twice", ["Kinds of rope:\n- hemp\n- silk\n- Hemp."])
    assert texts(list_items(library, "Which kinds of rope are there?", ["twice@1#0"])) == ["hemp", "silk"]


def test_lists_of_several_documents_that_are_announced_alike_are_one(library: Library) -> None:
    library.add("north", ["Harbours served:\n- Ord\n- Vik"])
    library.add("south", ["Harbours served:\n- Vik\n- Sund"])
    library.add("east", ["Ships in use:\n- Alma\n- Bera"])
    anchors = ["north@1#0", "south@1#0", "east@1#0"]
    question = "Which harbours are served?"
    wide = list_items(library, question, anchors, scope=retrieval_pb2.LISTING_SCOPE_DOCUMENT)
    assert texts(wide) == ["Ord", "Vik", "Sund"]
    assert {item.passage_id for item in wide.items} == {"north@1#0", "south@1#0"}
    assert texts(list_items(library, question, anchors)) == ["Ord", "Vik"]


def test_too_few_and_too_many_are_said(library: Library) -> None:
    library.add("short", ["There are four reasons for rest:\n- sleep\n- food"])
    response = list_items(library, "What reasons for rest are there?", ["short@1#0"])
    assert response.status == retrieval_pb2.LISTING_STATUS_SHORT
    library.add("free", ["Reasons for play:\n- joy\n- health\n- friends"])
    response = list_items(library, "Name two reasons for play", ["free@1#0"], requested=2)
    assert response.status == retrieval_pb2.LISTING_STATUS_OVER
    assert response.expected_count == 2


def test_the_scope_decides_how_far_to_look(library: Library) -> None:
    sections = [make_section("a", "Tea", number="1"), make_section("b", "Kinds", number="2")]
    library.add(
        "drinks",
        [
            make_passage("Tea is a drink.", section="a", path=["Tea"]),
            make_passage("Kinds of tea:\n- green\n- black", section="b", path=["Kinds"]),
        ],
        sections=sections,
    )
    question = "Which kinds of tea are there?"
    assert texts(list_items(library, question, ["drinks@1#0"])) == []
    wide = list_items(library, question, ["drinks@1#0"], scope=retrieval_pb2.LISTING_SCOPE_DOCUMENT)
    assert texts(wide) == ["green", "black"]


def test_of_two_lists_the_one_asked_for_is_chosen(library: Library) -> None:
    library.add(
        "house",
        ["Duties of tenants:\n- pay\n- clean", "Duties of owners:\n- mend\n- heat\n- insure"],
    )
    anchors = ["house@1#0", "house@1#1"]
    assert texts(list_items(library, "What are the duties of owners?", anchors)) == ["mend", "heat", "insure"]
    assert texts(list_items(library, "What are the duties of tenants?", anchors)) == ["pay", "clean"]


def test_what_may_not_be_read_is_not_listed(library: Library) -> None:
    library.add("pay", ["Kinds of pay:\n- high\n- low"], groups=["hr"])
    response = list_items(library, "Which kinds of pay are there?", ["pay@1#0"])
    assert not response.items
    assert not response.candidates


def test_anchors_are_needed(library: Library) -> None:
    with pytest.raises(ServiceError) as raised:
        Lister(library.reader).list_items(ListItemsRequest(question="x"), ANNA)
    assert raised.value.reason == errors_pb2.ERROR_REASON_INVALID_FIELD
