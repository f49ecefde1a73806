"""Which files an ingest takes: those named, and those of the known kinds in the folders named."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from citemesh.cli.exits import CommandError
from citemesh.files.ids import derive_id, derive_nested_id
from citemesh.files.regular import measure_regular

SUFFIXES: Final = frozenset({
    ".pdf", ".docx", ".pptx", ".xlsx", ".html", ".htm", ".md", ".markdown", ".epub", ".eml", ".csv", ".tsv",
    ".json", ".jsonl", ".txt",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileToIngest:
    """A file and the id of the document that it becomes; an empty id is derived by the mesh from the file's name."""

    path: Path
    document_id: str


def find_files(paths: Iterable[Path], document_id: str = "") -> list[FileToIngest]:
    """The files of an ingest in a stable order.

    A file of a folder is named by its way from that folder, so that two of the same name in different folders stay two
    documents. Raises CommandError where a path is missing, nothing is found, or two files would become one document.
    """
    found = [file for path in paths for file in _walk(path)]
    if not found:
        raise CommandError(f"There is nothing to ingest: no file ending in {', '.join(sorted(SUFFIXES))}")
    if document_id:
        if len(found) > 1:
            raise CommandError(f"--document-id names one document, and {len(found)} files were given")
        return [FileToIngest(found[0].path, document_id)]
    _refuse_twins(found)
    return found


def _walk(path: Path) -> Iterator[FileToIngest]:
    if not path.is_dir():
        try:
            measure_regular(path)
        except FileNotFoundError:
            raise CommandError(f"{path}: there is no such file or folder") from None
        except OSError as error:
            raise _unreadable(error, path) from None
        yield FileToIngest(path, "")
        return
    # Links to folders are not followed: they may lead out, or round in a circle.
    for folder, subfolders, names in os.walk(path, onerror=_refuse):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        for name in sorted(names):
            file = Path(folder) / name
            # A pipe or a broken link is told when it is its turn: it stops no other file.
            if file.suffix.lower() in SUFFIXES and not name.startswith("."):
                relative = file.relative_to(path)
                nested = len(relative.parts) > 1
                yield FileToIngest(file, derive_nested_id(relative) if nested else "")


def _refuse(error: OSError) -> NoReturn:
    """Ends the search at a folder that cannot be opened: its files would be left out without a word."""
    raise _unreadable(error, error.filename)


def _unreadable(error: OSError, path: object) -> CommandError:
    return CommandError(f"{path}: {error.strerror or 'it cannot be read'}")


def _refuse_twins(found: list[FileToIngest]) -> None:
    """Two files that would be taken for two versions of one document are named, before anything is sent."""
    seen: dict[str, Path] = {}
    for file in found:
        key = (file.document_id or derive_id(file.path.name)).lower()
        other = seen.setdefault(key, file.path)
        if other != file.path:
            raise CommandError(
                f"{other} and {file.path} would become two versions of one document. "
                "Ingest them one by one and name each with --document-id."
            )
