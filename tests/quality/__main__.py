"""`make eval`: how good the answers and their parts are on the data beside the checkout.

`python -m tests.quality` measures all parts, `python -m tests.quality PART [ARGUMENT...]` one of them: a module of this
folder with `main(arguments) -> exit status`.
"""

from __future__ import annotations

import importlib
import sys

from tests.conftest import REPO

PARTS = ("answers", "retrieval", "references", "versions", "opensearch")


def run(arguments: list[str]) -> int:
    """Measure the part named first, or all. The worst exit status of them."""
    if not (REPO.parent / "shared" / "data").is_dir():
        sys.stderr.write("The evaluation data is not beside this checkout (../shared/data): nothing to measure.\n")
        return 2
    if arguments and arguments[0] not in PARTS:
        sys.stderr.write(f"There is no part {arguments[0]!r}; the parts are {', '.join(PARTS)}.\n")
        return 2
    parts = arguments[:1] or PARTS
    statuses: list[int] = [importlib.import_module(f"tests.quality.{part}").main(arguments[1:]) for part in parts]
    return max(statuses)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
