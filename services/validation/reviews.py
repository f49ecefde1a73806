"""The queue of answers withheld for review, in SQLite; it outlives the process.

A tenant is a partition: no call reaches a review of another one. Within it, people see the reviews of their own
questions, without the answer until it is released; members of the reviewers' group see and decide all. Nobody sees an
answer that rests on a document which they may not read at that moment.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import uuid
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import structlog
from google.protobuf.timestamp_pb2 import Timestamp

from citemesh.auth.principal import Principal
from citemesh.rpc.errors import ServiceError, invalid_argument
from citemesh.v1 import errors_pb2, validation_pb2
from citemesh.v1.answer_pb2 import ClaimVerdict
from citemesh.v1.validation_pb2 import Review, ReviewState
from services.validation.readership import Readership, find_cited_documents

FILE_NAME: Final = "reviews.sqlite3"
DEFAULT_PAGE_SIZE: Final = 50

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS reviews (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    review_id TEXT NOT NULL UNIQUE,
    tenant_id TEXT NOT NULL,
    asked_by TEXT NOT NULL,
    state INTEGER NOT NULL,
    review BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS reviews_by_tenant ON reviews (tenant_id, position);
"""
_COLUMNS_ADDED: Final = {"document_ids": "ALTER TABLE reviews ADD COLUMN document_ids TEXT NOT NULL DEFAULT ''"}
"""Columns that files of earlier versions lack. The documents of an answer: a JSON list; empty: those that it cites."""

_COUNT_OF_TENANT: Final = "SELECT COUNT(*) FROM reviews WHERE tenant_id = ?"
_DROP_DECIDED: Final = """
DELETE FROM reviews WHERE position IN (
    SELECT position FROM reviews WHERE tenant_id = ? AND state != ? ORDER BY position LIMIT ?
)
"""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ReviewPage:
    """Reviews, oldest first, and the token of the next page ("" where there is none)."""

    reviews: list[Review]
    next_page_token: str


class ReviewQueue:
    """The queue in one SQLite file. Calls block for a millisecond or so; safe from several threads."""

    def __init__(self, folder: Path, readership: Readership, reviewer_group: str, max_review_count: int) -> None:
        """Keep at most `max_review_count` reviews for each tenant."""
        folder.mkdir(parents=True, exist_ok=True)
        self._readership = readership
        self._reviewer_group = reviewer_group
        self._max_review_count = max_review_count
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(folder / FILE_NAME, check_same_thread=False, timeout=5.0)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.executescript(_SCHEMA)
        columns = {row[1] for row in self._connection.execute("PRAGMA table_info(reviews)")}
        for column, statement in _COLUMNS_ADDED.items():
            if column not in columns:
                self._connection.execute(statement)

    def add(
        self,
        request: validation_pb2.ValidateRequest,
        verdicts: Iterable[ClaimVerdict],
        principal: Principal,
        now: datetime,
    ) -> str:
        """Keep a withheld answer; returns its review_id.

        Where the tenant's reviews are as many as are kept, the oldest decided one goes. Where all of them still wait,
        the answer is not kept and "" returned: what waits is not lost to make room, and the answer stays withheld.
        """
        review = Review(
            review_id=uuid.uuid4().hex,
            state=ReviewState.REVIEW_STATE_OPEN,
            question=request.parsed_question.original_question,
            answer=request.answer,
            verdicts=verdicts,
            create_time=_write_time(now),
        )
        rests_on = {each.document_id for each in request.evidence if each.document_id}
        document_ids = json.dumps(sorted(rests_on | find_cited_documents(request.answer)))
        row = (
            *(review.review_id, principal.tenant_id, principal.user_id, review.state),
            *(review.SerializeToString(), document_ids),
        )
        with self._lock, self._connection:
            if not self._make_room(principal.tenant_id):
                _log.warning("review_queue_full", max_review_count=self._max_review_count)
                return ""
            self._connection.execute(
                "INSERT INTO reviews (review_id, tenant_id, asked_by, state, review, document_ids)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                row,
            )
        return review.review_id

    def list(self, request: validation_pb2.ListReviewsRequest, principal: Principal) -> ReviewPage:
        """A page of what `principal` may see; who is no reviewer sees answer and verdicts of released reviews only.

        Of an answer that rests on a document which `principal` may not read now, answer and verdicts are left out.
        Raises ServiceError INVALID_FIELD for a token that none of ours is.
        """
        size = request.page_size or DEFAULT_PAGE_SIZE
        query = (
            "SELECT position, review, document_ids FROM reviews WHERE tenant_id = ? AND position > ?"
            " AND (? = 0 OR state = ?) AND (? OR asked_by = ?) ORDER BY position LIMIT ?"
        )
        values = (
            principal.tenant_id,
            _read_token(request.page_token),
            request.state,
            request.state,
            self._is_reviewer(principal),
            principal.user_id,
            size + 1,
        )
        with self._lock, closing(self._connection.execute(query, values)) as cursor:
            rows = cursor.fetchall()
        page = [(review := Review.FromString(blob), _read_documents(review, ids)) for _, blob, ids in rows[:size]]
        every = {document_id for _, document_ids in page for document_id in document_ids}
        unreadable = self._readership.find_unreadable(principal, every)
        for review, document_ids in page:
            # What the gate withheld stays withheld from whoever asked.
            shown = self._is_reviewer(principal) or review.state == ReviewState.REVIEW_STATE_RELEASED
            if not shown or document_ids & unreadable:
                _hide(review)
        return ReviewPage([review for review, _ in page], str(rows[size - 1][0]) if len(rows) > size else "")

    def decide(self, request: validation_pb2.DecideReviewRequest, principal: Principal, now: datetime) -> Review:
        """End a review. Raises ServiceError: not a reviewer, no such review in the tenant, or decided before.

        Who may not read a document that the answer rests on, and so cannot have seen the answer, may reject it (where a
        document is gone, nobody else could end the review), but not release it.
        """
        if not self._is_reviewer(principal):
            raise ServiceError(
                errors_pb2.ERROR_REASON_PERMISSION_DENIED, f"Only members of {self._reviewer_group} decide reviews."
            )
        review, document_ids = self._find(request.review_id, principal.tenant_id)
        is_hidden = bool(self._readership.find_unreadable(principal, document_ids))
        if is_hidden and request.state == ReviewState.REVIEW_STATE_RELEASED:
            raise ServiceError(
                errors_pb2.ERROR_REASON_PERMISSION_DENIED, "Only who may read what the answer rests on releases it."
            )
        review.state = request.state
        review.comment = request.comment
        review.decided_by = principal.user_id
        review.decide_time.CopyFrom(_write_time(now))
        if not self._end(review):
            raise ServiceError(
                errors_pb2.ERROR_REASON_CONFLICTING_UPDATE, "The review was decided before: list it again."
            )
        if is_hidden:
            _hide(review)
        return review

    def count_open(self) -> int:
        """Reviews that wait, over all tenants: a gauge for operators, never shown to a caller."""
        with (
            self._lock,
            closing(
                self._connection.execute(
                    "SELECT COUNT(*) FROM reviews WHERE state = ?", (ReviewState.REVIEW_STATE_OPEN,)
                )
            ) as cursor,
        ):
            return int(cursor.fetchone()[0])

    def close(self) -> None:
        """Close the file and the store."""
        self._readership.close()
        with self._lock:
            self._connection.close()

    def _make_room(self, tenant_id: str) -> bool:
        """Whether one more fits, once the oldest decided reviews of the tenant are gone where there are too many."""
        (count,) = self._connection.execute(_COUNT_OF_TENANT, (tenant_id,)).fetchone()
        excess = count - self._max_review_count + 1
        if excess <= 0:
            return True
        values = (tenant_id, ReviewState.REVIEW_STATE_OPEN, excess)
        return bool(self._connection.execute(_DROP_DECIDED, values).rowcount >= excess)

    def _find(self, review_id: str, tenant_id: str) -> tuple[Review, set[str]]:
        """The review and the documents that its answer rests on."""
        query = "SELECT review, document_ids FROM reviews WHERE review_id = ? AND tenant_id = ?"
        with self._lock, closing(self._connection.execute(query, (review_id, tenant_id))) as cursor:
            row = cursor.fetchone()
        if row is None:
            raise ServiceError(errors_pb2.ERROR_REASON_REVIEW_NOT_FOUND, "No such review.", review_id=review_id[:64])
        review = Review.FromString(row[0])
        return review, _read_documents(review, row[1])

    def _end(self, review: Review) -> bool:
        """Write the decision; False where somebody else, perhaps of another process, decided before."""
        statement = "UPDATE reviews SET state = ?, review = ? WHERE review_id = ? AND state = ?"
        values = (review.state, review.SerializeToString(), review.review_id, ReviewState.REVIEW_STATE_OPEN)
        with self._lock, self._connection:
            return self._connection.execute(statement, values).rowcount > 0

    def _is_reviewer(self, principal: Principal) -> bool:
        return self._reviewer_group in principal.groups


def _hide(review: Review) -> None:
    review.ClearField("answer")
    review.ClearField("verdicts")


def _read_documents(review: Review, listed: str) -> set[str]:
    return set(json.loads(listed)) if listed else find_cited_documents(review.answer)


def _read_token(token: str) -> int:
    if not token:
        return 0
    if not token.isascii() or not token.isdigit() or len(token) > 18:
        raise invalid_argument("page_token", "must come from an earlier response")
    return int(token)


def _write_time(time: datetime) -> Timestamp:
    timestamp = Timestamp()
    timestamp.FromDatetime(time.astimezone(UTC))
    return timestamp
