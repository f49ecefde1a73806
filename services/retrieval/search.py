"""Retrieve: the legs' rankings and earlier ones, fused; hints; duplicates merged; access checked once more."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from google.protobuf.duration_pb2 import Duration

from citemesh.auth.principal import Principal
from citemesh.rpc.errors import ServiceError
from citemesh.store.contract import Place, StoreReader, VersionFilter
from citemesh.v1 import activation_pb2, errors_pb2
from citemesh.v1.activation_pb2 import Pattern
from citemesh.v1.evidence_pb2 import Candidate, LegRank, Passage
from citemesh.v1.retrieval_pb2 import LegReport, RankedPassage, Ranking, RetrieveRequest, RetrieveResponse
from services.retrieval.dedupe import keep_distinct
from services.retrieval.encoder_guard import EncoderGuard
from services.retrieval.fusion import WeightedRanking, fuse
from services.retrieval.hints import Hints, resolve_hints
from services.retrieval.leg_runner import LegOutcome, LegRunner
from services.retrieval.measures import Measures
from services.retrieval.query_checks import check_retrieve, read_time
from services.retrieval.settings import RetrievalSettings
from services.retrieval.siblings import LEADER_COUNT, find_siblings

_SECTION_HINT = "section hint"
# So many more passages than asked for are read before duplicates are merged.
_READ_AHEAD = 1.5


@dataclass
class _Trail:
    """What the legs said of one passage."""

    leg_ranks: list[LegRank] = field(default_factory=list)
    keyword_score: float | None = None
    dense_score: float | None = None


class Search:
    """The domain call behind Retrieve."""

    def __init__(
        self,
        store: StoreReader,
        runner: LegRunner,
        guard: EncoderGuard,
        settings: RetrievalSettings,
        measures: Measures,
    ) -> None:
        self._store = store
        self._runner = runner
        self._guard = guard
        self._settings = settings
        self._measures = measures
        self._weights: Mapping[str, float] = {
            _group(activation_pb2.PATTERN_KEYWORD): settings.keyword_weight,
            _group(activation_pb2.PATTERN_DENSE): settings.dense_weight,
            _group(activation_pb2.PATTERN_TOC): settings.toc_weight,
        }

    async def retrieve(
        self, request: RetrieveRequest, principal: Principal, timeout_s: float | None
    ) -> RetrieveResponse:
        """Candidates for `request` that `principal` may read, within `timeout_s` seconds (None: the setting's).

        Raises INVALID_FIELD; ENCODER_MISMATCH; RETRIEVAL_UNAVAILABLE where every leg failed and nothing was known
        before.
        """
        check_retrieve(request)
        versions = await asyncio.to_thread(self._allowed, request, principal)
        budget_s = self._settings.default_timeout_ms / 1000 if timeout_s is None else timeout_s
        finds = await self._find(request, versions, budget_s)
        if finds.outcomes and all(outcome.error_reason for outcome in finds.outcomes) and not request.prior_rankings:
            raise ServiceError(
                errors_pb2.ERROR_REASON_RETRIEVAL_UNAVAILABLE,
                "No search could be run: this says nothing about what the documents hold. Try again.",
                legs=",".join(f"{_group(outcome.pattern)}={outcome.error_reason}" for outcome in finds.outcomes),
            )
        return await asyncio.to_thread(self._answer, request, principal, finds)

    def _allowed(self, request: RetrieveRequest, principal: Principal) -> VersionFilter:
        scope = request.scope if request.HasField("scope") else None
        as_of = read_time(request.as_of_time) if request.HasField("as_of_time") else None
        versions = self._store.allowed_versions(principal, scope, as_of)
        self._guard.refuse_mismatch(versions)
        return versions

    async def _find(self, request: RetrieveRequest, versions: VersionFilter, budget_s: float) -> _Finds:
        """Run the legs; whether the first query's words occur is looked up beside them where no leg tells it."""
        running = self._runner.run(request.queries, versions, self._hit_count(request), budget_s)
        if not _asks_for_words(request):
            return _Finds(versions, await running)
        looking = asyncio.to_thread(self._look_for_words, request.queries[0].text, versions)
        outcomes, occur = await asyncio.gather(running, looking)
        return _Finds(versions, outcomes, occur)

    def _look_for_words(self, text: str, versions: VersionFilter) -> bool | None:
        try:
            return bool(self._store.keyword_search(text, versions, 1))
        except ServiceError:
            # The legs fail alone, and so does this: it is asked once more where they found something.
            return None

    def _hit_count(self, request: RetrieveRequest) -> int:
        wanted = max(self._settings.leg_hit_count, request.max_candidates)
        return wanted + len(request.excluded_passage_ids)

    def _answer(self, request: RetrieveRequest, principal: Principal, finds: _Finds) -> RetrieveResponse:
        outcomes = finds.outcomes
        # Asked anew: access may have been taken away while the legs ran.
        versions = self._allowed(request, principal)
        hints = resolve_hints(self._store, versions, request.section_hint, request.document_hints)
        places = self._read_places(request, versions, outcomes, hints)
        rankings = _merge_rankings(request.prior_rankings, outcomes, places)
        found = [] if request.rankings_only else self._find_candidates(request, versions, rankings, hints, places)
        return RetrieveResponse(
            candidates=found,
            leg_reports=[_make_report(outcome) for outcome in outcomes],
            rankings=rankings,
            index_snapshot=versions.index_snapshot,
            permission_version=versions.permission_version,
            keyword_leg_can_match=self._can_match(request, versions, rankings, finds),
        )

    def _find_candidates(
        self,
        request: RetrieveRequest,
        versions: VersionFilter,
        rankings: Sequence[Ranking],
        hints: Hints,
        places: _Places,
    ) -> list[Candidate]:
        excluded = set(request.excluded_passage_ids)
        fused = self._fuse(rankings, hints, places, excluded)
        limit = request.max_candidates or self._settings.default_candidate_count
        passages = self._with_siblings(self._read_passages(fused, versions, limit), versions, excluded, fused)[:limit]
        self._measures.count_fused(len(passages))
        trails = _gather_trails(rankings, {passage.passage_id for passage in passages})
        return [
            _make_candidate(passage, fused[passage.passage_id], trails.get(passage.passage_id, _Trail()))
            for passage in passages
        ]

    def _read_places(
        self, request: RetrieveRequest, versions: VersionFilter, outcomes: Sequence[LegOutcome], hints: Hints
    ) -> _Places:
        """Every passage that any ranking names and that may be read now."""
        keys = {hit.passage_key for outcome in outcomes for _, hits in outcome.rankings for hit in hits}
        ids = {ranked.passage_id for ranking in request.prior_rankings for ranked in ranking.passages}
        ids.update(hints.section_passage_ids)
        found = self._store.places(sorted(keys), sorted(ids), versions)
        return _Places({place.passage_key: place for place in found}, {place.passage_id: place for place in found})

    def _fuse(self, rankings: Sequence[Ranking], hints: Hints, places: _Places, excluded: set[str]) -> dict[str, float]:
        weighted = [
            WeightedRanking(
                group=_group(ranking.leg),
                keys=[each.passage_id for each in ranking.passages if each.passage_id not in excluded],
                weight=self._weights[_group(ranking.leg)],
            )
            for ranking in rankings
        ]
        named = [each for each in hints.section_passage_ids if each in places.by_id and each not in excluded]
        if named:
            weighted.append(WeightedRanking(_SECTION_HINT, named, self._settings.section_hint_weight))

        def boost(passage_id: str) -> float:
            is_named = places.by_id[passage_id].document_id in hints.document_ids
            return 1.0 + self._settings.document_hint_boost * is_named

        return fuse(weighted, self._settings.rrf_k, boost)

    def _read_passages(self, fused: Mapping[str, float], versions: VersionFilter, limit: int) -> list[Passage]:
        """The best `limit` passages without duplicates."""
        ids = list(fused)
        kept: list[Passage] = []
        step = max(1, int(limit * _READ_AHEAD))
        for start in range(0, len(ids), step):
            part = ids[start : start + step]
            found = self._store.passages_by_id(part, versions)
            kept = keep_distinct([*kept, *(found[passage_id] for passage_id in part if passage_id in found)])
            if len(kept) >= limit:
                break
        return kept[:limit]

    def _with_siblings(
        self, passages: list[Passage], versions: VersionFilter, excluded: set[str], fused: dict[str, float]
    ) -> list[Passage]:
        """`passages` with the missing parts of short sections behind the leaders; `fused` then holds them too."""
        siblings = [each for each in find_siblings(self._store, versions, passages) if each.passage_id not in excluded]
        if not siblings:
            return passages
        added = {sibling.passage_id for sibling in siblings}
        leaders, others = passages[:LEADER_COUNT], passages[LEADER_COUNT:]
        for passage_id in added:
            fused[passage_id] = fused[leaders[-1].passage_id]
        return keep_distinct([*leaders, *siblings, *(each for each in others if each.passage_id not in added)])

    def _can_match(
        self,
        request: RetrieveRequest,
        versions: VersionFilter,
        rankings: Sequence[Ranking],
        finds: _Finds,
    ) -> bool:
        """Whether the keyword leg finds anything for the first query; it is asked where the request did not."""
        if not request.queries:
            return False
        if finds.words_occur is not None and finds.versions.key == versions.key:
            return finds.words_occur
        text = request.queries[0].text
        return _has_keyword_hits(rankings, text) or bool(self._store.keyword_search(text, versions, 1))


@dataclass(frozen=True)
class _Finds:
    """What one search of the store brought."""

    versions: VersionFilter
    """What it was allowed to find; what the answer may tell is asked anew."""
    outcomes: Sequence[LegOutcome]
    words_occur: bool | None = None
    """Whether any word of the first query occurs; None where the legs tell, or nobody could."""


@dataclass(frozen=True)
class _Places:
    by_key: Mapping[int, Place]
    by_id: Mapping[str, Place]


def _asks_for_words(request: RetrieveRequest) -> bool:
    """Whether neither a leg of the request nor an earlier ranking tells if the first query's words occur."""
    if not request.queries:
        return False
    text = request.queries[0].text
    is_searched = any(each.leg == activation_pb2.PATTERN_KEYWORD and each.text == text for each in request.queries)
    return not is_searched and not _has_keyword_hits(request.prior_rankings, text)


def _has_keyword_hits(rankings: Iterable[Ranking], text: str) -> bool:
    keyword = activation_pb2.PATTERN_KEYWORD
    return any(each.leg == keyword and each.query == text and each.passages for each in rankings)


def _group(leg: Pattern.ValueType) -> str:
    return Pattern.Name(leg).removeprefix("PATTERN_")


def _merge_rankings(prior: Sequence[Ranking], outcomes: Sequence[LegOutcome], places: _Places) -> list[Ranking]:
    """Prior rankings, then new ones, without what may not be read now; a query that was repeated has its new one."""
    merged: dict[tuple[int, str], Ranking] = {}
    for ranking in prior:
        kept = [each for each in ranking.passages if each.passage_id in places.by_id]
        merged[ranking.leg, ranking.query] = Ranking(leg=ranking.leg, query=ranking.query, passages=kept)
    for outcome in outcomes:
        for text, hits in outcome.rankings:
            ranked = [
                RankedPassage(passage_id=places.by_key[hit.passage_key].passage_id, leg_score=hit.leg_score)
                for hit in hits
                if hit.passage_key in places.by_key
            ]
            merged[outcome.pattern, text] = Ranking(leg=outcome.pattern, query=text, passages=ranked)
    return list(merged.values())


def _gather_trails(rankings: Sequence[Ranking], passage_ids: Collection[str]) -> dict[str, _Trail]:
    trails: dict[str, _Trail] = {}
    for ranking in rankings:
        for rank, ranked in enumerate(ranking.passages, 1):
            if ranked.passage_id not in passage_ids:
                continue
            trail = trails.setdefault(ranked.passage_id, _Trail())
            trail.leg_ranks.append(LegRank(leg=ranking.leg, query=ranking.query, rank=rank))
            if ranking.leg == activation_pb2.PATTERN_KEYWORD:
                trail.keyword_score = _larger(trail.keyword_score, ranked.leg_score)
            elif ranking.leg == activation_pb2.PATTERN_DENSE:
                trail.dense_score = _larger(trail.dense_score, ranked.leg_score)
    return trails


def _larger(known: float | None, value: float) -> float:
    return value if known is None else max(known, value)


def _make_candidate(passage: Passage, fused_score: float, trail: _Trail) -> Candidate:
    return Candidate(
        passage=passage,
        keyword_score=trail.keyword_score,
        dense_score=trail.dense_score,
        fused_score=fused_score,
        leg_ranks=trail.leg_ranks,
    )


def _make_report(outcome: LegOutcome) -> LegReport:
    duration = Duration()
    duration.FromNanoseconds(int(outcome.duration_s * 1e9))
    return LegReport(
        leg=outcome.pattern,
        passage_count=len({hit.passage_key for _, hits in outcome.rankings for hit in hits}),
        duration=duration,
        error_reason=outcome.error_reason,
        cached=outcome.cached,
    )
