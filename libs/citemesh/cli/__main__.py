"""`python -m citemesh.cli`, where the `citemesh` script is not on the path."""

from __future__ import annotations

from citemesh.cli.main import main

main()
