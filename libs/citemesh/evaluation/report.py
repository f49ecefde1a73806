"""Sums judgements up: rates per set and per type, as plain numbers."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from citemesh.evaluation.judge import ANSWERED, Judgement


def summarize(judgements: Sequence[Judgement]) -> dict[str, Any]:
    """Rates over the rows that each measure applies to (0 to 1, None where to none), and times in seconds."""
    answerable = [j for j in judgements if j.question.gold and j.question.expected_outcome == ANSWERED]
    # The rows on which a plain retrieve-and-quote baseline can be run: one turn, the set's own files, an answer.
    single = [j for j in answerable if not j.question.own_files and not j.question.history]
    return {
        "question_count": len(judgements),
        "right": _rate(judgements, lambda j: j.right),
        "outcome_right": _rate(judgements, lambda j: j.outcome_right),
        "gold_cited": _rate(answerable, lambda j: bool(j.gold_cited)),
        "gold_quoted": _rate(answerable, lambda j: bool(j.gold_quoted)),
        "count_right": _rate([j for j in judgements if j.count_right is not None], lambda j: bool(j.count_right)),
        "single_turn_count": len(single),
        "single_turn_strings_right": _rate(single, lambda j: j.strings_right),
        "single_turn_gold_quoted": _rate(single, lambda j: bool(j.gold_quoted)),
        "leak_count": sum(len(j.leaks) for j in judgements),
        "duration_p50_s": round(statistics.median(j.duration_s for j in judgements), 3) if judgements else None,
        "duration_max_s": round(max((j.duration_s for j in judgements), default=0.0), 3),
        "outcomes": dict(sorted(Counter(j.outcome for j in judgements).items())),
    }


def summarize_by(judgements: Sequence[Judgement], key: Callable[[Judgement], str]) -> dict[str, dict[str, Any]]:
    """One summary for each value of `key`, by name."""
    groups: dict[str, list[Judgement]] = {}
    for judgement in judgements:
        groups.setdefault(key(judgement), []).append(judgement)
    return {name: summarize(groups[name]) for name in sorted(groups)}


def describe_rows(judgements: Iterable[Judgement]) -> list[dict[str, Any]]:
    """One plain row a question, for files and for finding what to mend next."""
    return [
        {
            "id": j.question.question_id,
            "type": j.question.kind,
            "right": j.right,
            "outcome": j.outcome,
            "expected_outcome": j.question.expected_outcome,
            "strings_right": j.strings_right,
            "gold_cited": j.gold_cited,
            "gold_quoted": j.gold_quoted,
            "leaks": list(j.leaks),
            "iteration_count": j.iteration_count,
            "duration_s": round(j.duration_s, 3),
            "question": j.question.text,
            "answer": j.answer_text,
        }
        for j in judgements
    ]


def _rate(judgements: Sequence[Judgement], holds: Callable[[Judgement], bool]) -> float | None:
    if not judgements:
        return None
    return round(sum(map(holds, judgements)) / len(judgements), 3)
