"""Question sets: JSON lines beside a sets.json that says what each set ingests."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class QuestionSetError(ValueError):
    """A question set that cannot be read; the text names file, line and what to do."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file that must be in the store.

    `path` is absolute; `allow` holds names of users and groups, empty for everyone; dates are UTC midnights.
    """

    path: Path
    document_id: str
    title: str
    effective_from: datetime.datetime | None
    effective_to: datetime.datetime | None
    allow: tuple[str, ...]
    password: str = ""

    def in_force(self, as_of: datetime.datetime) -> bool:
        """Whether its own dates hold at `as_of`."""
        return (self.effective_from is None or self.effective_from <= as_of) and (
            self.effective_to is None or as_of < self.effective_to
        )

    def readable_by(self, names: Iterable[str]) -> bool:
        """Whether one of the asker's names (user and groups) may read it."""
        return not self.allow or bool(set(self.allow) & set(names))


@dataclass(frozen=True, slots=True)
class Gold:
    """A passage that should be cited; `page_number` is 1-based, 0 for files without pages."""

    path: Path
    page_number: int
    quote: str


@dataclass(frozen=True, slots=True)
class Question:
    """One row: what is asked, by whom, over which files, and what is expected."""

    question_id: str
    set_name: str
    kind: str
    text: str
    expected_outcome: str
    files: tuple[StoredFile, ...]
    history: tuple[tuple[str, str], ...] = ()
    as_of: datetime.datetime | None = None
    user: str = "evaluator"
    groups: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    gold: tuple[Gold, ...] = ()
    any_gold: bool = False
    must_contain: tuple[tuple[str, ...], ...] = ()
    must_not_contain: tuple[tuple[str, ...], ...] = ()
    expected_count: int | None = None
    own_files: bool = field(default=False)

    @property
    def store_key(self) -> str:
        """Questions with the same key are asked of the same store: set name and a hash of what it holds."""
        listed = [
            [str(f.path), f.document_id, str(f.effective_from), str(f.effective_to), *f.allow] for f in self.files
        ]
        return f"{self.set_name}-{hashlib.sha256(json.dumps(listed).encode()).hexdigest()[:10]}"


def read_question_set(path: Path) -> list[Question]:
    """Read FILE.jsonl, with sets.json beside it and the documents relative to its folder's parent.

    Raises:
        QuestionSetError: naming the line, where a row cannot be read or a file it needs is not there.
    """
    sets_path = path.parent / "sets.json"
    sets: Mapping[str, Any] = json.loads(sets_path.read_text(encoding="utf-8")) if sets_path.is_file() else {}
    root = path.parent.parent
    passwords = _passwords(root)
    cache: dict[str, tuple[StoredFile, ...]] = {}
    questions = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            if "ingest" in row:
                files = _read_files(row["ingest"], root, passwords)
            else:
                set_name = str(row["set"])
                if set_name not in cache:
                    cache[set_name] = _read_files(sets[set_name]["ingest"], root, passwords)
                files = cache[set_name]
            questions.append(_read_question(row, files, root))
        except (KeyError, ValueError, TypeError) as error:
            raise QuestionSetError(f"{path.name} line {number}: {error!r}; see the README beside the set") from error
    if not questions:
        raise QuestionSetError(f"{path.name} holds no question")
    return questions


def _read_question(row: Mapping[str, Any], files: tuple[StoredFile, ...], root: Path) -> Question:
    principal = row.get("principal") or {}
    return Question(
        question_id=row["id"],
        set_name=row["set"],
        kind=row["type"],
        text=row["question"],
        expected_outcome=row["expect"],
        files=files,
        history=tuple((turn["role"], turn["text"]) for turn in row.get("history", ())),
        as_of=_read_day(row.get("as_of")),
        user=principal.get("user", "evaluator"),
        groups=tuple(principal.get("groups", ())),
        scope=tuple(row.get("scope") or ()),
        gold=tuple(Gold(root / g["path"], int(g.get("page") or 0), g["quote"]) for g in row.get("gold") or ()),
        any_gold=bool(row.get("any", False)),
        must_contain=tuple(tuple(group) for group in row.get("must_contain") or ()),
        must_not_contain=tuple(tuple(group) for group in row.get("must_not_contain") or ()),
        expected_count=row.get("expected_count"),
        own_files="ingest" in row,
    )


def _read_files(items: Iterable[Mapping[str, Any]], root: Path, passwords: Mapping[str, str]) -> tuple[StoredFile, ...]:
    files = []
    for item in items:
        paths = sorted(root.glob(item["glob"])) if "glob" in item else [root / item["path"]]
        for path in paths:
            if not path.is_file():
                raise QuestionSetError(f"{path} is not there")
            files.append(
                StoredFile(
                    path=path,
                    document_id=item.get("document_id") or path.stem,
                    title=item.get("title") or "",
                    effective_from=_read_day(item.get("effective_from")),
                    effective_to=_read_day(item.get("effective_to")),
                    allow=tuple(item.get("allow") or ()),
                    password=passwords.get(str(path), ""),
                )
            )
    return tuple(files)


def _passwords(root: Path) -> dict[str, str]:
    """Passwords of protected files, from pdfs/manifest.jsonl where there is one."""
    manifest = root / "pdfs" / "manifest.jsonl"
    if not manifest.is_file():
        return {}
    rows = [json.loads(line) for line in manifest.read_text(encoding="utf-8").splitlines() if line.strip()]
    return {str(root / "pdfs" / row["file"]): row["password"] for row in rows if row.get("password")}


def _read_day(text: str | None) -> datetime.datetime | None:
    if not text:
        return None
    return datetime.datetime.fromisoformat(text[:10]).replace(tzinfo=datetime.UTC)
