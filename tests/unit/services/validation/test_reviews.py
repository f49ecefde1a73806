"""The queue of withheld answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from citemesh.auth.principal import Principal
from citemesh.rpc.errors import ServiceError
from citemesh.store.embedded.open import open_reader
from citemesh.v1 import errors_pb2
from citemesh.v1.answer_pb2 import ClaimVerdict
from citemesh.v1.validation_pb2 import DecideReviewRequest, ListReviewsRequest, ReviewState
from services.validation.readership import Readership
from services.validation.reviews import ReviewQueue
from tests.unit.services.validation.builders import NOW, request

ASKER = Principal("acme", "ana", frozenset({"staff"}))
REVIEWER = Principal("acme", "rita", frozenset({"reviewers"}))
STRANGER = Principal("other", "rita", frozenset({"reviewers"}))
COLLEAGUE = Principal("acme", "carl", frozenset({"staff"}))
RELEASED = ReviewState.REVIEW_STATE_RELEASED


def open_queue(folder: Path, max_review_count: int = 100) -> ReviewQueue:
    return ReviewQueue(folder / "validation", Readership(open_reader(folder)), "reviewers", max_review_count)


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[ReviewQueue]:
    made = open_queue(tmp_path)
    yield made
    made.close()


def add(queue: ReviewQueue, count: int = 1) -> list[str]:
    return [queue.add(request(f"Question {number}?", [], []), [], ASKER, NOW) for number in range(count)]


def test_people_see_their_own_and_reviewers_all_of_their_tenant(queue: ReviewQueue) -> None:
    add(queue, 2)
    everything = ListReviewsRequest()
    assert len(queue.list(everything, ASKER).reviews) == 2
    assert len(queue.list(everything, REVIEWER).reviews) == 2
    assert not queue.list(everything, COLLEAGUE).reviews
    assert not queue.list(everything, STRANGER).reviews


@pytest.mark.parametrize("state", [None, ReviewState.REVIEW_STATE_REJECTED, RELEASED])
def test_who_asked_sees_the_answer_only_once_released(queue: ReviewQueue, state: ReviewState.ValueType | None) -> None:
    withheld = request("Question?", [], [])
    withheld.answer.text = "Withheld. [1]"
    review_id = queue.add(withheld, [ClaimVerdict(claim_id="C1")], ASKER, NOW)
    if state is not None:
        queue.decide(DecideReviewRequest(review_id=review_id, state=state), REVIEWER, NOW)
    (own,) = queue.list(ListReviewsRequest(), ASKER).reviews
    assert own.question == "Question?"
    assert (own.HasField("answer"), bool(own.verdicts)) == (state == RELEASED, state == RELEASED)
    (full,) = queue.list(ListReviewsRequest(), REVIEWER).reviews
    assert full.answer.text == "Withheld. [1]"
    assert len(full.verdicts) == 1


def test_pages_follow_one_another(queue: ReviewQueue) -> None:
    ids = add(queue, 5)
    seen, token = [], ""
    while True:
        page = queue.list(ListReviewsRequest(page_size=2, page_token=token), REVIEWER)
        seen += [review.review_id for review in page.reviews]
        token = page.next_page_token
        if not token:
            break
    assert seen == ids
    with pytest.raises(ServiceError):
        queue.list(ListReviewsRequest(page_token="1; DROP"), REVIEWER)


def test_a_reviewer_decides_once_and_it_survives(queue: ReviewQueue, tmp_path: Path) -> None:
    (review_id,) = add(queue)
    decided = queue.decide(DecideReviewRequest(review_id=review_id, state=RELEASED, comment="fine"), REVIEWER, NOW)
    assert (decided.decided_by, decided.comment) == ("rita", "fine")
    assert queue.count_open() == 0
    with pytest.raises(ServiceError) as raised:
        queue.decide(DecideReviewRequest(review_id=review_id, state=RELEASED), REVIEWER, NOW)
    assert raised.value.reason == errors_pb2.ERROR_REASON_CONFLICTING_UPDATE
    again = open_queue(tmp_path)
    assert again.list(ListReviewsRequest(state=RELEASED), REVIEWER).reviews[0].review_id == review_id
    assert not again.list(ListReviewsRequest(state=ReviewState.REVIEW_STATE_OPEN), REVIEWER).reviews
    again.close()


def test_others_cannot_decide(queue: ReviewQueue) -> None:
    (review_id,) = add(queue)
    wanted = DecideReviewRequest(review_id=review_id, state=RELEASED)
    with pytest.raises(ServiceError) as raised:
        queue.decide(wanted, ASKER, NOW)
    assert raised.value.reason == errors_pb2.ERROR_REASON_PERMISSION_DENIED
    with pytest.raises(ServiceError) as raised:
        queue.decide(wanted, STRANGER, NOW)
    assert raised.value.reason == errors_pb2.ERROR_REASON_REVIEW_NOT_FOUND
    assert queue.count_open() == 1


def test_the_oldest_decided_reviews_make_room(tmp_path: Path) -> None:
    queue = open_queue(tmp_path, max_review_count=3)
    first, second, third = add(queue, 3)
    for review_id in (third, second):
        queue.decide(DecideReviewRequest(review_id=review_id, state=RELEASED), REVIEWER, NOW)
    (fourth,) = add(queue)
    (fifth,) = add(queue)
    kept = [review.review_id for review in queue.list(ListReviewsRequest(), REVIEWER).reviews]
    assert kept == [first, fourth, fifth]
    queue.close()


def test_what_waits_is_never_dropped_for_what_is_new(tmp_path: Path) -> None:
    queue = open_queue(tmp_path, max_review_count=2)
    waiting = add(queue, 2)
    assert add(queue) == [""]
    assert [review.review_id for review in queue.list(ListReviewsRequest(), REVIEWER).reviews] == waiting
    other = Principal("other", "olga", frozenset())
    assert queue.add(request("Another tenant?", [], []), [], other, NOW)
    queue.close()
