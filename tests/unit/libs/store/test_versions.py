from __future__ import annotations

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from citemesh.store.versions import ALWAYS, OPEN, VersionSpan, choose_in_force, find_boundaries, find_same
from citemesh.v1.document_pb2 import Document


@st.composite
def histories(draw: st.DrawFn) -> list[VersionSpan]:
    """Versions of up to three documents, each with a number of its own."""
    spans = []
    for key in range(draw(st.integers(0, 8))):
        start = draw(st.one_of(st.just(ALWAYS), st.integers(0, 10)))
        end = draw(st.one_of(st.just(OPEN), st.integers(0, 12)))
        spans.append(VersionSpan(key, draw(st.integers(1, 3)), key + 1, start, end))
    return spans


def test_the_latest_start_is_in_force() -> None:
    old, new = VersionSpan(1, 1, 1, ALWAYS, OPEN), VersionSpan(2, 1, 2, 5, OPEN)
    assert choose_in_force([old, new], 4) == [old]
    assert choose_in_force([old, new], 5) == [new]


def test_of_one_start_the_later_stored_counts() -> None:
    wrong, corrected = VersionSpan(1, 1, 1, 5, OPEN), VersionSpan(2, 1, 2, 5, OPEN)
    assert choose_in_force([corrected, wrong], 9) == [corrected]


def test_what_was_superseded_does_not_come_back() -> None:
    old, new = VersionSpan(1, 1, 1, ALWAYS, OPEN), VersionSpan(2, 1, 2, 5, 7)
    assert choose_in_force([old, new], 7) == []


def test_an_end_before_the_start_is_never_in_force() -> None:
    assert choose_in_force([VersionSpan(1, 1, 1, 5, 3)], 4) == []


@given(histories(), st.integers(-1, 13))
def test_at_most_one_version_of_a_document_is_in_force(spans: list[VersionSpan], at_us: int) -> None:
    chosen = choose_in_force(spans, at_us)
    assert len({span.document_key for span in chosen}) == len(chosen)
    assert [span.version_key for span in chosen] == sorted(span.version_key for span in chosen)
    for span in chosen:
        assert span.from_us <= at_us < span.to_us


@given(histories(), st.integers(-1, 13))
def test_the_order_of_the_versions_does_not_matter(spans: list[VersionSpan], at_us: int) -> None:
    assert choose_in_force(spans[::-1], at_us) == choose_in_force(spans, at_us)


@given(histories(), st.integers(-1, 13))
def test_between_two_boundaries_the_choice_is_the_same(spans: list[VersionSpan], at_us: int) -> None:
    earlier = max((moment for moment in find_boundaries(spans) if moment <= at_us), default=ALWAYS)
    assert choose_in_force(spans, earlier) == choose_in_force(spans, at_us)


def stored(number: int, content: str, start: int | None, end: int | None, title: str = "Rules") -> Document:
    document = Document(document_version=number, content_hash=content, title=title)
    if start is not None:
        document.effective_from_time.CopyFrom(Timestamp(seconds=start))
    if end is not None:
        document.effective_to_time.CopyFrom(Timestamp(seconds=end))
    return document


@pytest.mark.parametrize(
    ("given_again", "repeated"),
    [
        (stored(0, "a", 5, 9), 1),
        (stored(0, "a", 5, 9, title=""), 1),
        (stored(0, "a", 5, 9, title="Lamps"), None),
        (stored(0, "a", 5, None), None),
        (stored(0, "b", 5, 9), None),
        (stored(0, "c", 7, None), 3),
        (stored(0, "b", 7, 9), None),  # corrected since by version 3, which has another end
        (stored(0, "a", None, None), None),
    ],
)
def test_a_file_repeats_only_the_last_version_of_its_start(given_again: Document, repeated: int | None) -> None:
    versions = [stored(3, "c", 7, None), stored(2, "b", 7, 9), stored(1, "a", 5, 9)]
    same = find_same(versions, given_again, given_again.content_hash, given_again.title)
    assert (same and same.document_version) == repeated
