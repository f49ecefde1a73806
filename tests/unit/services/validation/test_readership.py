"""Withheld answers are shown to nobody who may not read, now, what they rest on."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from citemesh.auth.principal import Principal
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import errors_pb2
from citemesh.v1.answer_pb2 import ClaimVerdict
from citemesh.v1.document_pb2 import AccessPolicy, AllowedPrincipals
from citemesh.v1.validation_pb2 import DecideReviewRequest, ListReviewsRequest, Review, ReviewState
from services.validation.readership import Readership, find_cited_documents
from services.validation.reviews import FILE_NAME, ReviewQueue
from tests.unit.services.retrieval.library import Library
from tests.unit.services.validation.builders import NOW, cite, claim, evidence, request

ASKER = Principal("acme", "hanna", frozenset({"hr"}))
REVIEWER = Principal("acme", "rita", frozenset({"reviewers", "hr"}))
OUTSIDER = Principal("acme", "olaf", frozenset({"reviewers"}))
SALARIES = "Salaries rise in May."


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    made = Library(tmp_path)
    made.add("salaries", [SALARIES], groups=["hr"])
    made.add("leave", ["Leave is 25 days."])
    yield made
    made.close()


@pytest.fixture
def queue(library: Library) -> Iterator[ReviewQueue]:
    made = ReviewQueue(library.state_dir / "validation", Readership(library.reader), "reviewers", 100)
    yield made
    made.close()


def withhold(queue: ReviewQueue) -> str:
    source = evidence(SALARIES, document_id="salaries")
    sent = request("When do salaries rise?", [claim(SALARIES, cite(source))], [source])
    return queue.add(sent, [ClaimVerdict(claim_id="C1")], ASKER, NOW)


def show(queue: ReviewQueue, principal: Principal) -> Review:
    (review,) = queue.list(ListReviewsRequest(), principal).reviews
    return review


def test_a_reviewer_who_may_not_read_the_source_sees_that_there_is_one_and_no_more(queue: ReviewQueue) -> None:
    review_id = withhold(queue)
    assert show(queue, REVIEWER).answer.claims[0].text == SALARIES
    hidden = show(queue, OUTSIDER)
    assert hidden.review_id == review_id
    assert not hidden.HasField("answer")
    assert not hidden.verdicts
    assert SALARIES.encode() not in hidden.SerializeToString()
    with pytest.raises(ServiceError) as raised:
        queue.decide(DecideReviewRequest(review_id=review_id, state=ReviewState.REVIEW_STATE_RELEASED), OUTSIDER, NOW)
    assert raised.value.reason == errors_pb2.ERROR_REASON_PERMISSION_DENIED
    rejected = queue.decide(
        DecideReviewRequest(review_id=review_id, state=ReviewState.REVIEW_STATE_REJECTED), OUTSIDER, NOW
    )
    assert (rejected.decided_by, rejected.HasField("answer")) == ("olaf", False)
    assert show(queue, REVIEWER).HasField("answer")


def test_what_an_answer_cites_beyond_its_evidence_counts_too(queue: ReviewQueue) -> None:
    source = evidence("Leave is 25 days.", document_id="leave")
    unsent = evidence(SALARIES, number=2, document_id="salaries")
    sent = request("When?", [claim(SALARIES, cite(unsent)), claim(source.text, cite(source), number=2)], [source])
    assert queue.add(sent, [], ASKER, NOW)
    assert show(queue, REVIEWER).HasField("answer")
    assert not show(queue, OUTSIDER).HasField("answer")


def test_a_store_that_takes_its_time_holds_up_nobody_else(library: Library) -> None:
    class Asking(Readership):
        def find_unreadable(self, principal: Principal, document_ids: Iterable[str]) -> set[str]:
            with ThreadPoolExecutor(1) as others:
                assert others.submit(slow.count_open).result(timeout=5) == 1
            return super().find_unreadable(principal, document_ids)

    slow = ReviewQueue(library.state_dir / "validation", Asking(library.reader), "reviewers", 100)
    review_id = withhold(slow)
    slow.decide(DecideReviewRequest(review_id=review_id, state=ReviewState.REVIEW_STATE_RELEASED), REVIEWER, NOW)
    slow.close()


def test_a_revoke_holds_for_what_was_released_before(queue: ReviewQueue, library: Library) -> None:
    review_id = withhold(queue)
    queue.decide(DecideReviewRequest(review_id=review_id, state=ReviewState.REVIEW_STATE_RELEASED), REVIEWER, NOW)
    assert show(queue, ASKER).HasField("answer")
    library.writer.set_access("acme", "salaries", AccessPolicy(only=AllowedPrincipals(groups=["board"])))
    assert not show(queue, ASKER).HasField("answer")
    assert not show(queue, REVIEWER).HasField("answer")


def test_a_deleted_document_takes_its_quotes_along(queue: ReviewQueue, library: Library) -> None:
    withhold(queue)
    library.writer.delete("acme", "salaries")
    assert not show(queue, REVIEWER).HasField("answer")


def test_a_file_of_an_earlier_version_is_read_by_what_its_answers_cite(library: Library) -> None:
    folder = library.state_dir / "validation"
    folder.mkdir()
    source = evidence(SALARIES, document_id="salaries")
    old = Review(review_id="r1", state=ReviewState.REVIEW_STATE_OPEN, question="When?")
    old.answer.claims.append(claim(SALARIES, cite(source)))
    connection = sqlite3.connect(folder / FILE_NAME)
    connection.execute(
        "CREATE TABLE reviews (position INTEGER PRIMARY KEY AUTOINCREMENT, review_id TEXT NOT NULL UNIQUE,"
        " tenant_id TEXT NOT NULL, asked_by TEXT NOT NULL, state INTEGER NOT NULL, review BLOB NOT NULL)"
    )
    row = ("r1", "acme", "hanna", old.state, old.SerializeToString())
    connection.execute(
        "INSERT INTO reviews (review_id, tenant_id, asked_by, state, review) VALUES (?, ?, ?, ?, ?)", row
    )
    connection.commit()
    connection.close()
    queue = ReviewQueue(folder, Readership(library.reader), "reviewers", 100)
    assert show(queue, REVIEWER).HasField("answer")
    assert not show(queue, OUTSIDER).HasField("answer")
    assert withhold(queue)
    queue.close()
    documents = sqlite3.connect(folder / FILE_NAME).execute("SELECT document_ids FROM reviews ORDER BY position")
    assert [json.loads(ids) if ids else None for (ids,) in documents] == [None, ["salaries"]]


def test_quotes_of_claims_items_and_conflicts_all_count() -> None:
    answer = request("?", [], []).answer
    answer.claims.add(citations=[cite(evidence("Text.", document_id="d0"))])
    answer.items.add(citations=[cite(evidence("Text.", document_id="d1"))])
    answer.conflicts.add(citations=[cite(evidence("Text.", document_id="d2"))])
    assert find_cited_documents(answer) == {"d0", "d1", "d2"}
