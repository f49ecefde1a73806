"""The yardstick judges by what callers see, and its own arithmetic holds."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest

from citemesh.evaluation.judge import judge_answer
from citemesh.evaluation.question_set import Question, QuestionSetError, read_question_set
from citemesh.evaluation.report import summarize, summarize_by
from citemesh.v1 import answer_pb2, dispatcher_pb2, evidence_pb2

NOW = datetime.datetime(2026, 6, 1, tzinfo=datetime.UTC)
QUOTE = "Vouchers are handed in within five business days of the return."


def write_set(folder: Path, **changes: object) -> Path:
    """A set of one question over one policy in two versions, the newer one for group `hr` only."""
    for name in ("old.md", "new.md"):
        (folder / name).write_text(QUOTE, encoding="utf-8")
    (folder / "qa").mkdir()
    ingest = [
        {"path": "old.md", "document_id": "policy", "effective_from": "2024-01-01", "effective_to": "2026-01-01"},
        {"path": "new.md", "document_id": "policy", "effective_from": "2026-01-01", "allow": ["hr"]},
    ]
    (folder / "qa" / "sets.json").write_text(json.dumps({"travel": {"ingest": ingest}}), encoding="utf-8")
    row = {
        "id": "travel-01",
        "set": "travel",
        "type": "number",
        "question": "When are vouchers due?",
        "expect": "ANSWERED",
        "principal": {"user": "ada", "groups": ["hr"]},
        "gold": [{"path": "new.md", "quote": QUOTE}],
        "must_contain": [["5 business days", "five business days"]],
    } | changes
    path = folder / "qa" / "travel.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return path


def make_response(text: str = QUOTE, start: str = "2026-01-01") -> dispatcher_pb2.AnswerResponse:
    response = dispatcher_pb2.AnswerResponse(outcome=answer_pb2.ANSWER_OUTCOME_ANSWERED)
    response.answer.text = text
    claim = response.answer.claims.add(claim_id="C1", text=text)
    claim.citations.add(evidence_id="E1", quote=text)
    evidence = response.evidence.add(evidence_id="E1", document_id="policy", text=QUOTE)
    evidence.effective_from_time.FromDatetime(datetime.datetime.fromisoformat(start))
    return response


def read_one(path: Path) -> Question:
    return read_question_set(path)[0]


def test_a_good_answer_is_right(tmp_path: Path) -> None:
    judgement = judge_answer(read_one(write_set(tmp_path)), make_response(), 0.2, NOW)
    assert judgement.right
    assert judgement.gold_cited
    assert judgement.gold_quoted
    assert not judgement.leaks


def test_a_missing_required_string_is_wrong(tmp_path: Path) -> None:
    judgement = judge_answer(read_one(write_set(tmp_path)), make_response("Vouchers are handed in."), 0.2, NOW)
    assert judgement.outcome_right
    assert not judgement.right


def test_a_forbidden_string_is_wrong_even_where_nothing_is_required(tmp_path: Path) -> None:
    question = read_one(
        write_set(tmp_path, expect="ABSTAINED_INSUFFICIENT_EVIDENCE", must_not_contain=[["five"]], type="access")
    )
    assert not judge_answer(question, make_response(), 0.2, NOW).right


def test_superseded_evidence_is_a_leak_now_and_none_as_of_then(tmp_path: Path) -> None:
    question = read_one(write_set(tmp_path))
    assert judge_answer(question, make_response(start="2024-01-01"), 0.2, NOW).leaks
    then = datetime.datetime(2025, 3, 1, tzinfo=datetime.UTC)
    assert not judge_answer(question, make_response(start="2024-01-01"), 0.2, then).leaks


def test_evidence_for_others_is_a_leak(tmp_path: Path) -> None:
    question = read_one(write_set(tmp_path, principal={"user": "bob", "groups": ["staff"]}))
    assert judge_answer(question, make_response(), 0.2, NOW).leaks


def test_to_an_outsider_refusing_and_abstaining_are_equal(tmp_path: Path) -> None:
    question = read_one(write_set(tmp_path, expect="NOT_AUTHORIZED", type="access", must_contain=[], gold=[]))
    for name in ("NOT_AUTHORIZED", "ABSTAINED_INSUFFICIENT_EVIDENCE"):
        outcome = answer_pb2.AnswerOutcome.Value(f"ANSWER_OUTCOME_{name}")
        assert judge_answer(question, dispatcher_pb2.AnswerResponse(outcome=outcome), 0.1, NOW).right


def test_all_gold_is_needed_unless_any_suffices(tmp_path: Path) -> None:
    gold = [{"path": "new.md", "quote": QUOTE}, {"path": "new.md", "quote": "Another sentence that nobody cites."}]
    both = read_one(write_set(tmp_path, gold=gold))
    assert judge_answer(both, make_response(), 0.1, NOW).gold_cited is False
    (tmp_path / "other").mkdir()
    either = read_one(write_set(tmp_path / "other", gold=gold, any=True))
    assert judge_answer(either, make_response(), 0.1, NOW).gold_cited is True


def test_questions_over_the_same_files_share_a_store(tmp_path: Path) -> None:
    path = write_set(tmp_path)
    row = json.loads(path.read_text(encoding="utf-8"))
    own = row | {"id": "travel-02", "ingest": [{"path": "old.md", "document_id": "policy"}]}
    path.write_text("\n".join(json.dumps(r) for r in (row, row | {"id": "travel-03"}, own)), encoding="utf-8")
    first, second, third = (q.store_key for q in read_question_set(path))
    assert first == second
    assert first != third


def test_a_broken_row_is_named(tmp_path: Path) -> None:
    path = write_set(tmp_path)
    path.write_text(path.read_text(encoding="utf-8") + '{"id": "travel-02"}\n', encoding="utf-8")
    with pytest.raises(QuestionSetError, match="line 2"):
        read_question_set(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    path = write_set(tmp_path)
    (tmp_path / "old.md").unlink()
    with pytest.raises(QuestionSetError, match=r"old\.md"):
        read_question_set(path)


def test_summaries_count_each_measure_over_its_own_rows(tmp_path: Path) -> None:
    question = read_one(write_set(tmp_path))
    good = judge_answer(question, make_response(), 0.2, NOW)
    bad = judge_answer(question, dispatcher_pb2.AnswerResponse(), 0.4, NOW)
    summary = summarize([good, bad])
    assert summary["right"] == 0.5
    assert summary["gold_cited"] == 0.5
    assert summary["count_right"] is None
    assert summary["duration_p50_s"] == pytest.approx(0.3)
    assert set(summarize_by([good, bad], lambda j: j.question.kind)) == {"number"}


def test_evidence_that_is_not_cited_does_not_count(tmp_path: Path) -> None:
    response = make_response()
    response.evidence.append(evidence_pb2.Evidence(evidence_id="E2", document_id="policy", text="other"))
    response.answer.claims[0].citations[0].evidence_id = "E2"
    assert judge_answer(read_one(write_set(tmp_path)), response, 0.1, NOW).gold_cited is False
