"""How a file's kind is told, and how bombs, archives and files with a false name end: in words, within the limits."""

from __future__ import annotations

import io
import tarfile
import zipfile
from email.message import EmailMessage
from pathlib import Path

import docx
import openpyxl  # type: ignore[import-untyped]  # it ships no types
import pptx
import pytest

from citemesh.cli.files import SUFFIXES
from services.documents.parsing.formats import MEDIA_TYPES, tell_format
from services.documents.parsing.packages import MAX_UNPACKED_BYTES
from services.documents.parsing.refusal import ParseRefused, RefusalReason
from services.documents.parsing.sandbox import ParserSandbox


def make_docx() -> bytes:
    file, stream = docx.Document(), io.BytesIO()
    file.add_paragraph("Light the lamp.")
    file.save(stream)
    return stream.getvalue()


def make_pptx() -> bytes:
    deck, stream = pptx.Presentation(), io.BytesIO()
    deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = "Light the lamp."
    deck.save(stream)
    return stream.getvalue()


def make_xlsx() -> bytes:
    book, stream = openpyxl.Workbook(), io.BytesIO()
    book.active.append(["Light", "lamp"])
    book.save(stream)
    return stream.getvalue()


def make_zip(parts: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return stream.getvalue()


def make_tar() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        archive.add(__file__, "a.py")
    return stream.getvalue()


def make_mail() -> bytes:
    message = EmailMessage()
    for name, text in (("Message-ID", "<1@x>"), ("From", "a@x"), ("To", "b@x"), ("Subject", "Lamp")):
        message[name] = text
    message.set_content("Light the lamp.")
    return message.as_bytes()


BOOK = make_zip({
    "META-INF/container.xml": b'<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    b'<rootfile full-path="b.opf"/></rootfiles></container>',
    "b.opf": b'<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="a.xhtml"/></manifest>'
    b'<spine><itemref idref="a"/></spine></package>',
    "a.xhtml": b"<html><body><p>Light the lamp.</p></body></html>",
})  # fmt: skip
FILES = {
    "a.docx": make_docx(), "a.pptx": make_pptx(), "a.xlsx": make_xlsx(), "a.eml": make_mail(), "a.epub": BOOK,
}  # fmt: skip


def tell(folder: Path, data: bytes, name: str) -> str:
    path = folder / "upload"
    path.write_bytes(data)
    return tell_format(path, name)


@pytest.mark.parametrize(
    ("data", "name", "kind"),
    [
        (make_docx(), "report.pdf", "docx"),
        (make_pptx(), "deck.docx", "pptx"),
        (make_xlsx(), "book", "xlsx"),
        (b"%PDF-1.7\n", "notes.txt", "pdf"),
        (b"<!doctype html><html><p>x</p></html>", "data.csv", "html"),
        (make_mail(), "letter.txt", "mail"),
        (make_mail(), "letter.eml", "mail"),
        (b"From: me\nThe lamp\n", "letter.txt", "text"),
        (b"The lamp burns.", "letter.eml", "text"),
        (b"a,b\n1,2\n", "a.csv", "csv"),
        (b"a,b\n1,2\n", "a", "text"),
        (b'{"a": 1}', "a.json", "json"),
        (b"# Lamp", "a.md", "markdown"),
        ("Öl".encode("utf-16"), "a.txt", "text"),
        ("Oil for the lamp".encode("utf-16-le"), "a.txt", "text"),
        (b"some words", "a.strange", "text"),
    ],
)
def test_the_kind_is_told_by_content_then_by_name(tmp_path: Path, data: bytes, name: str, kind: str) -> None:
    assert tell(tmp_path, data, name) == kind


@pytest.mark.parametrize(
    ("data", "name", "words"),
    [
        (make_zip({"a.pdf": b"%PDF-", "b.txt": b"x"}), "all.zip", "an archive of 2 files: unpack it"),
        (make_zip({"inner.zip": make_zip({"a.txt": b"x"})}), "all.docx", "an archive of 1 file: unpack it"),
        (make_zip({"mimetype": b"application/vnd.oasis", "content.xml": b"<x/>"}), "a.odt", "OpenDocument"),
        (make_zip({"xl/workbook.bin": b"x"}), "a.xlsb", "an Office file of a kind that is not read"),
        (make_tar(), "all.tar", "an archive"),
        (b"\x1f\x8b\x08\x00rest", "all.txt.gz", "a compressed file"),
        (b"Rar!\x1a\x07\x00", "all.txt", "an archive"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a.doc", "an old Word file: save it as DOCX"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a.xlsx", "with a password"),
        (b"\x89PNG\r\n\x1a\n", "a.pdf", "a picture"),
        (b"\0\0\0\x18ftypmp42", "a.mp4", "a sound or a film"),
        (b"{\\rtf1 x}", "a.txt", "an RTF file"),
        (bytes(range(32)) * 30, "a.txt", "neither text nor a format that is read"),
    ],
)
def test_what_is_not_read_is_named_with_what_to_do(tmp_path: Path, data: bytes, name: str, words: str) -> None:
    with pytest.raises(ParseRefused) as refused:
        tell(tmp_path, data, name)
    assert refused.value.reason is RefusalReason.UNSUPPORTED
    assert words in refused.value.message
    assert "PPTX" in refused.value.message


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "a.epub"])
def test_a_package_that_is_none_is_damaged(tmp_path: Path, name: str) -> None:
    for data in (b"plain text", make_docx()[:300]):
        with pytest.raises(ParseRefused) as refused:
            tell(tmp_path, data, name)
        assert refused.value.reason is RefusalReason.UNREADABLE


def test_every_ending_that_the_command_takes_has_a_reader(tmp_path: Path) -> None:
    told = set()
    for suffix in sorted(SUFFIXES):
        data = FILES.get(f"a{suffix}", b"words, more words\nand more\n")
        told.add(tell(tmp_path, data, f"a{suffix}"))
    assert told == set(MEDIA_TYPES)


@pytest.mark.parametrize("name", FILES)
async def test_each_format_is_read_inside_the_sandbox(sandbox: ParserSandbox, tmp_path: Path, name: str) -> None:
    (tmp_path / "upload").write_bytes(FILES[name])
    document = await sandbox.parse(tmp_path / "upload", name)
    assert "lamp" in " ".join(block.text for block in document.blocks)


def swell(package: bytes, part: str, data: bytes) -> bytes:
    """The package with one part replaced."""
    with zipfile.ZipFile(io.BytesIO(package)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    return make_zip(parts | {part: data})


MAIN_PARTS = {
    "a.docx": "word/document.xml",
    "a.pptx": "ppt/presentation.xml",
    "a.xlsx": "xl/workbook.xml",
    "a.epub": "b.opf",
}


@pytest.mark.parametrize("name", MAIN_PARTS)
async def test_a_zip_bomb_is_refused(sandbox: ParserSandbox, tmp_path: Path, name: str) -> None:
    bomb = b"<a>" + b" " * (MAX_UNPACKED_BYTES + 1)
    (tmp_path / "upload").write_bytes(swell(FILES[name], MAIN_PARTS[name], bomb))
    with pytest.raises(ParseRefused) as refused:
        await sandbox.parse(tmp_path / "upload", name)
    assert refused.value.reason is RefusalReason.TOO_LARGE


LAUGHS = b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "ha">' + b"".join(
    f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">'.encode() for i in range(12)
)


@pytest.mark.parametrize("name", MAIN_PARTS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
async def test_an_entity_bomb_is_refused(sandbox: ParserSandbox, tmp_path: Path, name: str, encoding: str) -> None:
    bomb = (LAUGHS + b"]><a>&m;</a>").decode().encode(encoding)
    (tmp_path / "upload").write_bytes(swell(FILES[name], MAIN_PARTS[name], bomb))
    with pytest.raises(ParseRefused) as refused:
        await sandbox.parse(tmp_path / "upload", name)
    assert refused.value.reason is RefusalReason.UNREADABLE


@pytest.mark.parametrize("name", ["a.html", "a.xhtml"])
async def test_an_entity_bomb_in_a_page_unfolds_nothing(sandbox: ParserSandbox, tmp_path: Path, name: str) -> None:
    (tmp_path / "upload").write_bytes(LAUGHS + b"]><html><body><p>&m; lamp</p></body></html>")
    document = await sandbox.parse(tmp_path / "upload", name)
    assert sum(len(block.text) for block in document.blocks) < 5000


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("cut", [0.3, 0.9])
async def test_a_file_cut_short_is_read_or_refused_in_words(
    sandbox: ParserSandbox, tmp_path: Path, name: str, cut: float
) -> None:
    data = FILES[name]
    (tmp_path / "upload").write_bytes(data[: int(len(data) * cut)])
    if name == "a.eml":
        assert (await sandbox.parse(tmp_path / "upload", name)).blocks
        return
    with pytest.raises(ParseRefused) as refused:
        await sandbox.parse(tmp_path / "upload", name)
    assert refused.value.reason is RefusalReason.UNREADABLE


async def test_a_part_that_is_no_xml_is_refused_in_words(sandbox: ParserSandbox, tmp_path: Path) -> None:
    for name, part in MAIN_PARTS.items():
        for data in (b"", b"<broken", b"<a/>"):
            (tmp_path / "upload").write_bytes(swell(FILES[name], part, data))
            with pytest.raises(ParseRefused) as refused:
                await sandbox.parse(tmp_path / "upload", name)
            assert refused.value.reason in (RefusalReason.UNREADABLE, RefusalReason.EMPTY), (name, data)


async def test_half_a_character_ends_nothing(sandbox: ParserSandbox, tmp_path: Path) -> None:
    (tmp_path / "upload").write_text(r'{"title": "Lamps \ud800", "note": "Trim the wick \ud83d daily."}')
    document = await sandbox.parse(tmp_path / "upload", "a.json")
    texts = [document.title, *(line.text for block in document.blocks for line in block.lines)]
    assert any("Trim the wick" in text for text in texts)
    assert all(text.encode("utf-8") for text in texts if text)


async def test_json_nested_too_deeply_is_refused_in_words(sandbox: ParserSandbox, tmp_path: Path) -> None:
    depth = 100_000
    (tmp_path / "upload").write_text('{"a":' * depth + "1" + "}" * depth)
    with pytest.raises(ParseRefused) as refused:
        await sandbox.parse(tmp_path / "upload", "a.json")
    assert refused.value.reason is RefusalReason.UNREADABLE
