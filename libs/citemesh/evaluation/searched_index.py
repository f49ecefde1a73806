"""What a measurement searches: the index that the mesh holds for it, so that two systems are told apart."""

from __future__ import annotations

import grpc.aio

from citemesh.auth.principal import Principal, acting_as
from citemesh.rpc.calls import call
from citemesh.v1 import retrieval_pb2, retrieval_pb2_grpc

_TIMEOUT_S = 60.0


async def describe_index(evaluator: Principal, channel: grpc.aio.Channel) -> dict[str, str]:
    """By name, what two measurements must agree in to be one: encoder, store, and how much is indexed.

    The counts tell of other passages: of documents that could not be ingested, or were cut in another way. Ask once
    the documents are there. Raises ServiceError.
    """
    retrieval = retrieval_pb2_grpc.RetrievalServiceStub(channel)
    with acting_as(evaluator):
        index = await call(retrieval.DescribeIndex, retrieval_pb2.DescribeIndexRequest(), timeout=_TIMEOUT_S)
    encoder = index.encoder
    prefixes = f"prefixes {encoder.query_prefix!r} and {encoder.passage_prefix!r}"
    measure = f"{encoder.metric}{' of length 1' if encoder.normalized else ''}"
    return {
        "encoder": f"{encoder.model}@{encoder.revision}, {encoder.dimension_count} dimensions, {measure}, {prefixes}",
        "store": index.store,
        "index": f"{index.document_count} documents, {index.passage_count} passages",
    }
