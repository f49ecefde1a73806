"""DescribeIndex: what the index was made with and what the caller may read of it."""

from __future__ import annotations

from citemesh.auth.principal import Principal
from citemesh.store.contract import StoreReader
from citemesh.v1.retrieval_pb2 import DescribeIndexResponse


def describe_index(store: StoreReader, store_name: str, principal: Principal) -> DescribeIndexResponse:
    """The description, counting only what `principal` may read now."""
    versions = store.allowed_versions(principal)
    counts = store.count(versions)
    return DescribeIndexResponse(
        encoder=store.encoder_contract(),
        index_snapshot=versions.index_snapshot,
        permission_version=versions.permission_version,
        store=store_name,
        document_count=counts.document_count,
        passage_count=counts.passage_count,
    )
