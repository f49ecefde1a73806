from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest
from prometheus_client import CollectorRegistry

from citemesh.auth.principal import Principal
from citemesh.rpc.errors import ServiceError
from citemesh.store.contract import Hit, VersionFilter
from citemesh.store.encoder_match import describe_encoder
from citemesh.telemetry.metrics import MetricFactory
from citemesh.v1 import activation_pb2, document_pb2, errors_pb2, question_pb2
from citemesh.v1.retrieval_pb2 import LegQuery, Ranking, RetrieveRequest, RetrieveResponse
from services.retrieval.encoder_guard import EncoderGuard
from services.retrieval.leg_runner import LegRunner
from services.retrieval.legs.dense import DenseLeg
from services.retrieval.legs.keyword import KeywordLeg
from services.retrieval.legs.leg import Leg
from services.retrieval.legs.toc import TocLeg
from services.retrieval.measures import Measures
from services.retrieval.search import Search
from services.retrieval.settings import RetrievalSettings
from tests.unit.services.retrieval.library import ANNA, HANNA, Library, WordEncoder, make_passage, make_section

KEYWORD, DENSE, TOC = activation_pb2.PATTERN_KEYWORD, activation_pb2.PATTERN_DENSE, activation_pb2.PATTERN_TOC


class BrokenLeg:
    """A leg that fails."""

    def __init__(self, pattern: activation_pb2.Pattern.ValueType, error: Exception) -> None:
        self.pattern = pattern
        self._error = error

    def search(self, text: str, versions: VersionFilter, limit: int) -> list[Hit]:
        raise self._error


class SlowLeg:
    """A leg that waits until it is let go."""

    pattern = DENSE

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.started = 0

    def search(self, text: str, versions: VersionFilter, limit: int) -> list[Hit]:
        self.started += 1
        self.let_go.wait(10)
        return []


async def wait_until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110  # what is awaited happens on another thread
            await asyncio.sleep(0.01)


class Bench:
    """A Search over the library, with some legs replaced."""

    def __init__(self, library: Library, *replaced: Leg, settings: RetrievalSettings | None = None) -> None:
        settings = settings or RetrievalSettings()
        store, encoder = library.reader, library.encoder
        self.registry = CollectorRegistry()
        self.measures = Measures(MetricFactory(self.registry))
        dense = DenseLeg(store, encoder, "key", 10, self.measures)
        legs: list[Leg] = [KeywordLeg(store), dense, TocLeg(store, 5), *replaced]
        self.runner = LegRunner({leg.pattern: leg for leg in legs}, 4, 100, self.measures)
        self.guard = EncoderGuard(store, describe_encoder(encoder))
        self.search = Search(store, self.runner, self.guard, settings, self.measures)

    def metric(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"citemesh_{name}", labels)

    async def retrieve(
        self, request: RetrieveRequest, principal: Principal = ANNA, timeout_s: float | None = None
    ) -> RetrieveResponse:
        return await self.search.retrieve(request, principal, timeout_s)


def ask(text: str, *legs: activation_pb2.Pattern.ValueType) -> RetrieveRequest:
    return RetrieveRequest(queries=[LegQuery(leg=leg, text=text) for leg in legs or (KEYWORD, DENSE, TOC)])


def texts(response: RetrieveResponse) -> list[str]:
    return [candidate.passage.text for candidate in response.candidates]


@pytest.fixture
def travel(library: Library) -> Library:
    sections = [make_section("a", "Approval", number="1"), make_section("m", "Meals", number="2")]
    passages = [
        make_passage("Travel abroad needs approval by a manager.", section="a", path=["Approval"]),
        make_passage("Meals are paid up to 40 euros a day.", section="m", path=["Meals"]),
        make_passage("Hotels are booked by the office.", section="m", path=["Meals"]),
    ]
    library.add("policy", passages, sections=sections, title="Travel Policy")
    library.add("salaries", ["Managers earn more than travel costs."], groups=["hr"])
    return library


async def test_legs_are_fused_and_say_what_they_found(travel: Library) -> None:
    bench = Bench(travel)
    response = await bench.retrieve(ask("Who gives approval for travel?"))
    best = response.candidates[0]
    assert best.passage.text == "Travel abroad needs approval by a manager."
    assert {rank.leg for rank in best.leg_ranks} == {KEYWORD, DENSE, TOC}
    assert best.HasField("keyword_score")
    assert best.HasField("dense_score")
    assert best.HasField("fused_score")
    assert not best.HasField("rerank_score")
    assert not best.HasField("relevance")
    assert [report.leg for report in response.leg_reports] == [KEYWORD, DENSE, TOC]
    assert all(not report.error_reason for report in response.leg_reports)
    assert response.keyword_leg_can_match
    assert response.index_snapshot
    fused = [candidate.fused_score for candidate in response.candidates]
    assert fused == sorted(fused, reverse=True)


async def test_rankings_alone_are_what_a_whole_answer_would_have_ranked(travel: Library) -> None:
    bench = Bench(travel)
    request = ask("Who gives approval for travel?")
    whole = await bench.retrieve(request)
    request.rankings_only = True
    response = await bench.retrieve(request)
    assert not response.candidates
    assert list(response.rankings) == list(whole.rankings)
    assert response.keyword_leg_can_match
    assert (response.index_snapshot, response.permission_version) == (whole.index_snapshot, whole.permission_version)
    fused = await bench.retrieve(RetrieveRequest(prior_rankings=response.rankings))
    assert texts(fused) == texts(whole)


async def test_a_value_that_was_not_computed_is_absent(travel: Library) -> None:
    response = await Bench(travel).retrieve(ask("approval", KEYWORD))
    assert not response.candidates[0].HasField("dense_score")


async def test_what_may_not_be_read_is_in_no_part_of_the_answer(travel: Library) -> None:
    bench = Bench(travel)
    assert "Managers earn more than travel costs." in texts(await bench.retrieve(ask("managers travel"), HANNA))
    response = await bench.retrieve(ask("managers earn"))
    assert "salaries" not in str(response)
    nobody = await bench.retrieve(ask("managers travel"), Principal("elsewhere", "x", frozenset()))
    assert not nobody.candidates
    assert not nobody.keyword_leg_can_match


async def test_a_revoke_holds_in_the_next_request_also_for_prior_rankings(travel: Library) -> None:
    bench = Bench(travel)
    first = await bench.retrieve(ask("approval"))
    travel.writer.set_access("acme", "policy", document_pb2.AccessPolicy(only=document_pb2.AllowedPrincipals()))
    request = ask("approval")
    request.prior_rankings.extend(first.rankings)
    second = await bench.retrieve(request)
    assert not second.candidates
    assert all(not ranking.passages for ranking in second.rankings)
    assert second.permission_version > first.permission_version


async def test_whether_words_occur_is_told_as_of_the_end(travel: Library) -> None:
    class Revoking(SlowLeg):
        def search(self, text: str, versions: VersionFilter, limit: int) -> list[Hit]:
            travel.writer.set_access("acme", "policy", document_pb2.AccessPolicy(only=document_pb2.AllowedPrincipals()))
            return []

    assert (await Bench(travel).retrieve(ask("approval", DENSE))).keyword_leg_can_match
    assert not (await Bench(travel, Revoking()).retrieve(ask("approval", DENSE))).keyword_leg_can_match


async def test_prior_rankings_are_fused_with_new_ones(travel: Library) -> None:
    bench = Bench(travel)
    first = await bench.retrieve(ask("hotels", KEYWORD))
    request = ask("meals", KEYWORD)
    request.prior_rankings.extend(first.rankings)
    second = await bench.retrieve(request)
    assert set(texts(second)) == {"Hotels are booked by the office.", "Meals are paid up to 40 euros a day."}
    assert [ranking.query for ranking in second.rankings] == ["hotels", "meals"]
    alone = await bench.retrieve(RetrieveRequest(prior_rankings=second.rankings))
    assert texts(alone) == texts(second)
    forged = Ranking(leg=KEYWORD, query="x")
    forged.passages.add(passage_id="salaries@1#0", leg_score=99)
    assert not (await bench.retrieve(RetrieveRequest(prior_rankings=[forged]))).candidates


async def test_excluded_passages_are_left_out_and_the_number_is_bounded(travel: Library) -> None:
    bench = Bench(travel)
    request = ask("meals hotels approval")
    request.max_candidates = 1
    first = await bench.retrieve(request)
    assert len(first.candidates) == 1
    request.excluded_passage_ids.append(first.candidates[0].passage.passage_id)
    second = await bench.retrieve(request)
    assert texts(second) != texts(first)


async def test_a_section_that_is_named_ranks_higher_but_not_alone(travel: Library) -> None:
    request = ask("manager", KEYWORD)
    request.section_hint = "2"
    found = texts(await Bench(travel).retrieve(request))
    assert "Meals are paid up to 40 euros a day." in found
    assert "Travel abroad needs approval by a manager." in found
    request.section_hint = "Meals"
    assert "Hotels are booked by the office." in texts(await Bench(travel).retrieve(request))
    request.section_hint = "no such thing"
    assert texts(await Bench(travel).retrieve(request)) == ["Travel abroad needs approval by a manager."]


async def test_documents_that_are_named_rank_higher_but_not_alone(library: Library) -> None:
    library.add("a", ["Limits of size apply: the size."], title="Docker Sheet")
    library.add("b", ["The size is limited somehow here."], title="Kubernetes Sheet")
    bench = Bench(library)
    for hint, best in (("the Docker sheet", "a"), ("the Kubernetes sheet", "b")):
        request = ask("size", KEYWORD)
        request.document_hints.append(hint)
        response = await bench.retrieve(request)
        assert response.candidates[0].passage.document_id == best
        assert len(response.candidates) == 2


async def test_duplicates_are_merged(library: Library) -> None:
    library.add("a", ["The very same words."])
    library.add("b", ["The very same words."])
    assert len((await Bench(library).retrieve(ask("same words"))).candidates) == 1


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ServiceError(errors_pb2.ERROR_REASON_MODEL_UNAVAILABLE, "x"), "MODEL_UNAVAILABLE"),
        (RuntimeError("secret text"), "INTERNAL"),
    ],
)
async def test_one_leg_may_fail_alone(travel: Library, error: Exception, reason: str) -> None:
    bench = Bench(travel, BrokenLeg(DENSE, error))
    response = await bench.retrieve(ask("approval", KEYWORD, DENSE))
    assert response.candidates
    assert [report.error_reason for report in response.leg_reports] == ["", reason]
    assert "secret" not in str(response)


async def test_all_legs_failing_is_no_empty_answer(travel: Library) -> None:
    error = ServiceError(errors_pb2.ERROR_REASON_STORE_UNAVAILABLE, "x")
    bench = Bench(travel, BrokenLeg(DENSE, error), BrokenLeg(KEYWORD, error))
    with pytest.raises(ServiceError) as raised:
        await bench.retrieve(ask("approval", KEYWORD, DENSE))
    assert raised.value.reason == errors_pb2.ERROR_REASON_RETRIEVAL_UNAVAILABLE


async def test_a_slow_leg_does_not_hold_up_the_others(travel: Library) -> None:
    slow = SlowLeg()
    bench = Bench(travel, slow)
    response = await bench.retrieve(ask("approval", KEYWORD, DENSE), timeout_s=0.2)
    slow.let_go.set()
    assert response.candidates
    assert [report.error_reason for report in response.leg_reports] == ["", "DEADLINE_EXCEEDED"]


async def test_a_cancelled_call_leaves_no_leg_in_the_queue(travel: Library) -> None:
    slow = SlowLeg()
    bench = Bench(travel, slow)
    # Four threads, all held by other calls: what comes now waits.
    others = [asyncio.create_task(bench.retrieve(ask(f"approval {number}", DENSE))) for number in range(4)]
    await wait_until(lambda: slow.started == 4)
    call = asyncio.create_task(bench.retrieve(ask("hotels", DENSE)))
    queue = bench.runner._threads._work_queue
    await wait_until(lambda: queue.qsize() == 1)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    slow.let_go.set()
    await asyncio.gather(*others)
    await asyncio.to_thread(bench.runner.close)
    assert slow.started == 4


async def test_another_encoder_is_refused(travel: Library) -> None:
    bench = Bench(travel)
    bench.guard = EncoderGuard(travel.reader, describe_encoder(WordEncoder(revision="2")))
    search = Search(travel.reader, bench.runner, bench.guard, RetrievalSettings(), bench.measures)
    with pytest.raises(ServiceError) as raised:
        await search.retrieve(ask("approval"), ANNA, None)
    assert raised.value.reason == errors_pb2.ERROR_REASON_ENCODER_MISMATCH
    assert raised.value.metadata.keys() == {"index_model", "model"}


async def test_rankings_are_cached_until_something_changes(travel: Library) -> None:
    bench = Bench(travel)
    await bench.retrieve(ask("approval"))
    again = await bench.retrieve(ask("approval"))
    assert all(report.cached for report in again.leg_reports)
    travel.add("new", ["Approval by the board."])
    fresh = await bench.retrieve(ask("approval"))
    assert not any(report.cached for report in fresh.leg_reports)
    assert "Approval by the board." in texts(fresh)


@pytest.mark.parametrize(
    "request_",
    [
        RetrieveRequest(),
        ask("  ", KEYWORD),
        ask("x", activation_pb2.PATTERN_TWO_HOP_REFERENCES),
        RetrieveRequest(queries=[LegQuery(leg=KEYWORD, text="x")] * 33),
        RetrieveRequest(queries=[LegQuery(leg=KEYWORD, text="x")], max_candidates=501),
        RetrieveRequest(queries=[LegQuery(leg=KEYWORD, text="x")], scope=question_pb2.Scope()),
    ],
)
async def test_wrong_requests_are_refused(library: Library, request_: RetrieveRequest) -> None:
    with pytest.raises(ServiceError) as raised:
        await Bench(library).retrieve(request_)
    assert raised.value.reason == errors_pb2.ERROR_REASON_INVALID_FIELD
    assert raised.value.field_violations


async def test_a_short_section_is_made_whole(library: Library) -> None:
    passages = [
        make_passage("Leave is asked for by form.", section="s", path=["Leave"]),
        make_passage("It is granted within a week.", section="s", path=["Leave"]),
        make_passage("Leave may be carried over.", section="s", path=["Leave"]),
        make_passage("Something else.", section="o", path=["Other"]),
    ]
    sections = [make_section("s", "Leave", number="1"), make_section("o", "Other", number="2")]
    library.add("handbook", passages, sections=sections)
    request = ask("leave form carried", KEYWORD)
    bench = Bench(library)
    response = await bench.retrieve(request)
    assert "It is granted within a week." in texts(response)
    assert "Something else." not in texts(response)
    fused = [candidate.fused_score for candidate in response.candidates]
    assert fused == sorted(fused, reverse=True)
    request.excluded_passage_ids.append("handbook@1#1")
    assert "It is granted within a week." not in texts(await bench.retrieve(request))


async def test_series_are_there_before_the_first_search(travel: Library) -> None:
    bench = Bench(travel)
    for leg in ("keyword", "dense", "toc"):
        assert bench.metric("retrieval_leg_duration_seconds_count", leg=leg) == 0
        assert bench.metric("retrieval_leg_failures_total", leg=leg) == 0
        assert bench.metric("retrieval_candidates_count", leg=leg) == 0
    assert bench.metric("retrieval_candidates_count", leg="fused") == 0
    assert bench.metric("cache_requests_total", cache="vectors", result="hit") == 0


async def test_legs_candidates_and_caches_are_counted(travel: Library) -> None:
    bench = Bench(travel)
    response = await bench.retrieve(ask("approval", KEYWORD, DENSE))
    await bench.retrieve(ask("approval", KEYWORD, DENSE))
    assert bench.metric("retrieval_leg_duration_seconds_count", leg="keyword") == 2
    assert bench.metric("retrieval_leg_duration_seconds_count", leg="toc") == 0
    assert bench.metric("retrieval_candidates_sum", leg="keyword") == 2
    assert bench.metric("retrieval_candidates_sum", leg="fused") == 2 * len(response.candidates)
    assert bench.metric("cache_requests_total", cache="rankings", result="miss") == 2
    assert bench.metric("cache_requests_total", cache="rankings", result="hit") == 2
    assert bench.metric("cache_requests_total", cache="vectors", result="miss") == 1


async def test_failed_legs_are_counted_and_bring_no_candidates(travel: Library) -> None:
    bench = Bench(travel, BrokenLeg(DENSE, RuntimeError("no")))
    await bench.retrieve(ask("approval", KEYWORD, DENSE))
    assert bench.metric("retrieval_leg_failures_total", leg="dense") == 1
    assert bench.metric("retrieval_leg_failures_total", leg="keyword") == 0
    assert bench.metric("retrieval_candidates_count", leg="dense") == 0
