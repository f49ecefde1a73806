"""What the demo's questions should come to, and where an answer differs from that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from citemesh.cli.narration.answer import list_citations
from citemesh.v1 import answer_pb2, dispatcher_pb2, history_pb2

ROOM = Path(__file__).resolve().parent


def read_corpus() -> list[dict[str, Any]]:
    """The documents to ingest, in order: path, document_id, title, effective_from, effective_to, allow."""
    entries: list[dict[str, Any]] = json.loads((ROOM / "corpus.json").read_text(encoding="utf-8"))
    return entries


def read_questions() -> list[dict[str, Any]]:
    """The questions, in order: id, shows, question, as, as_of, document_ids, follows, expect."""
    questions: list[dict[str, Any]] = json.loads((ROOM / "questions.json").read_text(encoding="utf-8"))
    return questions


def find_surprises(expected: dict[str, Any], response: dispatcher_pb2.AnswerResponse) -> list[str]:
    """Where an answer differs from what its question expects, one sentence each; empty where it does not.

    What must be lacking is looked for in the whole response: a restricted document may not even be named.
    """
    surprises = []
    outcome = answer_pb2.AnswerOutcome.Name(response.outcome).removeprefix("ANSWER_OUTCOME_")
    if outcome not in expected["outcomes"]:
        surprises.append(f"the outcome is {outcome}, not {' or '.join(expected['outcomes'])}")
    said = " ".join([response.answer.text, *(citation.quote for citation in list_citations(response.answer))])
    surprises += [f"“{needed}” is missing" for needed in expected["contains"] if needed not in said]
    everything = str(response)
    surprises += [f"“{forbidden}” is there" for forbidden in expected["lacks"] if forbidden in everything]
    ran = {history_pb2.Trigger.Name(record.trigger).removeprefix("TRIGGER_") for record in response.history}
    surprises += [f"no pass was started by {trigger}" for trigger in expected.get("triggers", ()) if trigger not in ran]
    cited = {citation.document_id for citation in list_citations(response.answer)}
    surprises += [f"{document_id} is not cited" for document_id in expected["cites"] if document_id not in cited]
    return surprises
