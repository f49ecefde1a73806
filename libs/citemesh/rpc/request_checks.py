"""Checks that requests of several services need: each yields what is wrong, and all of it is reported at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from citemesh.rpc.errors import invalid_fields
from citemesh.v1.evidence_pb2 import Evidence
from citemesh.v1.question_pb2 import ParsedQuestion, Role, Scope, Turn

Violation = tuple[str, str]
"""The path of a field, and what is wrong with it."""

MAX_QUESTION_LENGTH: Final = 4_000
MAX_SUB_QUESTION_COUNT: Final = 20
MAX_QUERY_LENGTH: Final = 20_000
"""Characters of a text that is searched or scored with: a question with what it refers to."""
MAX_TURN_COUNT: Final = 50
MAX_TURN_LENGTH: Final = 20_000
MAX_SCOPE_DOCUMENT_COUNT: Final = 1_000
MAX_EVIDENCE_COUNT: Final = 200
MAX_TEXT_LENGTH: Final = 100_000
"""Characters of one passage's or evidence's text."""

_EARLIEST: Final = datetime(1, 1, 1, tzinfo=UTC)


def raise_for(violations: Iterable[Violation]) -> None:
    """Raise ServiceError INVALID_FIELD listing all violations; nothing where there is none."""
    listed = list(violations)
    if listed:
        raise invalid_fields(listed)


def find_length_violations(field: str, text: str, max_length: int) -> Iterator[Violation]:
    """Where `text` has more than `max_length` characters (code points)."""
    if len(text) > max_length:
        yield field, f"must hold at most {max_length} characters"


def find_count_violations(field: str, count: int, max_count: int, *, min_count: int = 0) -> Iterator[Violation]:
    """Where a list does not hold `min_count` to `max_count` entries."""
    if not min_count <= count <= max_count:
        yield field, f"must hold {min_count} to {max_count}" if min_count else f"must hold at most {max_count}"


def find_text_violations(field: str, text: str, max_length: int) -> Iterator[Violation]:
    """Where `text` is blank or too long."""
    if not text.strip():
        yield field, "must not be blank"
    yield from find_length_violations(field, text, max_length)


def find_question_violations(field: str, question: str) -> Iterator[Violation]:
    """Where a question is blank or longer than MAX_QUESTION_LENGTH."""
    yield from find_text_violations(field, question, MAX_QUESTION_LENGTH)


def find_parsed_question_violations(field: str, question: ParsedQuestion) -> Iterator[Violation]:
    """Where a question's wordings are missing, too long or too many."""
    yield from find_question_violations(f"{field}.original_question", question.original_question)
    yield from find_length_violations(f"{field}.standalone_question", question.standalone_question, MAX_QUERY_LENGTH)
    parts = question.sub_questions
    yield from find_count_violations(f"{field}.sub_questions", len(parts), MAX_SUB_QUESTION_COUNT)
    for index, part in enumerate(parts[:MAX_SUB_QUESTION_COUNT]):
        yield from find_length_violations(f"{field}.sub_questions[{index}]", part, MAX_QUESTION_LENGTH)


def find_history_violations(field: str, history: Iterable[Turn]) -> Iterator[Violation]:
    """Where there are too many turns, or one has no known speaker or too long a text."""
    turns = list(history)
    if len(turns) > MAX_TURN_COUNT:
        yield field, f"must hold at most {MAX_TURN_COUNT} turns"
    for index, turn in enumerate(turns):
        if turn.role not in (Role.ROLE_USER, Role.ROLE_ASSISTANT):
            yield f"{field}[{index}].role", "must be ROLE_USER or ROLE_ASSISTANT"
        yield from find_length_violations(f"{field}[{index}].text", turn.text, MAX_TURN_LENGTH)


def find_id_violations(field: str, name: str, ids: Iterable[str]) -> Iterator[Violation]:
    """Where an id of a list is missing or comes twice; `name` is the id's field within an entry."""
    seen: set[str] = set()
    for index, value in enumerate(ids):
        if not value:
            yield f"{field}[{index}].{name}", "must not be empty"
        elif value in seen:
            yield f"{field}[{index}].{name}", "must be unique"
        seen.add(value)


def find_evidence_violations(field: str, evidence: Sequence[Evidence]) -> Iterator[Violation]:
    """Where there is too much evidence, or one has no id of its own or too long a text."""
    yield from find_count_violations(field, len(evidence), MAX_EVIDENCE_COUNT)
    read = evidence[:MAX_EVIDENCE_COUNT]
    yield from find_id_violations(field, "evidence_id", [each.evidence_id for each in read])
    for index, each in enumerate(read):
        yield from find_length_violations(f"{field}[{index}].text", each.text, MAX_TEXT_LENGTH)


def find_enum_violations(field: str, message: Message) -> Iterator[Violation]:
    """Where the message, or one within it, holds a number that none of an enum's names stands for."""
    for descriptor, value in message.ListFields():
        name = f"{field}.{descriptor.name}" if field else descriptor.name
        values = value if descriptor.is_repeated else [value]
        if descriptor.enum_type is not None:
            known = descriptor.enum_type.values_by_number
            if any(number not in known for number in values):
                yield name, f"is no known {descriptor.enum_type.name}"
        elif descriptor.message_type is not None and not descriptor.message_type.GetOptions().map_entry:
            for index, each in enumerate(values):
                yield from find_enum_violations(f"{name}[{index}]" if descriptor.is_repeated else name, each)


def find_scope_violations(field: str, scope: Scope) -> Iterator[Violation]:
    """Where a scope that is present says neither "all" nor which documents."""
    kind = scope.WhichOneof("scope")
    if kind is None:
        yield field, "must say all_documents or documents"
    elif kind == "documents":
        ids = scope.documents.document_ids
        if not 1 <= len(ids) <= MAX_SCOPE_DOCUMENT_COUNT:
            yield f"{field}.documents.document_ids", f"must hold 1 to {MAX_SCOPE_DOCUMENT_COUNT}"
        for index, document_id in enumerate(ids[:MAX_SCOPE_DOCUMENT_COUNT]):
            if not document_id.strip():
                yield f"{field}.documents.document_ids[{index}]", "must not be blank"


def find_time_violations(field: str, time: Timestamp) -> Iterator[Violation]:
    """Where a time that is present cannot be a date of the calendar."""
    try:
        in_range = time.ToDatetime(UTC) >= _EARLIEST
    except (ValueError, OverflowError):
        in_range = False
    if not in_range:
        yield field, "must be a time between the years 1 and 9999"
