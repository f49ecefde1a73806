"""Opens the store that the environment names: the embedded one, or that of an OpenSearch cluster."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from citemesh.config.paths import STORE_URL_VARIABLE
from citemesh.store.contract import StoreReader, StoreWriter
from citemesh.store.embedded import open as embedded


def open_writer(state_dir: Path, environ: Mapping[str, str] = os.environ) -> StoreWriter:
    """The writing side, made where it is missing. Raises STORE_UNAVAILABLE where another process holds it.

    ConfigurationError where the settings of the cluster are wrong; so does `open_reader`.
    """
    if store_name(environ) == "embedded":
        return embedded.open_writer(state_dir)
    settings = _load("settings").read_settings(environ)
    writer: StoreWriter = _load("writer").OpenSearchWriter(settings, state_dir / "store")
    return writer


def open_reader(state_dir: Path, environ: Mapping[str, str] = os.environ) -> StoreReader:
    """A reading side; the store may be made later, until then it is empty."""
    if store_name(environ) == "embedded":
        return embedded.open_reader(state_dir)
    settings = _load("settings").read_settings(environ)
    reader: StoreReader = _load("reader").OpenSearchReader(settings, state_dir / "store")
    return reader


def store_name(environ: Mapping[str, str] = os.environ) -> str:
    """Which store that is, for people: "embedded" or "opensearch"."""
    return "opensearch" if environ.get(STORE_URL_VARIABLE, "").strip() else "embedded"


def _load(name: str) -> Any:
    # Loaded here: a mesh of one machine does not need the client.
    return importlib.import_module(f"citemesh.store.opensearch.{name}")
