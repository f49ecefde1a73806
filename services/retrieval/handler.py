"""RetrievalService over gRPC: one domain call for each RPC."""

from __future__ import annotations

import asyncio

import grpc.aio

from citemesh.auth.principal import current_principal
from citemesh.rpc.deadline import remaining_s, share
from citemesh.store.contract import StoreReader
from citemesh.v1 import retrieval_pb2, retrieval_pb2_grpc
from services.retrieval.describe import describe_index
from services.retrieval.listing import Lister
from services.retrieval.passages import get_passages
from services.retrieval.references import ReferenceFollower
from services.retrieval.search import Search

# What the legs may take of the time left; the rest is for fusion and the way back.
_LEG_SHARE = 0.9


class RetrievalHandler(retrieval_pb2_grpc.RetrievalServiceServicer):
    """See protos/citemesh/v1/retrieval.proto."""

    def __init__(
        self, store: StoreReader, store_name: str, search: Search, follower: ReferenceFollower, lister: Lister
    ) -> None:
        self._store = store
        self._store_name = store_name
        self._search = search
        self._follower = follower
        self._lister = lister

    async def Retrieve(  # noqa: N802  # gRPC's name
        self,
        request: retrieval_pb2.RetrieveRequest,
        context: grpc.aio.ServicerContext[retrieval_pb2.RetrieveRequest, retrieval_pb2.RetrieveResponse],
    ) -> retrieval_pb2.RetrieveResponse:
        """Run the legs and fuse their rankings."""
        timeout_s = share(remaining_s(context), _LEG_SHARE)
        return await self._search.retrieve(request, current_principal(), timeout_s)

    async def FollowReferences(  # noqa: N802  # gRPC's name
        self,
        request: retrieval_pb2.FollowReferencesRequest,
        context: grpc.aio.ServicerContext[
            retrieval_pb2.FollowReferencesRequest, retrieval_pb2.FollowReferencesResponse
        ],
    ) -> retrieval_pb2.FollowReferencesResponse:
        """Go to the places that references name."""
        return await asyncio.to_thread(self._follower.follow, request, current_principal())

    async def ListItems(  # noqa: N802  # gRPC's name
        self,
        request: retrieval_pb2.ListItemsRequest,
        context: grpc.aio.ServicerContext[retrieval_pb2.ListItemsRequest, retrieval_pb2.ListItemsResponse],
    ) -> retrieval_pb2.ListItemsResponse:
        """Gather the items of a listing."""
        return await asyncio.to_thread(self._lister.list_items, request, current_principal())

    async def GetPassages(  # noqa: N802  # gRPC's name
        self,
        request: retrieval_pb2.GetPassagesRequest,
        context: grpc.aio.ServicerContext[retrieval_pb2.GetPassagesRequest, retrieval_pb2.GetPassagesResponse],
    ) -> retrieval_pb2.GetPassagesResponse:
        """Read passages by id."""
        return await asyncio.to_thread(get_passages, self._store, request, current_principal())

    async def DescribeIndex(  # noqa: N802  # gRPC's name
        self,
        request: retrieval_pb2.DescribeIndexRequest,
        context: grpc.aio.ServicerContext[retrieval_pb2.DescribeIndexRequest, retrieval_pb2.DescribeIndexResponse],
    ) -> retrieval_pb2.DescribeIndexResponse:
        """Describe the index."""
        return await asyncio.to_thread(describe_index, self._store, self._store_name, current_principal())
