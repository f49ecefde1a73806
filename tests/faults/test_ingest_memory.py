"""Ingest takes no more memory for a larger file, nor for more files: a small version of the bench."""

from __future__ import annotations

import pytest

from tests.bench.ingest_memory import measure


@pytest.mark.timeout(180)
def test_memory_of_ingest_is_bounded() -> None:
    figures = measure(large_size_bytes=40_000_000, file_count=20)
    assert [figure.name for figure in figures if not figure.holds] == []
