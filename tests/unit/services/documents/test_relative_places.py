"""References by position, against what stands around a text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from citemesh.v1.evidence_pb2 import Passage
from services.documents.parsing.markdown import parse_markdown
from services.documents.relative_places import find_relative_mentions
from services.documents.sections import build_sections
from services.documents.splitting.passages import Lengths, make_passages

MANUAL = """# Pump manual

## 1 Use

Prices are in the table below; the preceding section says nothing.

Table 1: Prices

| pump | price |
|---|---|
| small | 4 |

## 2 Care

As the table above says, and the following section. See the figure below.

## 3 Repair

The next section is missing. The previous chapter tells more than section 2.

## Notes

The following table has no label.

| pump | colour |
|---|---|
| small | red |
"""


def count_words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


@pytest.fixture
def passages(tmp_path: Path) -> list[Passage]:
    path = tmp_path / "a.md"
    path.write_text(MANUAL)
    document = parse_markdown(path)
    lengths = Lengths(target=30, limit=40, table_limit=80, least=3)
    return make_passages(
        document, build_sections(document), lambda texts: [len(t.split()) for t in texts], "en", lengths
    )


def labels(passages: list[Passage], words: str) -> list[str]:
    (passage,) = [each for each in passages if words in each.text]
    return [reference.label for reference in passage.references]


def test_the_nearest_labelled_place_on_that_side_is_meant(passages: list[Passage]) -> None:
    assert labels(passages, "Prices are in") == ["table 1"]
    assert labels(passages, "As the table above") == ["table 1", "section 3"]


def test_what_is_in_doubt_names_nothing(passages: list[Passage]) -> None:
    assert labels(passages, "has no label") == []
    assert labels(passages, "The next section is missing") == ["section 2"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("the immediately preceding paragraph", [("paragraph", False)]),
        ("see table below, then the previous figure", [("table", True), ("figure", False)]),
        ("the table given below", [("table", True)]),
        ("the following table 3 and the previous section 4.2", []),
        ("a table above the door; the tables below", []),
    ],
)
def test_mentions(text: str, found: list[tuple[str, bool]]) -> None:
    assert [(mention.noun, mention.is_after) for mention in find_relative_mentions(text)] == found


def test_a_neighbouring_paragraph_is_known_by_its_marks(tmp_path: Path) -> None:
    path = tmp_path / "b.md"
    text = "## § 9.2 Duties\n\n(a) Pumps. Clean the pump each day.\n\n(b) Valves. As in the preceding paragraph.\n"
    path.write_text(f"{text}\n(c) Rods. Oil them.\n\n## § 9.3 Other\n\nMore.\n")
    document = parse_markdown(path)
    lengths = Lengths(target=10, limit=12, table_limit=80, least=1)
    split = make_passages(
        document, build_sections(document), lambda texts: [len(t.split()) for t in texts], "en", lengths
    )
    assert "section 9.2(a)" in labels(split, "As in the preceding")
