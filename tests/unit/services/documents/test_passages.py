"""Passages: nothing is lost, nothing is torn, lines keep their boxes, parts know what they stand under."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from citemesh.text.hashes import hash_text
from citemesh.v1.evidence_pb2 import Passage, PassageKind
from services.documents.parsing.blocks import Block, BlockKind, Line, Page, ParsedDocument
from services.documents.parsing.markdown import parse_markdown
from services.documents.parsing.pdf import parse_pdf
from services.documents.sections import build_sections
from services.documents.splitting.passages import Lengths, make_passages
from tests.unit.services.documents.conftest import NewPdf

Count = Callable[[Sequence[str]], list[int]]


def split(document: ParsedDocument, count: Count, lengths: Lengths | None = None) -> list[Passage]:
    return make_passages(document, build_sections(document), count, "en", lengths)


def from_markdown(tmp_path: Path, text: str) -> ParsedDocument:
    (tmp_path / "a.md").write_text(text)
    return parse_markdown(tmp_path / "a.md")


def tight(text: str) -> str:
    return "".join(text.split())


def words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


SENTENCE = "The keeper of the lamp writes down what the sea has brought to the rock in the night. "


def test_short_sections_are_one_passage_with_their_heading(tmp_path: Path, count_tokens: Count) -> None:
    passages = split(
        from_markdown(tmp_path, "# Rules\n\n## 1 Lamp\n\nIt burns.\n\nAll night.\n\n## 2 Rope\n\nTen fathoms.\n"),
        count_tokens,
    )
    assert [p.text for p in passages] == ["Rules\n1 Lamp\nIt burns.\nAll night.", "2 Rope\nTen fathoms."]
    assert list(passages[0].section_path) == ["Rules", "1 Lamp"]
    assert passages[0].section_number == "1"
    assert passages[0].content_hash == hash_text(passages[0].text)


def test_a_passage_names_the_printed_label_of_its_first_page(count_tokens: Count) -> None:
    pages = [Page(1, 595, 842, 90, label="iv"), Page(2, 595, 842, 90)]
    blocks = [Block(BlockKind.PARAGRAPH, [Line(SENTENCE * 12, number)]) for number in (1, 2)]
    passages = split(ParsedDocument("pdf", pages=pages, blocks=blocks), count_tokens)
    assert [(p.page_first, p.page_label) for p in passages] == [(1, "iv"), (2, "")]
    assert not split(ParsedDocument("text", blocks=[Block(BlockKind.PARAGRAPH, [Line(SENTENCE)])]), count_tokens)[
        0
    ].page_label


def test_long_paragraphs_are_cut_between_sentences(tmp_path: Path, count_tokens: Count) -> None:
    passages = split(from_markdown(tmp_path, SENTENCE * 40), count_tokens)
    assert len(passages) > 3
    assert all(p.text.endswith("night.") and p.text.startswith("The keeper") for p in passages)
    assert all(p.token_count <= 240 for p in passages)


def test_a_list_stays_with_the_sentence_that_announces_it(tmp_path: Path, count_tokens: Count) -> None:
    text = (
        SENTENCE * 6 + f"\n\nThree things are to be brought:\n\n- {SENTENCE}\n- {SENTENCE}\n- a rope\n\n" + SENTENCE * 8
    )
    passages = split(from_markdown(tmp_path, text), count_tokens)
    found = next(p for p in passages if "- a rope" in p.text)
    assert found.kind == PassageKind.PASSAGE_KIND_LIST
    assert found.text.startswith("Three things are to be brought:\n- The keeper")
    assert found.text.endswith("\n- a rope")


def test_a_long_list_is_cut_between_items_and_its_parts_know_their_introduction(
    tmp_path: Path, count_tokens: Count
) -> None:
    items = "".join(f"- item {n} {SENTENCE}\n" for n in range(30))
    passages = split(from_markdown(tmp_path, f"All of these are to be kept:\n\n{items}"), count_tokens)
    assert all(p.text.split("\n")[-1].startswith("- item") for p in passages)
    assert passages[0].text.startswith("All of these are to be kept:")
    assert all(p.heading_context == "All of these are to be kept:" for p in passages[1:])


def test_nested_items_know_the_item_above(tmp_path: Path, count_tokens: Count) -> None:
    inner = "".join(f"  - inner {n} {SENTENCE}\n" for n in range(30))
    passages = split(from_markdown(tmp_path, f"- outer one\n{inner}- outer two\n"), count_tokens)
    assert any(p.heading_context.endswith("- outer one") for p in passages[1:])


def test_a_small_table_is_one_passage_and_a_long_one_repeats_its_header_beside(
    tmp_path: Path, count_tokens: Count
) -> None:
    head = "| Name | Hours |\n|---|---|\n"
    small = split(from_markdown(tmp_path, head + "| Ada | 8 |\n| Bo | 9 |\n"), count_tokens)
    assert [p.kind for p in small] == [PassageKind.PASSAGE_KIND_TABLE]
    long = split(
        from_markdown(tmp_path, head + "".join(f"| Keeper {n} of the long table | {n} |\n" for n in range(120))),
        count_tokens,
    )
    assert len(long) > 2
    assert long[0].text.startswith("| Name")
    assert all("| Name | Hours |" in p.heading_context and "| Name" not in p.text for p in long[1:])
    assert all(line.startswith("|") and line.endswith("|") for p in long for line in p.text.split("\n"))


def test_code_is_cut_between_entries(tmp_path: Path, count_tokens: Count) -> None:
    flags = "".join(f"--flag-{n} 'x'\n  Says what the flag {n} does and when.\n" for n in range(80))
    passages = split(from_markdown(tmp_path, f"```\n{flags}```\n"), count_tokens)
    assert all(p.kind == PassageKind.PASSAGE_KIND_CODE for p in passages)
    assert all(p.text.split("\n")[0].startswith(("--flag", "```")) for p in passages)


def test_lines_point_at_their_part_of_the_text(pdf: NewPdf, count_tokens: Count) -> None:
    page = pdf("a.pdf")
    for number in range(40):
        page.line(f"Line {number} of the rules says that the lamp is lit. It burns until day")
    document = parse_pdf(page.save(), "", 10)
    passages = split(document, count_tokens)
    assert len(passages) > 1
    for passage in passages:
        for line in passage.lines:
            piece = passage.text[line.start_offset : line.end_offset]
            assert piece.strip()
            assert line.x1 > line.x0
            assert line.page_number == 1
        assert passage.lines[0].start_offset == 0
        assert passage.lines[-1].end_offset == len(passage.text)


def test_a_caption_labels_its_table_and_mentions_become_references(pdf: NewPdf, count_tokens: Count) -> None:
    page = pdf("a.pdf")
    page.line("1 Wicks", size=14, bold=True, gap=20)
    page.line("Table 2: Wicks.", gap=16)
    for name in ("round", "flat", "woven"):
        page.row([(72, name), (140, "10"), (220, "4.5")])
    page.space(20)
    page.line("Flat wicks burn longest (see Table 2 and Figure 7), as Section 1 says.")
    passages = split(parse_pdf(page.save(), "", 10), count_tokens)
    table = next(p for p in passages if p.kind == PassageKind.PASSAGE_KIND_TABLE)
    text = next(p for p in passages if "longest" in p.text)
    assert table.label == "table 2"
    assert [reference.label for reference in text.references] == ["table 2", "figure 7"]


BLOCKS = st.lists(
    st.builds(
        lambda kind, lines: Block(kind, [Line(text) for text in lines]),
        st.sampled_from(
            [BlockKind.PARAGRAPH, BlockKind.HEADING, BlockKind.CODE, BlockKind.FOOTNOTE, BlockKind.FIGURE_CAPTION]
        ),
        st.lists(st.text("ab .:(1)§Ä\n", min_size=1, max_size=120).filter(str.strip), min_size=1, max_size=6),
    )
    | st.builds(
        lambda kind, lines, attached: Block(
            kind,
            [Line(text) for text in lines],
            items=list(range(len(lines))),
            levels=[n % 3 for n in range(len(lines))],
            attached=attached,
        ),
        st.sampled_from([BlockKind.LIST, BlockKind.TABLE]),
        st.lists(st.text("ab .:|-", min_size=1, max_size=120).filter(str.strip), min_size=1, max_size=8),
        st.booleans(),
    ),
    max_size=8,
)


@settings(max_examples=150, deadline=None)
@given(BLOCKS)
def test_no_text_is_lost_and_none_comes_twice(blocks: list[Block]) -> None:
    whole = sorted(tight("".join(block.text for block in blocks)))
    document = ParsedDocument("markdown", blocks=blocks)
    passages = split(document, words, Lengths(target=12, limit=18, table_limit=24, least=4))
    assert sorted(tight("".join(p.text for p in passages))) == whole
    assert all(p.text.strip() for p in passages)


def test_the_gold_quotes_of_real_documents_stand_whole_in_one_passage(shared_data: Path, count_tokens: Count) -> None:
    """A sample of the question sets: what answers a question must be quotable from one passage, on its page."""
    import json

    seen: dict[str, list[Passage]] = {}
    torn, total = [], 0
    for name in ("papers", "regs"):
        for row in map(json.loads, (shared_data / "qa" / f"{name}.jsonl").read_text().splitlines()):
            for gold in row.get("gold") or []:
                path = shared_data / gold["path"]
                if (
                    path.suffix not in (".pdf", ".md")
                    or path.stat().st_size > 2_300_000
                    or "scanned" in gold["path"]
                    or "encrypted" in gold["path"]
                ):
                    continue
                if gold["path"] not in seen:
                    document = parse_pdf(path, "", 500) if path.suffix == ".pdf" else parse_markdown(path)
                    seen[gold["path"]] = split(document, count_tokens)
                total += 1
                page = gold.get("page", 0)
                if not any(
                    tight(gold["quote"]) in tight(p.text) and p.page_first <= page <= p.page_last
                    for p in seen[gold["path"]]
                ):
                    torn.append((row["id"], gold["quote"]))
    assert total > 80
    assert len(torn) <= total // 50, torn


def test_empty_documents_have_no_passages(count_tokens: Count) -> None:
    assert split(ParsedDocument("pdf", pages=[Page(1, 600, 800, 0)]), count_tokens) == []
