"""`python -m tests.bench [NAME...]`: times as ratios, and memory, for docs/measurements.md.

Exit code 1 where a limit is missed.
"""

from __future__ import annotations

import json
import sys

from tests.bench import dispatch, durability, encoding, hybrid, ingest_memory, interceptor, memory, opensearch
from tests.bench.report import describe_machine, show

BENCHES = {
    "dispatch": dispatch.run,
    "interceptor": interceptor.run,
    "memory": memory.run,
    "ingest_memory": ingest_memory.run,
    "encoding": encoding.run,
    "hybrid": hybrid.run,
    "durability": durability.run,
    "durability_opensearch": durability.run_opensearch,
    "opensearch": opensearch.run,
}


def main(names: list[str]) -> int:
    """Run the benches named, or all."""
    unknown = set(names) - set(BENCHES)
    if unknown:
        sys.stderr.write(f"There is no bench {', '.join(sorted(unknown))}: they are {', '.join(BENCHES)}.\n")
        return 2
    print(json.dumps(describe_machine()))
    missed = False
    for name in names or BENCHES:
        figures = BENCHES[name]()
        show(name, figures)
        missed |= not all(figure.holds for figure in figures)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
