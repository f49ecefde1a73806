"""Open the embedded store of a state directory."""

from __future__ import annotations

from pathlib import Path

from citemesh.store.contract import StoreReader, StoreWriter
from citemesh.store.embedded.reader import EmbeddedReader
from citemesh.store.embedded.writer import EmbeddedWriter


def open_writer(state_dir: Path, *, rebuild: bool = False) -> StoreWriter:
    """The writing side of the store in `state_dir`, made where it is missing; derived indexes are caught up first.

    With `rebuild` they are built anew, which takes about a minute for a million passages and core.
    Raises ServiceError STORE_UNAVAILABLE where another process holds it or the files cannot be written.
    """
    return EmbeddedWriter(state_dir / "store", rebuild=rebuild)


def open_reader(state_dir: Path) -> StoreReader:
    """A reading side of the store in `state_dir`; the store may be made later, until then it is empty."""
    return EmbeddedReader(state_dir / "store")
