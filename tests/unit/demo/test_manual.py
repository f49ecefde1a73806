"""The manual: up to date with its source, and built so that there is something to find in it."""

from __future__ import annotations

import io
import re
import zipfile

import pypdfium2
import pytest

from demo import make_manual, make_onboarding


@pytest.fixture(scope="module")
def manual() -> pypdfium2.PdfDocument:
    return pypdfium2.PdfDocument(make_manual.TARGET.read_bytes())


@pytest.fixture(scope="module")
def pages(manual: pypdfium2.PdfDocument) -> list[str]:
    return [page.get_textpage().get_text_range() for page in manual]


def test_the_committed_manual_is_the_one_that_its_script_makes() -> None:
    made = make_manual.make_manual(make_manual.SOURCE.read_text(encoding="utf-8"))
    assert made == make_manual.TARGET.read_bytes(), "run: python -m demo.make_manual"


def test_the_committed_word_file_is_the_one_that_its_script_makes() -> None:
    assert _parts(make_onboarding.make_onboarding(make_onboarding.SOURCE.read_text(encoding="utf-8"))) == _parts(
        make_onboarding.TARGET.read_bytes()
    ), "run: python -m demo.make_onboarding"


def _parts(archive: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(archive)) as parts:
        return {name: parts.read(name) for name in parts.namelist()}


def test_committed_files_are_small() -> None:
    assert make_manual.TARGET.stat().st_size < 300_000
    assert make_onboarding.TARGET.stat().st_size < 100_000


def test_the_manual_has_twelve_pages_or_more(manual: pypdfium2.PdfDocument) -> None:
    assert len(manual) >= 12


def test_each_bookmark_leads_to_the_page_that_holds_its_title(manual: pypdfium2.PdfDocument, pages: list[str]) -> None:
    bookmarks = [(mark.level, mark.get_title(), mark.get_dest().get_index()) for mark in manual.get_toc()]
    assert len([level for level, _, _ in bookmarks if level == 0]) == 15
    assert len([level for level, _, _ in bookmarks if level == 1]) >= 50
    for _, title, page in bookmarks:
        assert title in " ".join(pages[page].split()), title


def test_each_table_and_section_that_the_text_refers_to_exists(manual: pypdfium2.PdfDocument, pages: list[str]) -> None:
    text = "\n".join(pages)
    captions = set(re.findall(r"(?m)^Table (\d+)\. ", text))
    sections = {mark.get_title().split()[0] for mark in manual.get_toc()}
    assert captions == {str(number) for number in range(1, 11)}
    assert set(re.findall(r"Table (\d+)", text)) <= captions
    assert set(re.findall(r"Section\s(\d+\.\d+)", text)) <= sections


def test_the_announced_list_points_to_a_table_on_another_page(pages: list[str]) -> None:
    page = next(index for index, text in enumerate(pages) if "three kinds of alarm:" in text)
    table = next(index for index, text in enumerate(pages) if re.search(r"(?m)^Table 10\. ", text))
    assert "see Table 10" in " ".join(pages[page].split())
    assert table > page
    assert "15 min" not in pages[page]
