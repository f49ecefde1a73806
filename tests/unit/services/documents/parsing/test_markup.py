"""Markdown, HTML, DOCX and plain text as blocks."""

from __future__ import annotations

import contextlib
from pathlib import Path

import docx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.documents.parsing.blocks import BlockKind, ParsedDocument
from services.documents.parsing.docx import parse_docx
from services.documents.parsing.enumerated import marker_levels
from services.documents.parsing.formats import tell_format
from services.documents.parsing.html import parse_html, read_markup
from services.documents.parsing.markdown import parse_markdown
from services.documents.parsing.markup import plain_title
from services.documents.parsing.plain import decode, parse_plain
from services.documents.parsing.refusal import ParseRefused, RefusalReason


def write(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def shapes(document: ParsedDocument) -> list[tuple[str, str]]:
    return [(block.kind.value, block.text) for block in document.blocks]


MARKDOWN = """---
title: "Keepers"
weight: 3
---

Intro with a **non-voting member** and a [link](other.md).

{{< alert >}}
Inside a call.
{{< /alert >}}

## Shifts {#shifts}

Each keeper has:

- a lamp
  that burns
  1. oil
  2. wick
- a rope

| Name | Hours |
|------|-------|
| Ada  | 8     |
| Bo   |       |

```sh
$ light up

$ log
```
"""


def test_markdown_is_cut_from_its_own_source(tmp_path: Path) -> None:
    document = parse_markdown(write(tmp_path / "a.md", MARKDOWN))
    assert document.title == "Keepers"
    assert shapes(document)[0] == ("paragraph", "Intro with a **non-voting member** and a [link](other.md).")
    assert ("paragraph", "Inside a call.") in shapes(document)
    assert ("heading", "Shifts") in shapes(document)
    items = next(block for block in document.blocks if block.kind is BlockKind.LIST)
    assert items.attached
    assert items.levels == [0, 1, 1, 0]
    assert [items.lines[i].text.strip() for i in items.items] == ["- a lamp", "1. oil", "2. wick", "- a rope"]
    table = next(block for block in document.blocks if block.kind is BlockKind.TABLE)
    assert table.columns == ["Name", "Hours"]
    assert table.header_count == 2
    assert table.text.split("\n")[2] == "| Ada  | 8     |"
    code = next(block for block in document.blocks if block.kind is BlockKind.CODE)
    assert code.text == "```sh\n$ light up\n\n$ log\n```"


def test_headings_lose_their_markup() -> None:
    assert plain_title("**The** [lamp](x.md) and `wick` {#a}") == "The lamp and wick"


LETTERED = [
    "(a) One.",
    "(b) Two:",
    "(1) First.",
    "(i) Deep.",
    "(ii) Deep.",
    "(2) Second.",
    "(c) Three.",
    "(h) Eight.",
    "(i) Nine.",
]


def test_lettered_paragraphs_nest_as_laws_do() -> None:
    assert marker_levels(LETTERED) == [0, 0, 1, 2, 2, 1, 0, 0, 0]


def test_lettered_paragraphs_become_a_list(tmp_path: Path) -> None:
    document = parse_markdown(write(tmp_path / "a.md", "## § 3 Duties.\n\nA keeper shall:\n\n" + "\n\n".join(LETTERED)))
    assert [block.kind for block in document.blocks] == [BlockKind.HEADING, BlockKind.PARAGRAPH, BlockKind.LIST]
    assert document.blocks[2].attached
    assert document.blocks[2].levels == marker_levels(LETTERED)


HTML = """<html><head><title>Keepers</title><script>bad()</script></head><body>
<nav><a href="/">Home</a> <a href="/x">Other</a></nav>
<header><p>Site name</p></header>
<main><h1>Keepers</h1><p>The <b>lamp</b> burns<br>all night.</p>
<p>Bring:</p><ul><li>a lamp<ul><li>oil</li></ul></li><li>rope</li></ul>
<table><caption>Table 1: Hours</caption><tr><th>Name</th><th>Day</th><th>Night</th></tr>
<tr><td>Ada</td><td></td><td>8</td></tr><tr><td>Bo</td><td>9</td><td></td></tr></table>
<figure><img src="x"><figcaption>Figure 1. The rock.</figcaption></figure></main>
<footer>Imprint</footer></body></html>"""


def test_html_gives_the_main_content_with_its_structure(tmp_path: Path) -> None:
    document = parse_html(write(tmp_path / "a.html", HTML))
    assert document.title == "Keepers"
    assert shapes(document)[:3] == [
        ("heading", "Keepers"),
        ("paragraph", "The lamp burns all night."),
        ("paragraph", "Bring:"),
    ]
    items = next(block for block in document.blocks if block.kind is BlockKind.LIST)
    assert (items.text, items.levels, items.attached) == ("a lamp\noil\nrope", [0, 1, 0], True)
    table = next(block for block in document.blocks if block.kind is BlockKind.TABLE)
    assert table.columns == ["Name", "Day", "Night"]
    assert table.text.split("\n")[2].split("  ") == ["Ada", "", "8"]
    assert ("figure_caption", "Figure 1. The rock.") in shapes(document)
    assert not any(
        "Home" in text or "Imprint" in text or "Site" in text or "bad" in text for _, text in shapes(document)
    )


def test_html_without_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParseRefused) as refused:
        parse_html(write(tmp_path / "a.html", "<html><body><nav>Home</nav></body></html>"))
    assert refused.value.reason is RefusalReason.EMPTY


@given(st.text(alphabet="<>/abpdivulite =\"'&;!-", max_size=200))
def test_broken_html_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ParseRefused):
        read_markup(text, "html")


def test_docx_keeps_headings_lists_and_tables(tmp_path: Path) -> None:
    file = docx.Document()
    file.core_properties.title = "Keepers"
    file.add_heading("Shifts", 1)
    file.add_paragraph("Bring:")
    file.add_paragraph("a lamp", style="List Bullet")
    file.add_paragraph("a rope", style="List Bullet")
    table = file.add_table(rows=2, cols=2)
    for cell, text in zip([c for row in table.rows for c in row.cells], ["Name", "Hours", "Ada", "8"], strict=True):
        cell.text = text
    file.save(str(tmp_path / "a.docx"))
    assert tell_format(tmp_path / "a.docx", "a.docx") == "docx"
    document = parse_docx(tmp_path / "a.docx")
    assert document.title == "Keepers"
    assert [kind for kind, _ in shapes(document)] == ["heading", "paragraph", "list", "table"]
    assert document.blocks[2].text == "a lamp\na rope"


def test_plain_text_has_headings_and_lists(tmp_path: Path) -> None:
    document = parse_plain(
        write(tmp_path / "a.txt", "Keepers\n=======\n\nBring:\n- a lamp\n- a rope\n\n2.1 Shifts\n\nAll night.\n")
    )
    assert shapes(document) == [
        ("heading", "Keepers"),
        ("paragraph", "Bring:"),
        ("list", "- a lamp\n- a rope"),
        ("heading", "2.1 Shifts"),
        ("paragraph", "All night."),
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_text_of_other_encodings_is_read(encoding: str) -> None:
    text = "Der Wärter zündet die Lampe an, wenn die Sonne untergeht; größere Feuer löscht er. " * 4
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.pdf", b"", RefusalReason.EMPTY),
        ("a.doc", b"\xd0\xcf\x11\xe0" + bytes(600), RefusalReason.UNSUPPORTED),
        ("a.png", b"\x89PNG\r\n" + bytes(100), RefusalReason.UNSUPPORTED),
        ("a.bin", bytes(range(32)) * 20, RefusalReason.UNSUPPORTED),
        ("a.docx", b"not a zip", RefusalReason.UNREADABLE),
        ("a.zip", b"PK\x03\x04 broken", RefusalReason.UNREADABLE),
    ],
)
def test_files_that_nobody_reads_are_refused(tmp_path: Path, name: str, content: bytes, reason: RefusalReason) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ParseRefused) as refused:
        tell_format(tmp_path / name, name)
    assert refused.value.reason is reason
    assert refused.value.message.endswith(".")


def test_content_says_more_than_the_name(tmp_path: Path) -> None:
    assert tell_format(write(tmp_path / "a", "%PDF-1.4\n"), "notes.txt") == "pdf"
    assert tell_format(write(tmp_path / "b", "<!DOCTYPE html><html></html>"), "page") == "html"
    assert tell_format(write(tmp_path / "c", "# A\n\nb"), "README.md") == "markdown"


@pytest.mark.parametrize(
    ("opening", "closing"),
    [("<div>", "</div>"), ("<span>", "</span>"), ("<b><p>", "</p></b>"), ("<ul><li>item", "</li></ul>")],
)
def test_html_nested_deeply_is_read_whole(opening: str, closing: str) -> None:
    depth = 900
    markup = f"<p>The chapel opens at nine.</p>{opening * depth}The crypt opens at ten.{closing * depth}"
    document = read_markup(f"{markup}<p>The nave opens at noon.</p>", "html")

    text = "\n".join(block.text for block in document.blocks)
    assert "The chapel opens at nine." in text
    assert "The crypt opens at ten." in text
    assert "The nave opens at noon." in text


@pytest.mark.parametrize("tag", ["div", "span", "ul><li", "dl><dd", "table><tr><td"])
def test_html_nested_too_deeply_is_refused_and_not_cut(tag: str) -> None:
    with pytest.raises(ParseRefused, match=r"nested more than 2,000 deep") as refused:
        read_markup(f"<p>The chapel opens at nine.</p>{f'<{tag}>' * 5_000}The crypt opens at ten.", "html")
    assert refused.value.reason is RefusalReason.TOO_LARGE


def test_items_of_deep_lists_are_kept_in_order() -> None:
    depth = 60
    document = read_markup(
        "".join(f"<ul><li>item {number}" for number in range(depth)) + "</li></ul>" * depth + "<ul><div><li>last",
        "html",
    )

    lines = [line.text for block in document.blocks for line in block.lines]
    assert lines == [*(f"item {number}" for number in range(depth)), "last"]


def test_lists_keep_words_that_stand_in_no_item_and_leave_out_what_is_no_text() -> None:
    document = read_markup(
        "<ul>Bring <b>with</b> you:<li>oil<script>a()</script></li><script>b()</script><style>c {}</style>"
        "<template><li>d</li></template> or wax<br>or tallow <!-- e --><li>rope<template><ul><li>f</ul></template></li>"
        "<ul>Not:<li>salt</li></ul></ul>",
        "html",
    )

    (block,) = document.blocks
    lines = ["Bring with you:", "oil", "or wax", "or tallow", "rope", "Not:", "salt"]
    assert [line.text for line in block.lines] == lines
    assert (block.items, block.levels) == ([*range(7)], [0, 0, 0, 0, 0, 1, 1])


def test_definitions_hold_their_lists() -> None:
    document = read_markup(
        "<dl><div><dt>Fee</dt><dd>What a guest pays:<ul><li>nine euros<ul><li>in winter</li></ul></li></ul></dd></div>"
        "<dt>Term</dt><dd>A year.</dd><dd>Or less.</dd></dl>",
        "html",
    )

    (block,) = document.blocks
    assert [line.text for line in block.lines] == [
        "Fee", "What a guest pays:", "nine euros", "in winter", "Term", "A year.", "Or less.",
    ]  # fmt: skip
    assert block.items == [0, 2, 3, 4]
    assert block.levels == [0, 1, 2, 0]
