"""Sections: which outlines are trusted, where numbers come from, and headings without an outline."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.documents.parsing.blocks import Block, BlockKind, Line, OutlineEntry, Page, ParsedDocument
from services.documents.parsing.markdown import parse_markdown
from services.documents.parsing.pdf import parse_pdf
from services.documents.sections import SectionTree, build_sections
from services.documents.titles import split_number


def block(text: str, page: int = 0, kind: BlockKind = BlockKind.PARAGRAPH, level: int = 0) -> Block:
    return Block(kind, [Line(text, page, glue=" ")], level=level)


def heading(text: str, page: int = 0, level: int = 990) -> Block:
    return block(text, page, BlockKind.HEADING, level)


def pdf_document(blocks: list[Block], outline: list[OutlineEntry], page_count: int = 3) -> ParsedDocument:
    pages = [Page(number, 600, 800, 100) for number in range(1, page_count + 1)]
    return ParsedDocument("pdf", title="Rules", pages=pages, outline=outline, blocks=blocks)


def listed(tree: SectionTree) -> list[tuple[int, str, str]]:
    return [(section.level, section.number, section.title) for section in tree.sections]


@pytest.mark.parametrize(
    ("text", "number", "title"),
    [
        ("5.4 Regularization", "5.4", "Regularization"),
        ("2. Benchmark Results", "2", "Benchmark Results"),
        ("1.Mise en contexte", "1", "Mise en contexte"),
        ("§ 1003.2 Definitions.", "1003.2", "Definitions."),
        ("Chapter 3: The lamp", "3", "The lamp"),
        ("Appendix B Forms", "Appendix B", "Forms"),
        ("Annexe A", "", "Annexe A"),
        ("A.2 Proofs", "A.2", "Proofs"),
        ("Regularization", "", "Regularization"),
        ("2016 in numbers", "", "2016 in numbers"),
        ("3D printing", "", "3D printing"),
        ("A lamp for all", "", "A lamp for all"),
    ],
)
def test_numbers_are_split_from_titles(text: str, number: str, title: str) -> None:
    assert split_number(text) == (number, title)


def test_an_outline_without_numbers_takes_them_from_the_page() -> None:
    document = pdf_document(
        [heading("1 Duties", 1), block("Text.", 1), heading("1.1 The lamp", 2), block("More.", 2)],
        [OutlineEntry("Duties", 1, 1), OutlineEntry("The lamp", 2, 2)],
    )
    tree = build_sections(document)
    assert tree.has_usable_toc
    assert listed(tree) == [(1, "1", "Duties"), (2, "1.1", "The lamp")]
    assert tree.path(tree.of_block[3]) == ["1 Duties", "1.1 The lamp"]
    assert [(s.page_first, s.page_last) for s in tree.sections] == [(1, 2), (2, 2)]


def test_a_bookmark_may_point_to_the_page_before() -> None:
    document = pdf_document(
        [block("Front matter text.", 1), heading("Duties", 2), block("Text.", 2)], [OutlineEntry("Duties", 1, 1)]
    )
    assert [s.page_first for s in build_sections(document).sections] == [2]


def test_an_outline_whose_titles_are_nowhere_is_not_used() -> None:
    document = pdf_document(
        [heading("1 Duties", 1), block("Text.", 1), heading("2 Rights", 2), block("Text.", 2)],
        [OutlineEntry("Slide 1", 1, 1), OutlineEntry("Slide 2", 1, 2)],
    )
    tree = build_sections(document)
    assert not tree.has_usable_toc
    assert tree.toc_entry_count == 2
    assert listed(tree) == [(1, "1", "Duties"), (1, "2", "Rights")]


def test_a_title_inside_a_paragraph_is_cut_out() -> None:
    paragraph = Block(
        BlockKind.PARAGRAPH, [Line("End of one.", 1), Line("The lamp", 1, glue=" "), Line("It burns.", 1, glue=" ")]
    )
    document = pdf_document([paragraph], [OutlineEntry("The lamp", 1, 1)])
    tree = build_sections(document)
    assert [b.text for b in document.blocks] == ["End of one.", "The lamp", "It burns."]
    assert tree.of_block == [-1, 0, 0]


def test_numbered_headings_nest_without_an_outline_and_stray_numbers_do_not_count() -> None:
    document = pdf_document(
        [
            heading("1 Duties", 1, 960),
            heading("1.1 The lamp", 1, 990),
            heading("37 instructions were found", 1, 1000),
            heading("1.2 The rope", 2, 990),
            heading("2 Rights", 2, 960),
            heading("A name in bold", 2, 995),
        ],
        [],
    )
    assert listed(build_sections(document)) == [
        (1, "1", "Duties"),
        (2, "1.1", "The lamp"),
        (2, "1.2", "The rope"),
        (1, "2", "Rights"),
    ]


def test_headings_without_numbers_nest_by_size() -> None:
    document = pdf_document([heading("Duties", 1, 940), heading("The lamp", 1, 970), heading("Rights", 2, 940)], [])
    assert [level for level, _, _ in listed(build_sections(document))] == [1, 2, 1]


def test_lettered_paragraphs_of_a_law_are_sections(tmp_path: Path) -> None:
    path = tmp_path / "law.md"
    path.write_text(
        "# Rules\n\n## § 12.2 Definitions.\n\n(a) *Act* means the Lamp Act.\n\n(b) Keeper means one who:\n\n"
        "(1) Keeps a lamp; and\n\n(2) Is sworn.\n\n(c) Rope. A rope of ten fathoms.\n"
    )
    document = parse_markdown(path)
    tree = build_sections(document)
    assert [s.number for s in tree.sections] == ["", "12.2", "12.2(a)", "12.2(b)", "12.2(c)"]
    assert [s.title for s in tree.sections[3:]] == ["Keeper", "Rope"]
    keeper = next(i for i, b in enumerate(document.blocks) if "sworn" in b.text)
    assert tree.sections[tree.of_block[keeper]].number == "12.2(b)"


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["1 A title", "1.1 Sub", "2 Next", "Other", "§ 3 Law", "(a) One.", "(b) Two:"]),
            st.integers(1, 3),
            st.booleans(),
        ),
        max_size=12,
    ),
    st.lists(
        st.tuples(st.sampled_from(["A title", "Sub", "Next", "Gone"]), st.integers(1, 3), st.integers(0, 4)), max_size=6
    ),
)
def test_every_line_stays_and_belongs_to_at_most_one_section(
    lines: list[tuple[str, int, bool]], entries: list[tuple[str, int, int]]
) -> None:
    blocks = [heading(text, page) if bold else block(text, page) for text, page, bold in lines]
    blocks.sort(key=lambda b: b.first_page)
    texts = [line.text for b in blocks for line in b.lines]
    document = pdf_document(blocks, [OutlineEntry(*entry) for entry in entries])
    tree = build_sections(document)
    assert [line.text for b in document.blocks for line in b.lines] == texts
    assert len(tree.of_block) == len(document.blocks)
    assert all(-1 <= index < len(tree.sections) for index in tree.of_block)
    ids = [section.section_id for section in tree.sections]
    assert len(set(ids)) == len(ids)
    assert all(section.parent_id in {"", *ids} for section in tree.sections)


@pytest.mark.parametrize("name", ["1706.03762v7.pdf", "1706.03762v5_resaved.pdf", "1706.03762v7_no_outline.pdf"])
def test_a_real_paper_has_the_same_sections_with_and_without_an_outline(shared_data: Path, name: str) -> None:
    document = parse_pdf(shared_data / "pdfs" / "attention" / name, "", 100)
    tree = build_sections(document)
    numbered = {section.number: section for section in tree.sections if section.number}
    assert len(numbered) == 22
    assert (numbered["5.4"].title, numbered["5.4"].page_first, numbered["5.4"].page_last) == ("Regularization", 7, 8)
    assert tree.has_usable_toc == ("no_outline" not in name)
