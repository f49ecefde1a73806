"""Passages of some pages replaced: order, ordinals and ids."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from citemesh.store.page_splice import plan_splice
from citemesh.v1.evidence_pb2 import Passage


def make(page: int, text: str, passage_id: str, last: int = 0) -> Passage:
    return Passage(page_first=page, page_last=last or page, content_hash=text, passage_id=passage_id)


def test_a_passage_that_touches_the_page_goes_and_its_text_keeps_its_id() -> None:
    stored = [make(1, "a", "#0"), make(1, "b", "#1", last=2), make(2, "c", "#2"), make(3, "d", "#3")]
    new = [make(2, "c", "#4"), make(2, "new", "#5")]
    splice = plan_splice(stored, [2], new)
    assert splice.removed == [1, 2]
    assert splice.order == [(False, 0), (True, 0), (True, 1), (False, 3)]
    assert [each.passage_id for each in new] == ["#2", "#5"]
    assert [stored[0].ordinal, new[0].ordinal, new[1].ordinal, stored[3].ordinal] == [0, 1, 2, 3]
    assert splice.is_changed


def test_the_same_text_again_is_no_change() -> None:
    stored = [make(1, "a", "#0"), make(2, "b", "#1")]
    assert not plan_splice(stored, [2], [make(2, "b", "#2")]).is_changed


TEXTS = st.lists(st.tuples(st.integers(1, 4), st.sampled_from("abc")), max_size=8)


@given(TEXTS, TEXTS, st.sets(st.integers(1, 4)))
def test_nothing_is_lost_and_no_id_is_used_twice(
    stored_texts: list[tuple[int, str]], new_texts: list[tuple[int, str]], pages: set[int]
) -> None:
    stored = [make(page, text, f"old{at}") for at, (page, text) in enumerate(sorted(stored_texts))]
    new = [make(page, text, f"new{at}") for at, (page, text) in enumerate(sorted(new_texts))]
    splice = plan_splice(stored, sorted(pages), new)
    kept = [at for at in range(len(stored)) if at not in splice.removed]
    assert sorted(splice.order) == sorted([(False, at) for at in kept] + [(True, at) for at in range(len(new))])
    result = [(new if is_new else stored)[at] for is_new, at in splice.order]
    assert [each.ordinal for each in result] == list(range(len(result)))
    assert [each.page_first for each in result] == sorted(each.page_first for each in result)
    assert len({each.passage_id for each in result}) == len(result)
    assert all(stored[at].page_first in pages for at in splice.removed)
