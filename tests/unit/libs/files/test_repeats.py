"""A file's id from its name or its way, and what counts as the same file with the same readers."""

from __future__ import annotations

from pathlib import Path, PurePath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.files.ids import derive_id, derive_nested_id
from citemesh.files.repeats import changes_access, find_repeated
from citemesh.models.files import hash_file
from citemesh.v1.document_pb2 import AccessPolicy, AllowedPrincipals, Document, Everyone
from citemesh.v1.documents_pb2 import IngestHeader

EVERYONE = AccessPolicy(everyone=Everyone())
TWO = AccessPolicy(only=AllowedPrincipals(groups=["hr", "staff"]))
TWO_TURNED = AccessPolicy(only=AllowedPrincipals(groups=["staff", "hr", "hr"]))
NOBODY = AccessPolicy(only=AllowedPrincipals())


@pytest.mark.parametrize(
    ("way", "document_id"),
    [
        ("a.pdf", "a"),
        ("2025/Émile's notes.md", "2025/Emile-s-notes"),
        ("отчёт/файл.txt", "43e-442-447-451-442/444-430-439-43b"),
        ("-a-/_b_.md", "a/b"),
    ],
)
def test_a_file_is_named_by_its_way_below_the_folder(way: str, document_id: str) -> None:
    assert derive_nested_id(PurePath(way)) == document_id


@given(st.text(min_size=1, max_size=255).filter(lambda name: "/" not in name and "\0" not in name))
def test_every_name_gives_an_id_of_the_allowed_form(name: str) -> None:
    derived = derive_id(name)
    assert 1 <= len(derived) <= 200
    assert derived.isascii()
    assert derived[0].isalnum()
    assert not set(derived) - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")


@pytest.mark.parametrize(
    ("asked", "stored", "changes"),
    [
        (None, TWO, False),
        (TWO, TWO_TURNED, False),
        (TWO, EVERYONE, True),
        (NOBODY, EVERYONE, True),
        (EVERYONE, EVERYONE, False),
        (EVERYONE, NOBODY, True),
    ],
)
def test_readers_are_a_set_and_none_named_keeps_them(
    asked: AccessPolicy | None, stored: AccessPolicy, changes: bool
) -> None:
    assert changes_access(IngestHeader(access=asked), Document(access=stored)) is changes


def test_a_file_is_repeated_only_with_its_readers(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("text")
    content_hash = hash_file(file)
    stored = Document(document_version=1, content_hash=content_hash, access=TWO)
    assert find_repeated([stored], IngestHeader(access=TWO_TURNED), content_hash) == stored
    assert find_repeated([stored], IngestHeader(access=EVERYONE), content_hash) is None
    assert find_repeated([stored], IngestHeader(title="Other"), content_hash) is None
    assert find_repeated([stored], IngestHeader(), "another") is None
