"""`python -m services NAME...|all`: host services until SIGTERM. When ready, one line of JSON on stdout says where."""

from __future__ import annotations

import json
import os
import sys

# onnxruntime sends usage data unless this is set before it is imported.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

from citemesh.config.load import ConfigurationError
from citemesh.rpc.host import Host, StartError, run
from services.registry import ALL, NAMES, load_specs

USAGE = f"usage: python -m services NAME...\nNAME is {ALL} or some of: {', '.join(NAMES)}"


def main(arguments: list[str]) -> int:
    """Exit code: 0 after a drain, 1 where a service cannot start, 2 where names or settings are wrong."""
    if not arguments or any(argument.startswith("-") for argument in arguments):
        sys.stderr.write(USAGE + "\n")
        return 0 if set(arguments) & {"-h", "--help"} else 2
    try:
        run(load_specs(arguments), os.environ, announce)
    except ConfigurationError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except StartError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def announce(host: Host) -> None:
    """Tell whoever started this process that calls are answered now, and where."""
    line = {
        "ready": not host.problems,
        "target": host.target,
        "metrics": host.metrics_address,
        "services": host.service_names,
        "problems": host.problems,
    }
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
