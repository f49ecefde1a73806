"""What all requests share, and what each one gets of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from google.protobuf.timestamp_pb2 import Timestamp

from citemesh.v1 import dispatcher_pb2
from services.dispatcher.budget import reserve_s
from services.dispatcher.measures import Measures
from services.dispatcher.pipelines import LoadedPipeline
from services.dispatcher.settings import DispatcherSettings
from services.dispatcher.stages import Stages, Stubs


@dataclass(frozen=True, slots=True)
class Desk:
    """Made once at start."""

    stubs: Stubs
    settings: DispatcherSettings
    pipelines: Mapping[str, LoadedPipeline]
    measures: Measures

    def time_for(self, left_s: float | None) -> float:
        """Seconds that a request has whose caller leaves it `left_s`; None: the caller gave no deadline."""
        return self.settings.default_timeout_s if left_s is None else left_s

    def open_stages(
        self, request: dispatcher_pb2.AnswerRequest | dispatcher_pb2.ExplainRequest, left_s: float | None
    ) -> Stages:
        """The stages for one request; they end a reserve before its time does."""
        as_of_time = Timestamp()
        if request.HasField("as_of_time"):
            as_of_time.CopyFrom(request.as_of_time)
        else:
            # One moment for the whole request: a document that changes while it runs is not seen half.
            as_of_time.GetCurrentTime()
        total_s = self.time_for(left_s)
        stages = Stages(self.stubs, request.scope if request.HasField("scope") else None, as_of_time, ends_at=0.0)
        stages.ends_at = stages.clock() + total_s - reserve_s(total_s)
        return stages
