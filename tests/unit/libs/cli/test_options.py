"""Shared options, files to ingest, access: what is read from the command line."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.cli.access import describe_access, read_access
from citemesh.cli.exits import CommandError
from citemesh.cli.files import find_files
from citemesh.cli.options import read_credentials, read_time
from citemesh.cli.output import make_printable

NAMES = (
    st.text(st.characters(blacklist_categories=["Cs"]), min_size=1)
    .map(str.strip)
    .filter(lambda name: bool(name) and not set(name) & {":", ","})
)


@given(user=NAMES, groups=st.lists(NAMES, unique=True))
def test_names_survive_the_way_into_metadata(user: str, groups: list[str]) -> None:
    metadata = dict(read_credentials(f"{user}:{','.join(groups)}", {}))
    assert unquote(metadata["x-citemesh-user"]) == user
    sent = metadata["x-citemesh-groups"]
    assert [unquote(group) for group in sent.split(",") if group] == groups
    assert sent.isascii()


def test_a_token_is_sent_as_bearer() -> None:
    assert dict(read_credentials(None, {"CITEMESH_TOKEN": "abc"})) == {"authorization": "Bearer abc"}
    assert read_credentials(None, {}) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-31", "2026-01-31T00:00:00Z"),
        ("2026-01-31T09:00:00+01:00", "2026-01-31T08:00:00Z"),
        ("2026-01-31T09:00:00", "2026-01-31T09:00:00Z"),
    ],
)
def test_days_begin_in_universal_time(text: str, expected: str) -> None:
    time = read_time(text, "--as-of")
    assert time is not None
    assert time.ToJsonString() == expected


@pytest.mark.parametrize("text", ["", "31.01.2026", "2026-02-30", "yesterday"])
def test_what_is_no_date_names_the_option(text: str) -> None:
    with pytest.raises(CommandError, match="--as-of"):
        read_time(text, "--as-of")


def test_access_is_everyone_only_by_that_word() -> None:
    assert read_access((), (), everyone=False) is None
    everyone = read_access((), (), everyone=True)
    assert everyone is not None
    assert everyone.WhichOneof("access") == "everyone"
    some = read_access(["hr"], ["ana"], everyone=False)
    assert some is not None
    assert describe_access(some) == "group hr, user ana"
    for blank in ("", "  "):
        with pytest.raises(CommandError):
            read_access([blank], (), everyone=False)


def test_links_to_folders_are_not_followed(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (inside / "a.md").write_text("a")
    (outside / "b.md").write_text("b")
    (inside / "link").symlink_to(outside)
    (inside / "loop").symlink_to(inside)
    assert [file.path.name for file in find_files([inside])] == ["a.md"]


def test_ids_made_of_folders_are_ones_that_the_mesh_takes(tmp_path: Path) -> None:
    for name in ("_a b/Übersicht (2).md", "政策/文件.md", "x" * 150 + "/" + "y" * 150 + ".md"):
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True)
        path.write_text("a")
    ids = [file.document_id for file in find_files([tmp_path / "root"])]
    assert "a-b/Ubersicht-2" in ids
    assert "653f-7b56/6587-4ef6" in ids
    assert all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9\-_.:/]{0,199}", document_id) for document_id in ids)


def test_a_file_named_outright_is_taken_whatever_its_ending(tmp_path: Path) -> None:
    (tmp_path / "report.xyz").write_text("a")
    assert len(find_files([tmp_path / "report.xyz"])) == 1
    with pytest.raises(CommandError, match="nothing to ingest"):
        find_files([tmp_path])


@given(st.text())
def test_printed_text_steers_no_terminal(text: str) -> None:
    shown = make_printable(text)
    assert len(shown) == len(text)
    assert not any(ord(character) < 32 and character not in "\n\t" for character in shown)
    assert "\x1b" not in shown
    assert "\u202e" not in shown
