"""Zip packages (Office, EPUB) opened with a bound on what they unpack to, and their XML read without entities."""

from __future__ import annotations

import contextlib
import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from lxml import etree  # type: ignore[import-untyped]  # it ships no types

from services.documents.parsing.refusal import ParseRefused, RefusalReason

MAX_UNPACKED_BYTES: Final = 300 * 1024 * 1024
_MAX_PART_COUNT: Final = 20_000
_SAMPLE_BYTES: Final = 4096
_ENCRYPTED: Final = 0x1


@contextlib.contextmanager
def open_package(path: Path, kind: str) -> Iterator[zipfile.ZipFile]:
    """The package at `path`; `kind` names it in messages ("DOCX").

    Raises ParseRefused where it is damaged, encrypted, unpacks to more than 300 MiB, or where a part of it declares
    XML entities, which no application writes and which unfold to any size. What the block raises for a damaged part
    becomes a refusal too.
    """
    try:
        with zipfile.ZipFile(path) as package:
            members = package.infolist()
            # A part is never unpacked beyond the size that it declares.
            if len(members) > _MAX_PART_COUNT or sum(member.file_size for member in members) > MAX_UNPACKED_BYTES:
                raise ParseRefused(
                    RefusalReason.TOO_LARGE, f"The {kind} unpacks to more than {MAX_UNPACKED_BYTES >> 20} MiB."
                )
            if any(member.flag_bits & _ENCRYPTED for member in members):
                raise ParseRefused(RefusalReason.UNSUPPORTED, f"The {kind} is encrypted: send it without a password.")
            _refuse_entities(package, members, kind)
            yield package
    except (
        zipfile.BadZipFile, zlib.error, KeyError, ValueError, OSError, EOFError, NotImplementedError, etree.LxmlError
    ) as error:  # fmt: skip
        raise ParseRefused(RefusalReason.UNREADABLE, f"The file is damaged: it is not a readable {kind}.") from error


def read_xml(package: zipfile.ZipFile, name: str) -> etree._Element:
    """The root of a part. Raises KeyError where there is none, LxmlError where it is no XML."""
    return parse_xml(package.read(name))


def parse_xml(data: bytes) -> etree._Element:
    """XML without entities, network or huge nodes."""
    return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False))


def resolve_part(base: str, target: str) -> str:
    """The name of the part that a link in `base` leads to, without its fragment."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), unquote(target.partition("#")[0])))


def read_core_title(package: zipfile.ZipFile) -> str:
    """The title of an Office document's properties; empty where there is none."""
    try:
        found = read_xml(package, "docProps/core.xml").find("{http://purl.org/dc/elements/1.1/}title")
    except (KeyError, etree.LxmlError):
        return ""
    return " ".join((found.text or "").split())[:300] if found is not None else ""


def _refuse_entities(package: zipfile.ZipFile, members: list[zipfile.ZipInfo], kind: str) -> None:
    for member in members:
        if member.filename.lower().endswith((".xml", ".rels", ".opf", ".ncx")):
            with package.open(member) as part:
                # Without its zeros UTF-16 reads like ASCII.
                start = part.read(_SAMPLE_BYTES).replace(b"\0", b"")
            if b"<!ENTITY" in start or (b"<!DOCTYPE" in start and kind != "EPUB"):
                raise ParseRefused(
                    RefusalReason.UNREADABLE, f"The {kind} declares XML entities: it is damaged or made to do harm."
                )
