"""Where something is shown, and what a sentence points to: tables in other passages join the answer."""

from __future__ import annotations

from citemesh.v1 import evidence_pb2, generation_pb2, question_pb2
from services.generation.extractive import answer_from_evidence
from services.generation.listing import read_expected_count
from services.generation.settings import GenerationSettings
from services.generation.token_match import TokenEncoder
from tests.unit.services.generation.builders import make_evidence, make_question, make_request

TABLE_7 = question_pb2.Reference(kind=question_pb2.REFERENCE_KIND_TABLE, label="table 7", surface="Table 7")
ALLOYS = "Three alloys are used in the frame: a light one, a stiff one and a cheap one."
TESTS = "How the choice of alloy changes the load that the frame bears was measured; see Table 7."
TABLE = "Table 7: Load borne by the frame, by alloy\nalloy  load in kN\nlight  4.1\nstiff  9.6\ncheap  5.2"


def make_frame_request(*, with_table: bool, question: str, **fields: object) -> generation_pb2.GenerateRequest:
    evidence = [
        make_evidence(ALLOYS, 1, document_id="frame"),
        make_evidence(TESTS, 2, document_id="frame", references=[TABLE_7]),
    ]
    if with_table:
        kind = evidence_pb2.PASSAGE_KIND_TABLE
        evidence.append(make_evidence(TABLE, 3, document_id="frame", label="table 7", kind=kind, hop_count=1))
    return make_request(make_question(question, **fields), *evidence)


def make_where_request(*, with_table: bool) -> generation_pb2.GenerateRequest:
    return make_frame_request(
        with_table=with_table,
        question="Which alloys does the frame use, and where do they show the load that it bears?",
        intent=question_pb2.INTENT_LISTING,
        sub_questions=["Which alloys does the frame use?", "Where do they show the load that the frame bears (alloy)?"],
        retrieval=question_pb2.RetrievalPlan(layout_hint=question_pb2.LAYOUT_HINT_TABLE),
    )


def test_a_table_that_is_only_pointed_to_is_pending_and_the_answer_incomplete(encoder: TokenEncoder) -> None:
    answer = answer_from_evidence(make_where_request(with_table=False), encoder, GenerationSettings())
    assert [reference.label for reference in answer.pending_references] == ["table 7"]
    assert not answer.complete_answer_found


def test_where_something_is_shown_is_answered_by_the_tables_caption(encoder: TokenEncoder) -> None:
    answer = answer_from_evidence(make_where_request(with_table=True), encoder, GenerationSettings())
    quotes = [citation.quote for claim in answer.claims for citation in claim.citations]
    assert any(quote.startswith("Table 7: Load borne by the frame") for quote in quotes)
    assert not answer.pending_references
    assert answer.complete_answer_found


def test_the_rows_that_a_picked_sentence_points_to_are_quoted(encoder: TokenEncoder) -> None:
    request = make_frame_request(with_table=True, question="How does the choice of alloy change the load of the frame?")
    answer = answer_from_evidence(request, encoder, GenerationSettings())
    quotes = [citation.quote for claim in answer.claims for citation in claim.citations]
    assert TESTS in quotes
    assert set(quotes) & set(TABLE.splitlines()[2:])


def test_an_item_of_two_parts_is_claimed_once(encoder: TokenEncoder) -> None:
    text = "The lamp has two modes:\n- Steady: it burns all night.\n- Blinking: it saves the battery."
    question = make_question(
        "Which modes does the lamp have, and which mode saves the battery?",
        intent=question_pb2.INTENT_LISTING,
        answer_type=question_pb2.ANSWER_TYPE_LIST,
        sub_questions=["Which modes does the lamp have?", "Which mode saves the battery?"],
    )
    answer = answer_from_evidence(
        make_request(question, make_evidence(text, kind=evidence_pb2.PASSAGE_KIND_LIST)), encoder, GenerationSettings()
    )
    claimed = [claim.text for claim in answer.claims]
    assert sum("saves the battery" in text for text in claimed) == 1


def test_what_above_that_amount_stands_for_is_quoted_with_it(encoder: TokenEncoder) -> None:
    text = (
        "Managers may book trips of up to EUR 2,000 without approval. "
        "Above that amount the approval of the head of department is needed for managers."
    )
    answer = answer_from_evidence(
        make_request("When does a manager need approval of the head of department?", text),
        encoder,
        GenerationSettings(),
    )
    assert "EUR 2,000" in answer.text


def test_a_section_number_announces_nothing() -> None:
    assert read_expected_count("5.4 Regularization methods. We use three kinds of loss:") == 3
    assert read_expected_count("§ 4 Terms and conditions") is None
