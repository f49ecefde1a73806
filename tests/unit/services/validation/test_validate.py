"""Answers validated, with the real encoder."""

from __future__ import annotations

import os
import time
from datetime import timedelta

import pytest

from citemesh.models import load_encoder
from citemesh.models.errors import ModelError
from citemesh.models.paths import models_dir
from citemesh.v1.answer_pb2 import ListItem, ReleaseDecision, Verdict
from citemesh.v1.evidence_pb2 import PassageKind
from citemesh.v1.retrieval_pb2 import PassageStatus
from citemesh.v1.validation_pb2 import ValidateRequest, ValidateResponse
from services.validation.decision import decide_release
from services.validation.settings import ValidationSettings
from services.validation.support import is_quoted
from services.validation.validate import validate
from services.validation.verdicts import Encoder
from tests.unit.services.validation.builders import NOW, check, cite, claim, evidence, request

TEXT = "Employees receive 25 days of annual leave. Up to 5 days may be carried over into the next year."
QUESTION = "How many days of annual leave do employees receive?"


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    try:
        return load_encoder(models_dir(os.environ))
    except ModelError as error:
        pytest.skip(f"the encoder is not on this machine ({error})")


def run(sent: ValidateRequest, encoder: Encoder | None = None) -> ValidateResponse:
    return validate(sent, NOW, ValidationSettings(), encoder)


def verdicts(response: ValidateResponse) -> list[str]:
    return [Verdict.Name(each.verdict).removeprefix("VERDICT_") for each in response.verdicts]


def test_a_quote_is_supported_and_released_without_a_model() -> None:
    source = evidence(TEXT)
    quote = "Employees receive 25 days of annual leave."
    response = run(request(QUESTION, [claim(f"{quote} [1]", cite(source, quote))], [source]))
    assert verdicts(response) == ["SUPPORTED"]
    assert response.verdicts[0].support == 1.0
    assert response.decision == ReleaseDecision.RELEASE_DECISION_RELEASE
    assert response.complete


def test_each_unsound_citation_has_its_verdict() -> None:
    source = evidence(TEXT)
    good = cite(source, "Employees receive 25 days of annual leave.")
    cases = {}
    unknown = type(good)()
    unknown.CopyFrom(good)
    unknown.evidence_id = "E9"
    cases["CITATION_UNKNOWN"] = unknown
    shifted = type(good)()
    shifted.CopyFrom(good)
    shifted.start_offset += 1
    cases["QUOTE_NOT_FOUND"] = shifted
    older = type(good)()
    older.CopyFrom(good)
    older.document_version = 7
    cases["WRONG_VERSION"] = older
    for expected, citation in cases.items():
        assert verdicts(run(request(QUESTION, [claim(good.quote, citation)], [source]))) == [expected]
    assert verdicts(run(request(QUESTION, [claim(good.quote)], [source]))) == ["CITATION_MISSING"]


def test_text_that_has_changed_is_not_what_was_quoted() -> None:
    source = evidence(TEXT)
    citation = cite(source)
    citation.content_hash = "0" * 64
    assert verdicts(run(request(QUESTION, [claim(TEXT, citation)], [source]))) == ["QUOTE_NOT_FOUND"]
    sent = request(QUESTION, [claim(TEXT, cite(source))], [source])
    sent.checks[0].content_hash = "1" * 64
    assert verdicts(run(sent)) == ["QUOTE_NOT_FOUND"]


def test_access_that_was_lost_or_not_checked_drops_the_claim() -> None:
    source = evidence(TEXT)
    sent = request(QUESTION, [claim(TEXT, cite(source))], [source])
    sent.checks[0].status = PassageStatus.PASSAGE_STATUS_NOT_FOUND
    response = run(sent)
    assert verdicts(response) == ["NOT_AUTHORIZED"]
    assert response.decision == ReleaseDecision.RELEASE_DECISION_CORRECT
    del sent.checks[:]
    assert verdicts(run(sent)) == ["NOT_AUTHORIZED"]


def test_one_forbidden_citation_taints_a_claim_that_another_one_carries() -> None:
    open_one, closed = evidence(TEXT), evidence(TEXT, 2)
    sent = request(QUESTION, [claim(TEXT, cite(open_one), cite(closed))], [open_one, closed])
    sent.checks[1].CopyFrom(check(closed, PassageStatus.PASSAGE_STATUS_NOT_FOUND))
    response = run(sent)
    assert verdicts(response) == ["NOT_AUTHORIZED"]
    assert response.verdicts[0].citation_index == 1


def test_a_version_out_of_force_is_wrong_at_that_time_only() -> None:
    source = evidence(TEXT)
    source.effective_from_time.FromDatetime(NOW + timedelta(days=10))
    sent = request(QUESTION, [claim(TEXT, cite(source))], [source])
    assert verdicts(run(sent)) == ["WRONG_VERSION"]
    sent.as_of_time.FromDatetime(NOW + timedelta(days=20))
    assert verdicts(run(sent)) == ["SUPPORTED"]
    source.effective_to_time.FromDatetime(NOW + timedelta(days=15))
    ended = request(QUESTION, [claim(TEXT, cite(source))], [source])
    ended.as_of_time.FromDatetime(NOW + timedelta(days=20))
    assert verdicts(run(ended)) == ["WRONG_VERSION"]
    sent.checks[0].status = PassageStatus.PASSAGE_STATUS_NOT_IN_FORCE
    assert verdicts(run(sent)) == ["WRONG_VERSION"]


def test_paraphrases_contradictions_and_strangers(encoder: Encoder) -> None:
    source = evidence(TEXT)
    claims = [
        claim("Staff get 25 days of annual leave each year.", cite(source), number=1),
        claim("Employees receive 30 days of annual leave.", cite(source), number=2),
        claim("Employees do not receive 25 days of annual leave.", cite(source), number=3),
        claim("The canteen serves vegetarian food at lunch.", cite(source), number=4),
    ]
    response = run(request(QUESTION, claims, [source]), encoder)
    assert verdicts(response) == ["SUPPORTED", "CONTRADICTED", "CONTRADICTED", "UNSUPPORTED"]
    assert response.decision == ReleaseDecision.RELEASE_DECISION_CORRECT
    assert all(each.reason for each in response.verdicts)


def test_a_quote_that_has_nothing_to_do_with_the_question(encoder: Encoder) -> None:
    source = evidence("The canteen serves vegetarian food at lunch.", title="Canteen")
    response = run(request("How do I restart the pump?", [claim(source.text, cite(source))], [source]), encoder)
    assert verdicts(response) == ["UNSUPPORTED"]
    assert "question" in response.verdicts[0].reason
    table = evidence("Lunch | 12:00", kind=PassageKind.PASSAGE_KIND_TABLE, title="Hours")
    asked = request("How do I restart the pump?", [claim(table.text, cite(table))], [table])
    assert verdicts(run(asked, encoder)) == ["SUPPORTED"]


def test_label_smoothing_is_not_credited_to_another_row(encoder: Encoder) -> None:
    row = evidence("(E) positional embedding instead of sinusoids 4.92 25.7", label="table 3")
    wrong = claim("Label smoothing is varied in row (E) of Table 3.", cite(row))
    response = run(request("Where is the impact of label smoothing shown?", [wrong], [row]), encoder)
    assert verdicts(response) == ["UNSUPPORTED"]
    assert response.verdicts[0].support < ValidationSettings().min_support


def test_a_row_may_be_read_with_its_column_titles() -> None:
    table = evidence(
        "| Kind | Delay | Signal |\n|---|---|---|\n| Door | 3 min | amber |\n| Excursion | 15 min | red |",
        kind=PassageKind.PASSAGE_KIND_TABLE,
    )
    row = "| Excursion | 15 min | red |"
    good = claim("Kind: Excursion; Delay: 15 min; Signal: red", cite(table, row))
    bad = claim("Kind: Excursion; Delay: 3 min; Signal: red", cite(table, row), number=2)
    response = run(request("How long does each kind of alarm wait?", [good, bad], [table]))
    assert verdicts(response) == ["SUPPORTED", "CONTRADICTED"]


def test_a_printed_table_has_its_head_at_the_top() -> None:
    table = evidence(
        "Table 3: Variations of the model\n  N  width  BLEU\nbase  6  512  25.8\nbig  6  1024  26.4",
        kind=PassageKind.PASSAGE_KIND_TABLE,
        label="table 3",
    )
    row = claim("The big model has a width of 1024 and a BLEU of 26.4.", cite(table, "big  6  1024  26.4"))
    assert verdicts(run(request("How wide is the big model?", [row], [table]))) == ["SUPPORTED"]


def test_two_citations_may_carry_a_claim_together(encoder: Encoder) -> None:
    first = evidence("Employees receive 25 days of annual leave.")
    second = evidence("Managers receive 30 days of annual leave.", 2)
    both = claim("Employees receive 25 days and managers receive 30 days of annual leave.", cite(first), cite(second))
    assert verdicts(run(request(QUESTION, [both], [first, second]), encoder)) == ["SUPPORTED"]


def test_parts_and_items_without_support_make_an_answer_incomplete() -> None:
    source = evidence(TEXT)
    sent = request(QUESTION, [claim(TEXT, cite(source))], [source])
    sent.parsed_question.sub_questions.extend(["How many days?", "Who approves it?"])
    response = run(sent)
    assert not response.complete
    assert list(response.uncovered_sub_questions) == [1]
    listing = request("Which kinds of leave are there?", [claim(TEXT, cite(source))], [source])
    listing.answer.items.append(ListItem(text="annual leave", citations=[cite(source, "annual leave")]))
    listing.answer.expected_count = 2
    assert not run(listing).complete
    listing.answer.items.append(ListItem(text="annual", citations=[cite(source, "annual")]))
    assert run(listing).complete
    listing.answer.items[1].citations[0].start_offset = 0
    assert not run(listing).complete


S, U, N, W = (
    Verdict.VERDICT_SUPPORTED,
    Verdict.VERDICT_UNSUPPORTED,
    Verdict.VERDICT_NOT_AUTHORIZED,
    Verdict.VERDICT_WRONG_VERSION,
)


@pytest.mark.parametrize(
    ("found", "complete", "decision"),
    [
        ([S, S], True, ReleaseDecision.RELEASE_DECISION_RELEASE),
        ([S, U], True, ReleaseDecision.RELEASE_DECISION_CORRECT),
        ([S, N], True, ReleaseDecision.RELEASE_DECISION_CORRECT),
        ([U], True, ReleaseDecision.RELEASE_DECISION_WITHHOLD),
        ([U], False, ReleaseDecision.RELEASE_DECISION_CORRECT),
        ([N, W], True, ReleaseDecision.RELEASE_DECISION_CORRECT),
        ([], True, ReleaseDecision.RELEASE_DECISION_WITHHOLD),
        ([], False, ReleaseDecision.RELEASE_DECISION_RELEASE),
    ],
)
def test_decisions(found: list[Verdict.ValueType], complete: bool, decision: ReleaseDecision.ValueType) -> None:
    decided, reason = decide_release(found, claims_completeness=complete)
    assert ReleaseDecision.Name(decided) == ReleaseDecision.Name(decision)
    assert reason


def test_a_negated_quote_is_not_the_claim() -> None:
    assert is_quoted("employees may carry over leave", "Employees may carry over leave.")
    assert not is_quoted("employees may carry over leave", "It is not true that employees may carry over leave.")
    assert not is_quoted("", "Anything.")


def test_five_quoted_claims_take_a_few_milliseconds(encoder: Encoder) -> None:
    source = evidence(TEXT)
    sent = request(QUESTION, [claim(TEXT, cite(source), number=number) for number in range(1, 6)], [source])
    run(sent, encoder)
    start = time.thread_time()
    run(sent, encoder)
    assert time.thread_time() - start < 0.05
