from __future__ import annotations

import pytest

from citemesh.rpc.errors import ServiceError
from citemesh.store.encoder_match import describe_encoder, find_difference
from citemesh.v1 import errors_pb2, retrieval_pb2
from services.retrieval.encoder_guard import EncoderGuard
from tests.unit.services.retrieval.library import Library, WordEncoder


def test_an_empty_index_agrees_with_every_encoder(library: Library) -> None:
    assert EncoderGuard(library.reader, describe_encoder(WordEncoder())).find_difference() is None


def test_a_change_of_the_index_is_seen(library: Library) -> None:
    library.add("a", ["Text."])
    guard = EncoderGuard(library.reader, describe_encoder(library.encoder))
    guard.refuse_mismatch()
    other = WordEncoder(revision="2")
    library.writer.replace_vectors(
        describe_encoder(other), lambda passages: other.encode_passages([each.text for each in passages])
    )
    with pytest.raises(ServiceError) as raised:
        guard.refuse_mismatch()
    assert raised.value.reason == errors_pb2.ERROR_REASON_ENCODER_MISMATCH


def test_canaries_tell_when_names_do_not() -> None:
    index, own = describe_encoder(WordEncoder()), describe_encoder(WordEncoder())
    assert find_difference(index, own) is None
    nudged = retrieval_pb2.EncoderContract()
    nudged.CopyFrom(index)
    nudged.canary_vectors[:] = [value + 0.001 for value in index.canary_vectors]
    assert find_difference(nudged, own) is None
    nudged.canary_vectors[:] = list(index.canary_vectors)[::-1]
    assert "canary" in (find_difference(nudged, own) or "")
    nudged.ClearField("canary_vectors")
    assert find_difference(nudged, own) is not None
