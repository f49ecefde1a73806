"""The id of the document that a file becomes where none is given: from its name, or from its way below a folder."""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePath, PurePosixPath
from typing import Final

_NOT_IN_AN_ID: Final = re.compile(r"[^A-Za-z0-9_.]+")
_EDGES: Final = "-._"
_MAX_ID_LENGTH: Final = 200
_MAX_SPELT_LENGTH: Final = 30


def derive_id(file_name: str) -> str:
    """A document id from a file's name without its ending: accents dropped, other characters as hyphens."""
    stem = PurePosixPath(file_name).stem or file_name
    # A name in another script leaves nothing: its code points still name it.
    return _plain(stem)[:_MAX_ID_LENGTH] or f"document-{_spell(stem)}"


def derive_nested_id(relative: PurePath) -> str:
    """A document id from a file's way below a folder, so that two files of the same name stay two documents."""
    parts = relative.with_suffix("").parts
    return "/".join(_plain(part) or _spell(part) for part in parts)[-_MAX_ID_LENGTH:].lstrip(f"{_EDGES}/")


def _plain(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return _NOT_IN_AN_ID.sub("-", plain).strip(_EDGES)


def _spell(name: str) -> str:
    return "-".join(f"{ord(character):x}" for character in name[:_MAX_SPELT_LENGTH])
