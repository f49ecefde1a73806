"""Requests made of plain text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from citemesh.text.hashes import hash_text
from citemesh.v1 import evidence_pb2, generation_pb2, question_pb2


def make_evidence(text: str, number: int = 1, **fields: Any) -> evidence_pb2.Evidence:
    """Evidence E<number> of document d<number>, with the hash of its text."""
    fields = {
        "evidence_id": f"E{number}",
        "passage_id": f"p{number}",
        "document_id": f"d{number}",
        "document_version": 1,
        "title": f"Document {number}",
        "kind": evidence_pb2.PASSAGE_KIND_TEXT,
        **fields,
    }
    return evidence_pb2.Evidence(text=text, content_hash=hash_text(text), **fields)


def make_question(text: str, **fields: Any) -> question_pb2.ParsedQuestion:
    fields = {
        "language": "en",
        "intent": question_pb2.INTENT_FACTOID,
        "answer_type": question_pb2.ANSWER_TYPE_TEXT,
        "need": question_pb2.RETRIEVAL_NEED_RETRIEVE,
        **fields,
    }
    return question_pb2.ParsedQuestion(original_question=text, standalone_question=text, **fields)


def make_request(
    question: str | question_pb2.ParsedQuestion, *evidence: str | evidence_pb2.Evidence, **fields: Any
) -> generation_pb2.GenerateRequest:
    parsed = make_question(question) if isinstance(question, str) else question
    units: Sequence[evidence_pb2.Evidence] = [
        make_evidence(each, number) if isinstance(each, str) else each for number, each in enumerate(evidence, 1)
    ]
    return generation_pb2.GenerateRequest(parsed_question=parsed, evidence=units, **fields)
