"""Walks along references: bounded, without circles, within access; over generated documents and a real regulation."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from citemesh.v1.evidence_pb2 import Candidate, Passage
from citemesh.v1.retrieval_pb2 import FollowReferencesRequest, FollowReferencesResponse
from services.documents.parsing.markdown import parse_markdown
from services.documents.sections import build_sections
from services.documents.splitting.passages import make_passages
from services.retrieval.references import ReferenceFollower
from tests.unit.services.retrieval.library import ANNA, Library, make_passage, make_section, refer

_PLACES = 5
_numbers = itertools.count()


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """One library for all examples; each example's documents bear its own number."""
    library = Library(tmp_path_factory.mktemp("shelf"))
    yield library
    library.close()


def follow(library: Library, origins: list[Passage], hops: int, limit: int) -> FollowReferencesResponse:
    request = FollowReferencesRequest(
        references=[reference for origin in origins for reference in origin.references][:20],
        from_passage_ids=[origin.passage_id for origin in origins],
        max_hops=hops,
        max_passages=limit,
    )
    return ReferenceFollower(library.reader, 12).follow(request, ANNA)


# For each place of a document, the places that it refers to: (document, place).
_graphs = st.lists(
    st.lists(
        st.lists(st.tuples(st.integers(0, 2), st.integers(0, _PLACES)), max_size=4), min_size=_PLACES, max_size=_PLACES
    ),
    min_size=3,
    max_size=3,
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graph=_graphs, hops=st.integers(1, 3), limit=st.integers(1, 8))
def test_walks_are_bounded_without_circles_and_within_access(
    shelf: Library, graph: list[list[list[tuple[int, int]]]], hops: int, limit: int
) -> None:
    names = [f"{letter}{next(_numbers)}" for letter in ("open", "other", "closed")]
    for document, places in enumerate(graph):
        passages = [
            make_passage(
                f"Place {place} of {names[document]}.",
                section=f"s{place}",
                references=[
                    refer(f"section {to}", document_id="" if other == document else names[other])
                    for other, to in targets
                ],
            )
            for place, targets in enumerate(places)
        ]
        sections = [make_section(f"s{place}", f"Part {place}", number=str(place)) for place in range(_PLACES)]
        groups = ["hr"] if names[document].startswith("closed") else None
        shelf.add(names[document], passages, sections=sections, groups=groups)
    versions = shelf.reader.allowed_versions(ANNA)
    origin = shelf.reader.document_passages(versions, names[0])[0]
    if not origin.references:
        return
    response = follow(shelf, [origin], hops, limit)
    check_walk(shelf, response, [origin], hops, limit)
    assert {candidate.passage.document_id for candidate in response.candidates} <= set(names[:2])


def check_walk(
    library: Library, response: FollowReferencesResponse, origins: list[Passage], hops: int, limit: int
) -> None:
    """Bounds, no passage twice, and each path goes from an origin along references that its passages hold."""
    ids = [candidate.passage.passage_id for candidate in response.candidates]
    assert len(ids) == len(set(ids)) <= limit
    versions = library.reader.allowed_versions(ANNA)
    for candidate in response.candidates:
        assert 1 <= candidate.hop_count <= hops
        path = list(candidate.hop_passage_ids)
        assert len(path) == len(set(path)) == candidate.hop_count
        assert path[0] in {origin.passage_id for origin in origins}
        assert candidate.passage.passage_id not in path
        held = library.reader.passages_by_id(path, versions)
        assert holds(held[path[-1]], candidate)


def holds(passage: Passage, candidate: Candidate) -> bool:
    return candidate.reached_by in passage.references


def test_many_references_are_tried_up_to_a_bound(library: Library) -> None:
    everywhere = [refer(f"section {number}") for number in range(30)]
    passages = [make_passage(f"Place {number}.", section=f"s{number}", references=everywhere) for number in range(30)]
    library.add("web", passages, sections=[make_section(f"s{number}", "S", number=str(number)) for number in range(30)])
    origin = library.reader.document_passages(library.reader.allowed_versions(ANNA), "web")[0]
    response = follow(library, [origin], 3, 10)
    check_walk(library, response, [origin], 3, 10)
    assert len(response.candidates) == 10


def test_a_real_regulation_is_walked(library: Library, shared_data: Path) -> None:
    document = parse_markdown(shared_data / "qa" / "regs" / "1003-2018-01-01.md")
    tree = build_sections(document)
    passages = make_passages(document, tree, lambda texts: [len(text.split()) for text in texts], "en")
    library.add("reg", passages, sections=tree.sections, title=document.title)
    versions = library.reader.allowed_versions(ANNA)
    stored = library.reader.document_passages(versions, "reg")
    holders = [passage for passage in stored if passage.references]
    assert len(holders) > 60
    reached = 0
    for origin in holders[::6]:
        response = follow(library, [origin], 2, 12)
        check_walk(library, response, [origin], 2, 12)
        reached += bool(response.candidates)
    # What a text refers to was looked up in this very document when it was read.
    assert reached >= 0.9 * len(holders[::6])
