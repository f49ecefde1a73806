"""Find the built models for use: checked, and built first where only the weights are there."""

from __future__ import annotations

import threading
from pathlib import Path

import structlog

from citemesh.models.fetch_published import verify_published
from citemesh.models.paths import encoder_dir, source_dir
from citemesh.models.published import find_published, published_dir
from citemesh.models.stamp import STAMP_FILE_NAME, built_dir, verify_build

_log = structlog.get_logger(__name__)
_verified: set[Path] = set()
_verified_lock = threading.Lock()


def locate_build(models_dir: Path) -> Path:
    """The folder of built graphs, checked once per process.

    Builds where this version was never built but the weights are there. Raises ModelError where files are missing or
    damaged; a damaged build is refused rather than quietly replaced.
    """
    folder = built_dir(models_dir)
    with _verified_lock:
        if folder in _verified:
            return folder
        if not (folder / STAMP_FILE_NAME).is_file() and source_dir(models_dir).is_dir():
            from citemesh.models.build import build  # brings in the graph writer, which a machine needs once

            build(models_dir, lambda line: _log.info("models.building", detail=line))
        verify_build(folder)
        _verified.add(folder)
    return folder


def locate_encoder(models_dir: Path, chosen: Path | None) -> Path:
    """The folder of an encoder: the default one, a published one by its name (see published.py), or `chosen` itself.

    What is found by name is checked once per process. Raises ModelError where files are missing or damaged.
    """
    if chosen is None:
        return encoder_dir(locate_build(models_dir))
    published = find_published(chosen)
    if published is None:
        return chosen
    folder = published_dir(models_dir, published)
    with _verified_lock:
        if folder not in _verified:
            verify_published(folder, published)
            _verified.add(folder)
    return folder
