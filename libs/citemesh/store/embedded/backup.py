"""Copies of the embedded store: taken while it is in use, checked by sha256, put back whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from citemesh.store.embedded.database import FILE_NAME, as_store_errors
from citemesh.store.embedded.schema import SCHEMA_VERSION
from citemesh.store.files import FOLDER_NAME, OriginalFiles

MANIFEST_NAME: Final = "manifest.json"
_FORMAT_VERSION: Final = 1
_PAGES_PER_STEP: Final = 2_000
_COPY_SIZE_BYTES: Final = 1024 * 1024
# A document that is deleted between the two copies makes them disagree; then both are taken again.
_ATTEMPTS: Final = 5

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done and how much there is."""


class BackupError(Exception):
    """A backup that cannot be made, or is not to be trusted; the message says what to do."""


@dataclass(frozen=True, slots=True)
class BackupSize:
    """What a backup holds."""

    document_count: int
    passage_count: int
    file_count: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class _Original:
    tenant_id: str
    content_hash: str


def back_up(state_dir: Path, target: Path, progress: Progress) -> BackupSize:
    """Copy the store of `state_dir` into the new folder `target`; a running mesh goes on reading and writing.

    The copy is one state of the store: that of some moment during the call. `target` appears when it is complete and
    on disk. Raises BackupError where `target` exists, there is no store, or an original file is missing or damaged.
    """
    root = state_dir / "store"
    if not (root / FILE_NAME).is_file():
        raise BackupError(f"There is no document store in {state_dir}.")
    if target.resolve().is_relative_to(root.resolve()):
        raise BackupError(f"{target} lies within the store that it would be a copy of: name a folder outside {root}.")
    with as_store_errors(), _new_folder(target) as folder:
        for _ in range(_ATTEMPTS):
            _copy_database(root / FILE_NAME, folder / FILE_NAME, progress)
            missing = _copy_originals(root, folder, progress)
            if missing is None:
                return _describe(folder)
        raise BackupError(f"The original file with the hash {missing} is missing in the store.")


def restore(source: Path, state_dir: Path, progress: Progress) -> BackupSize:
    """Put the backup in `source` in the place of the store of `state_dir`, where there is none.

    Every file is checked before anything is put in place. Raises BackupError where the backup is incomplete or
    damaged, was made by a later version, or `state_dir` has a store.
    """
    root = state_dir / "store"
    manifest = _read_manifest(source)
    if root.exists() and any(each.name != "writer.lock" for each in root.iterdir()):
        raise BackupError(
            f"{root} holds a store already, and nothing is overwritten: stop the mesh and move that folder away first."
        )
    with as_store_errors():
        state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        if root.exists():
            shutil.rmtree(root)
        with _new_folder(root) as folder:
            entries: list[dict[str, Any]] = manifest["files"]
            for number, entry in enumerate(entries):
                progress("files", number, len(entries))
                _copy_checked(source / entry["path"], folder / entry["path"], entry)
            progress("files", len(entries), len(entries))
            _check_database(folder / FILE_NAME)
            (folder / MANIFEST_NAME).unlink(missing_ok=True)
    return BackupSize(**manifest["size"])


@contextmanager
def _new_folder(target: Path) -> Iterator[Path]:
    """A folder beside `target` that takes its name when the block ends well, and is removed when it does not."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise BackupError(f"{target} exists already, and nothing is overwritten: name a new folder.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}-"))
    except OSError as error:
        raise BackupError(f"{target} cannot be made: {error.strerror}.") from error
    try:
        yield folder
        _sync(folder)
        folder.rename(target)
        _sync(target.parent)
    except BaseException:  # no end may leave half a copy; raised again
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _copy_database(source: Path, target: Path, progress: Progress) -> None:
    target.unlink(missing_ok=True)
    with closing(sqlite3.connect(source)) as live, closing(sqlite3.connect(target)) as copy:
        live.execute("PRAGMA busy_timeout = 10000")
        # One read transaction for the whole copy: without it each write by the mesh would begin the copy anew.
        live.execute("BEGIN")
        live.execute("SELECT 1 FROM facts LIMIT 1").fetchone()
        live.backup(
            copy,
            pages=_PAGES_PER_STEP,
            progress=lambda _status, left, total: progress("database", total - left, total),
            sleep=0,
        )
        live.execute("ROLLBACK")
        # The copy is one file, without a log beside it.
        copy.execute("PRAGMA journal_mode = DELETE")
    _check_database(target)
    _sync(target)


def _copy_originals(root: Path, folder: Path, progress: Progress) -> str | None:
    """Copy the originals that the copied database refers to; the hash of one that is gone, or None."""
    live, copy = OriginalFiles(root), OriginalFiles(folder)
    shutil.rmtree(folder / FOLDER_NAME, ignore_errors=True)
    originals = _read_originals(folder / FILE_NAME)
    entries = []
    for number, original in enumerate(originals):
        progress("files", number, len(originals))
        source = live.path(original.tenant_id, original.content_hash)
        target = copy.path(original.tenant_id, original.content_hash)
        try:
            entry = _copy_file(source, target)
        except FileNotFoundError:
            return original.content_hash
        if len(original.content_hash) == len(entry["sha256"]) and original.content_hash != entry["sha256"]:
            raise BackupError(
                f"The original file {source} is damaged: its content is not that of its hash. Ingest the document "
                "again or delete it, then make the backup."
            )
        entries.append({"path": str(target.relative_to(folder)), **entry})
    progress("files", len(originals), len(originals))
    database = {"path": FILE_NAME, **_describe_file(folder / FILE_NAME)}
    size = _measure(folder / FILE_NAME, len(entries), sum(entry["size_bytes"] for entry in [database, *entries]))
    _write_manifest(folder, [database, *entries], size)
    return None


def _read_originals(database: Path) -> list[_Original]:
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute(
            "SELECT DISTINCT tenant_id, content_hash FROM versions JOIN documents USING (document_row) ORDER BY 1, 2"
        )
        return [_Original(*row) for row in rows]


def _measure(database: Path, file_count: int, size_bytes: int) -> dict[str, int]:
    with closing(sqlite3.connect(database)) as connection:
        documents = connection.execute("SELECT count(*) FROM documents").fetchone()[0]
        passages = connection.execute("SELECT count(*) FROM passages").fetchone()[0]
    return {
        "document_count": documents,
        "passage_count": passages,
        "file_count": file_count,
        "size_bytes": size_bytes,
    }


def _check_database(path: Path) -> None:
    """Raise BackupError where SQLite finds the file damaged."""
    with closing(sqlite3.connect(path)) as connection:
        try:
            found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        except sqlite3.DatabaseError as error:
            found = str(error)
    if found != "ok":
        raise BackupError(f"The database is damaged ({found}).")


def _copy_file(source: Path, target: Path) -> dict[str, Any]:
    """Copy one file to disk; its sha256 and size, of the bytes as they were read."""
    digest, size_bytes = hashlib.sha256(), 0
    with source.open("rb") as original:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as copy:
            while chunk := original.read(_COPY_SIZE_BYTES):
                digest.update(chunk)
                size_bytes += len(chunk)
                copy.write(chunk)
            copy.flush()
            os.fsync(copy.fileno())
    return {"sha256": digest.hexdigest(), "size_bytes": size_bytes}


def _copy_checked(source: Path, target: Path, entry: dict[str, Any]) -> None:
    try:
        copied = _copy_file(source, target)
    except FileNotFoundError:
        raise BackupError(f"The backup is incomplete: {source} is missing.") from None
    if copied["sha256"] != entry["sha256"]:
        raise BackupError(f"The backup is damaged: {source} has not the checksum that was recorded. Use another one.")


def _describe_file(path: Path) -> dict[str, Any]:
    with path.open("rb") as stream:
        return {"sha256": hashlib.file_digest(stream, "sha256").hexdigest(), "size_bytes": path.stat().st_size}


def _write_manifest(folder: Path, entries: list[dict[str, Any]], size: dict[str, int]) -> None:
    content = {"format_version": _FORMAT_VERSION, "schema_version": SCHEMA_VERSION, "size": size, "files": entries}
    path = folder / MANIFEST_NAME
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    _sync(path)


def _describe(folder: Path) -> BackupSize:
    return BackupSize(**_read_manifest(folder)["size"])


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST_NAME).read_text(encoding="utf-8"))
        known = (int(manifest["format_version"]), int(manifest["schema_version"]))
        entries = [(Path(entry["path"]), entry["sha256"]) for entry in manifest["files"]]
        BackupSize(**manifest["size"])
        if Path(FILE_NAME) not in [path for path, _ in entries]:
            raise KeyError(FILE_NAME)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BackupError(f"{folder} is no backup of a document store: it has no whole {MANIFEST_NAME}.") from error
    if known[0] != _FORMAT_VERSION or known[1] > SCHEMA_VERSION:
        raise BackupError(f"{folder} was made by a later version of citemesh: restore it with that version.")
    if any(path.is_absolute() or ".." in path.parts for path, _ in entries):
        raise BackupError(f"{folder / MANIFEST_NAME} names files outside the backup.")
    return manifest


def _sync(path: Path) -> None:
    """Have a file's content, or a folder's names, survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
