from __future__ import annotations

from prometheus_client import CollectorRegistry

from citemesh.store.contract import Hit, VersionFilter
from citemesh.telemetry.metrics import MetricFactory
from citemesh.v1 import activation_pb2
from citemesh.v1.retrieval_pb2 import LegQuery
from services.retrieval.leg_runner import LegRunner
from services.retrieval.measures import Measures

DENSE = activation_pb2.PATTERN_DENSE
VERSIONS = VersionFilter("acme", (1,), "s-1", 1, "key")


class CountingLeg:
    pattern = DENSE

    def __init__(self) -> None:
        self.count = 0

    def search(self, text: str, versions: VersionFilter, limit: int) -> list[Hit]:
        self.count += 1
        return [Hit(self.count, 1.0)]


async def test_rankings_of_another_encoder_are_not_reused() -> None:
    used, leg = [b"one"], CountingLeg()
    runner = LegRunner({DENSE: leg}, 1, 10, Measures(MetricFactory(CollectorRegistry())), lambda: used[0])
    for encoder, expected in ((b"one", 1), (b"one", 1), (b"two", 2), (b"one", 2)):
        used[0] = encoder
        (outcome,) = await runner.run([LegQuery(leg=DENSE, text="a")], VERSIONS, 5, None)
        assert leg.count == expected
        assert outcome.rankings
    runner.close()
