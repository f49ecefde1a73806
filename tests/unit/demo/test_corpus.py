"""The demo's two lists: what is ingested, and what is asked."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import demo

ROOM = Path(demo.__file__).parent
CORPUS: list[dict[str, Any]] = json.loads((ROOM / "corpus.json").read_text(encoding="utf-8"))
QUESTIONS: list[dict[str, Any]] = json.loads((ROOM / "questions.json").read_text(encoding="utf-8"))


def test_every_file_is_listed_once_and_exists() -> None:
    listed = sorted(entry["path"] for entry in CORPUS)
    assert listed == sorted(f"corpus/{path.name}" for path in (ROOM / "corpus").iterdir())


def test_the_travel_policy_has_two_versions_that_meet_without_gap_or_overlap() -> None:
    older, newer = (entry for entry in CORPUS if entry["document_id"] == "travel-policy")
    assert older["effective_to"] == newer["effective_from"]
    assert date.fromisoformat(older["effective_from"]) < date.fromisoformat(newer["effective_from"])


def test_one_document_is_for_the_group_hr_only() -> None:
    assert [entry["document_id"] for entry in CORPUS if entry.get("allow")] == ["hr-salary-bands"]


@pytest.mark.parametrize("question", QUESTIONS, ids=[question["id"] for question in QUESTIONS])
def test_what_a_question_expects_stands_in_the_documents_it_names(question: dict[str, Any]) -> None:
    document_ids = {entry["document_id"] for entry in CORPUS}
    assert set(question["expect"]["cites"]) <= document_ids
    assert set(question.get("document_ids", [])) <= document_ids
    if "follows" in question:
        assert question["follows"] in {other["id"] for other in QUESTIONS}
    text = "\n".join(
        (ROOM / entry["path"]).read_text(encoding="utf-8")
        for entry in CORPUS
        if entry["document_id"] in question["expect"]["cites"] and entry["path"].endswith((".md", ".html"))
    ) + (ROOM / "manual.md").read_text(encoding="utf-8")
    for needed in question["expect"]["contains"]:
        assert needed in text, needed


def test_the_question_that_must_not_be_answered_has_no_answer_in_the_documents() -> None:
    for path in [*(ROOM / "corpus").iterdir(), ROOM / "manual.md", ROOM / "onboarding.md"]:
        if path.suffix in {".md", ".html"}:
            assert "canteen" not in path.read_text(encoding="utf-8").lower()


def test_salaries_stand_in_the_restricted_document_only() -> None:
    for path in (ROOM / "corpus").iterdir():
        if path.suffix in {".md", ".html"} and path.name != "hr-salary-bands.md":
            assert "68,000" not in path.read_text(encoding="utf-8")
