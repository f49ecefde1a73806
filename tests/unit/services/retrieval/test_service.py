"""The service through the host: a real server, the real encoder, errors as callers see them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import grpc.aio
import pytest

from citemesh.auth.principal import acting_as, outgoing_metadata
from citemesh.models.encoder import load_encoder
from citemesh.models.paths import models_dir
from citemesh.models.stamp import built_dir
from citemesh.rpc.channels import open_channel
from citemesh.rpc.errors import error_reason, read_field_violations, read_status
from citemesh.rpc.host import Host, hosted
from citemesh.store.embedded.open import open_writer
from citemesh.store.encoder_match import describe_encoder
from citemesh.v1 import activation_pb2, errors_pb2, retrieval_pb2, retrieval_pb2_grpc
from citemesh.v1.document_pb2 import Document
from services.retrieval.service import SPEC
from tests.unit.services.retrieval.library import ANNA, WordEncoder, make_passage, refer

TEXTS = ["Trips abroad must be approved by a manager, see Table 1.", "Table 1: Daily rates by country.", "Cats sleep."]


@pytest.fixture(scope="session")
def installed_models() -> Path:
    folder = models_dir(os.environ)
    if not built_dir(folder).is_dir():
        pytest.skip(f"no models in {folder}; run `citemesh models pull`")
    return folder


@pytest.fixture
def environ(installed_models: Path, tmp_path: Path) -> dict[str, str]:
    return {
        "CITEMESH_MODELS_DIR": str(installed_models),
        "CITEMESH_STATE_DIR": str(tmp_path),
        "CITEMESH_AUTH_MODE": "open",
    }


def fill(state_dir: Path, models: Path) -> None:
    """Store one document with vectors of the real encoder."""
    encoder = load_encoder(models)
    writer = open_writer(state_dir)
    writer.set_encoder(describe_encoder(encoder))
    file = state_dir / "original"
    file.write_text("\n".join(TEXTS))
    passages = [make_passage(text, label="table 1" if text.startswith("Table") else "") for text in TEXTS]
    document = Document(
        document_id="policy", title="Travel", content_hash=hashlib.sha256(file.read_bytes()).hexdigest()
    )
    vectors = encoder.encode_passages(TEXTS)
    writer.put_version("acme", document, sections=[], passages=passages, vectors=vectors, file=file)
    writer.close()


@asynccontextmanager
async def calling(
    environ: Mapping[str, str],
) -> AsyncIterator[tuple[retrieval_pb2_grpc.RetrievalServiceAsyncStub, Host]]:
    async with hosted([SPEC], environ) as host, open_channel(host.target, environ, local=True) as channel:
        stub: retrieval_pb2_grpc.RetrievalServiceAsyncStub = retrieval_pb2_grpc.RetrievalServiceStub(channel)
        with acting_as(ANNA):
            yield stub, host


def ask(text: str) -> retrieval_pb2.RetrieveRequest:
    legs = (activation_pb2.PATTERN_KEYWORD, activation_pb2.PATTERN_DENSE)
    return retrieval_pb2.RetrieveRequest(queries=[retrieval_pb2.LegQuery(leg=leg, text=text) for leg in legs])


async def test_every_rpc_answers(environ: dict[str, str], tmp_path: Path, installed_models: Path) -> None:
    fill(tmp_path, installed_models)
    async with calling(environ) as (stub, host):
        assert host.problems == {}
        metadata = outgoing_metadata()
        found = await stub.Retrieve(ask("Who has to approve trips to France?"), timeout=10, metadata=metadata)
        assert found.candidates[0].passage.text == TEXTS[0]
        assert found.candidates[0].dense_score > 0.2
        assert found.keyword_leg_can_match
        other = await stub.Retrieve(ask("Wer genehmigt Reisen?"), timeout=10, metadata=metadata)
        assert not other.keyword_leg_can_match
        origin = found.candidates[0].passage.passage_id
        led = await stub.FollowReferences(
            retrieval_pb2.FollowReferencesRequest(references=[refer("table 1")], from_passage_ids=[origin]),
            timeout=10,
            metadata=metadata,
        )
        assert [candidate.passage.text for candidate in led.candidates] == [TEXTS[1]]
        items = await stub.ListItems(
            retrieval_pb2.ListItemsRequest(question="Which?", anchor_passage_ids=[origin]),
            timeout=10,
            metadata=metadata,
        )
        assert not items.items
        checks = await stub.GetPassages(
            retrieval_pb2.GetPassagesRequest(passage_ids=[origin]), timeout=10, metadata=metadata
        )
        assert checks.checks[0].status == retrieval_pb2.PASSAGE_STATUS_CURRENT
        index = await stub.DescribeIndex(retrieval_pb2.DescribeIndexRequest(), timeout=10, metadata=metadata)
        assert (index.store, index.document_count, index.passage_count) == ("embedded", 1, 3)


async def test_errors_name_their_reason_and_fields(environ: dict[str, str]) -> None:
    async with calling(environ) as (stub, _):
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await stub.Retrieve(retrieval_pb2.RetrieveRequest(), timeout=10, metadata=outgoing_metadata())
        assert error_reason(raised.value) == errors_pb2.ERROR_REASON_INVALID_FIELD
        status = read_status(raised.value)
        assert status is not None
        assert [field for field, _ in read_field_violations(status)] == ["queries"]


async def test_an_index_of_another_encoder_is_not_served(environ: dict[str, str], tmp_path: Path) -> None:
    encoder = WordEncoder()
    writer = open_writer(tmp_path)
    writer.set_encoder(describe_encoder(encoder))
    file = tmp_path / "original"
    file.write_text("Text.")
    writer.put_version(
        "acme",
        Document(document_id="a", title="A", content_hash="0"),
        sections=[],
        passages=[make_passage("Text.")],
        vectors=encoder.encode_passages(["Text."]),
        file=file,
    )
    writer.close()
    async with calling(environ) as (stub, host):
        assert "another encoder" in host.problems[SPEC.name]
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await stub.Retrieve(ask("text"), timeout=10, metadata=outgoing_metadata())
        assert raised.value.code() == grpc.StatusCode.FAILED_PRECONDITION
        assert error_reason(raised.value) == errors_pb2.ERROR_REASON_ENCODER_MISMATCH
