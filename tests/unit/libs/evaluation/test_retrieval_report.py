"""Sums over what was found: documents by grade, characters by span, sets apart, and their shape in JSON."""

from __future__ import annotations

import json

from citemesh.evaluation.collection_ingest import store_id
from citemesh.evaluation.found_passages import FoundPassage, Searched
from citemesh.evaluation.judged_collection import JudgedQuery, Span
from citemesh.evaluation.retrieval_report import as_plain, summarize, summarize_sets

GRADED = Searched(
    JudgedQuery("q1", "one?", "graded", {"José": 1.0}),
    {
        "keyword": [FoundPassage("p1", "d2"), FoundPassage("p2", store_id("José")), FoundPassage("p3", "d2")],
        "fused": [FoundPassage("p2", store_id("José"))],
    },
)
SPANNED = Searched(
    JudgedQuery("q2", "two?", "spanned", {}, (Span("d1", 0, 10), Span("d3", 0, 10))),
    {
        "keyword": [*(FoundPassage(f"p{n}", "d9") for n in range(4)), FoundPassage("p9", "d1", (5, 30))],
        "fused": [FoundPassage("p9", "d1", (5, 30)), FoundPassage("p8", "d1")],
    },
)


def test_documents_are_measured_where_they_are_judged_and_characters_where_spans_are() -> None:
    graded = summarize([GRADED])
    assert list(graded) == ["keyword", "fused"]
    assert graded["keyword"]["mrr@10"].mean == 0.5
    assert graded["fused"]["ndcg@10"].mean == graded["fused"]["all@10"].mean == 1.0
    spanned = summarize([SPANNED])
    assert spanned["keyword"].keys() == {"characters@4", "characters@16", "characters@64"}
    assert [each.mean for each in spanned["keyword"].values()] == [0.0, 0.25, 0.25]
    both = summarize([GRADED, SPANNED])
    assert both["fused"]["ndcg@10"].count == both["fused"]["characters@4"].count == 1


def test_a_way_that_was_not_always_searched_in_is_left_out() -> None:
    part = Searched(GRADED.query, {"keyword": []})
    assert list(summarize([GRADED, part])) == ["keyword"]
    assert summarize([]) == {}


def test_sets_are_summed_up_apart_where_there_are_several() -> None:
    assert summarize_sets([GRADED]) == {}
    assert list(summarize_sets([GRADED, SPANNED])) == ["graded", "spanned"]


def test_json_has_plain_means_and_the_intervals_beside_them() -> None:
    plain = json.loads(json.dumps(as_plain(summarize([GRADED]))))
    assert plain["legs"]["keyword"]["mrr@10"] == 0.5
    assert plain["intervals"]["keyword"]["mrr@10"] == [0.5, 0.5]
    assert plain["legs"].keys() == plain["intervals"].keys()
