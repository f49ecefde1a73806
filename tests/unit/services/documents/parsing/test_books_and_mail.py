"""EPUB and EML as blocks."""

from __future__ import annotations

import zipfile
from email.message import EmailMessage
from pathlib import Path

import pytest

from services.documents.parsing.blocks import BlockKind
from services.documents.parsing.epub import parse_epub
from services.documents.parsing.mail import parse_mail
from services.documents.parsing.refusal import ParseRefused, RefusalReason
from services.documents.sections import build_sections

CONTAINER = """<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>"""
BOOK = """<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">
<metadata><dc:title>The Tower</dc:title></metadata><manifest>
<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="one" href="text/one.xhtml" media-type="application/xhtml+xml"/>
<item id="two" href="text/two%20b.xhtml" media-type="application/xhtml+xml"/>
<item id="gone" href="text/gone.xhtml" media-type="application/xhtml+xml"/>
</manifest><spine><itemref idref="nav"/><itemref idref="two"/><itemref idref="gone"/><itemref idref="one"/></spine>
</package>"""
NAV = """<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><body>
<nav epub:type="toc"><ol>
<li><a href="text/two%20b.xhtml">The storm</a></li><li><a href="text/one.xhtml#x">After</a></li>
</ol></nav></body></html>"""
CHAPTER = '<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><body>{}</body></html>'


def make_book(path: Path, extra: dict[str, str] | None = None) -> Path:
    parts = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "OEBPS/book.opf": BOOK,
        "OEBPS/nav.xhtml": NAV,
        "OEBPS/text/one.xhtml": CHAPTER.format("<h1>After the storm</h1><p>All was calm.</p>"),
        "OEBPS/text/two b.xhtml": CHAPTER.format("<p>The wind rose.</p><ul><li>a<ul><li>b</li></ul></li></ul>"),
    } | (extra or {})
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return path


def test_chapters_follow_the_spine_and_are_sections(tmp_path: Path) -> None:
    document = parse_epub(make_book(tmp_path / "a.epub"))
    assert document.title == "The Tower"
    assert [section.title for section in build_sections(document).sections] == ["The storm", "After the storm"]
    assert [block.text for block in document.blocks] == [
        "The storm", "The wind rose.", "a\nb", "After the storm", "All was calm.",
    ]  # fmt: skip
    assert document.blocks[2].levels == [0, 1]


def test_a_locked_book_is_refused_and_obfuscated_fonts_are_not(tmp_path: Path) -> None:
    lock = (
        '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" xmlns:e="http://www.w3.org/2001/04/xmlenc#">'
        '<e:EncryptedData><e:EncryptionMethod Algorithm="{}"/></e:EncryptedData></encryption>'
    )
    fonts = lock.format("http://www.idpf.org/2008/embedding")
    assert parse_epub(make_book(tmp_path / "a.epub", {"META-INF/encryption.xml": fonts})).blocks
    locked = lock.format("http://www.w3.org/2001/04/xmlenc#aes128-cbc")
    with pytest.raises(ParseRefused) as refused:
        parse_epub(make_book(tmp_path / "b.epub", {"META-INF/encryption.xml": locked}))
    assert refused.value.reason is RefusalReason.UNSUPPORTED
    assert "locked" in refused.value.message


@pytest.mark.parametrize("part", ["META-INF/container.xml", "OEBPS/book.opf"])
def test_a_damaged_book_is_refused(tmp_path: Path, part: str) -> None:
    with pytest.raises(ParseRefused) as refused:
        parse_epub(make_book(tmp_path / "a.epub", {part: "<broken"}))
    assert refused.value.reason is RefusalReason.UNREADABLE


def make_message(subject: str, text: str) -> EmailMessage:
    message = EmailMessage()
    message["From"] = "Ana Köhler <ana@example.org>"
    message["To"] = "Board <board@example.org>"
    message["Date"] = "Mon, 06 May 2024 10:00:00 +0000"
    message["Subject"] = subject
    message["Message-ID"] = "<1@example.org>"
    message.set_content(text)
    return message


def test_headers_body_attachments_and_attached_messages(tmp_path: Path) -> None:
    message = make_message("Öl für die Lampe", "We need:\n\n- oil\n- wicks\n\nYours, Ana")
    message.add_alternative("<p>We need <b>oil</b></p>", subtype="html")
    message.add_attachment(b"\0" * 3000, maintype="application", subtype="pdf", filename="Angebot ü.pdf")
    message.add_attachment(make_message("Offer", "Two barrels."))
    (tmp_path / "a.eml").write_bytes(message.as_bytes())
    document = parse_mail(tmp_path / "a.eml")
    assert document.title == "Öl für die Lampe"
    assert [section.title for section in build_sections(document).sections] == ["Öl für die Lampe", "Offer"]
    assert document.blocks[1].lines[0].text == "From: Ana Köhler <ana@example.org>"
    texts = [block.text for block in document.blocks]
    assert "- oil\n- wicks" in texts
    assert "We need oil" not in texts
    assert "Angebot ü.pdf (application/pdf, 3 KiB)" in texts
    assert texts[-1] == "Two barrels."
    assert document.notes == ["attached to the message and not read: Angebot ü.pdf (application/pdf, 3 KiB)"]
    assert document.attachments == ["Angebot ü.pdf"]


def test_a_message_in_html_alone_is_read(tmp_path: Path) -> None:
    message = make_message("Table", "x")
    message.set_content("<table><tr><th>Lamp</th><th>Oil</th></tr><tr><td>north</td><td>3</td></tr></table>", "html")
    (tmp_path / "a.eml").write_bytes(message.as_bytes())
    (table,) = [block for block in parse_mail(tmp_path / "a.eml").blocks if block.kind is BlockKind.TABLE]
    assert table.columns == ["Lamp", "Oil"]


@pytest.mark.parametrize(
    "data",
    [
        b"From: <<<\nDate: never\nTo: a, b, ,@\nSubject: =?utf-8?q?=ff=fe?= =?x?\n\nText.",
        b"Subject: x\nContent-Type: multipart/mixed\n\nno boundary",
        b"Subject: x\nContent-Type: text/plain; charset=nonsense\nContent-Transfer-Encoding: base64\n\n!!!!",
        b"Subject: x\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\n--b\n\ntext\n",
    ],
)
def test_misshapen_messages_do_not_break_the_parser(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.eml").write_bytes(data)
    assert parse_mail(tmp_path / "a.eml").blocks


def test_a_chapter_that_cannot_be_read_whole_refuses_the_book(tmp_path: Path) -> None:
    deep = CHAPTER.format("<p>The chapel opens at nine.</p>" + "<div>" * 3_000 + "The crypt opens at ten.")
    with pytest.raises(ParseRefused, match="cannot be read whole") as refused:
        parse_epub(make_book(tmp_path / "a.epub", {"OEBPS/text/one.xhtml": deep}))
    assert refused.value.reason is RefusalReason.TOO_LARGE


def test_a_deep_chapter_and_a_deep_message_are_read_whole(tmp_path: Path) -> None:
    deep = f"<p>The chapel opens at nine.</p>{'<div>' * 900}The crypt opens at ten.{'</div>' * 900}<p>End.</p>"
    book = parse_epub(make_book(tmp_path / "a.epub", {"OEBPS/text/one.xhtml": CHAPTER.format(deep)}))
    assert [block.text for block in book.blocks[-2:]] == ["The crypt opens at ten.", "End."]
    message = EmailMessage()
    message["Subject"] = "Hours"
    message.set_content(deep, subtype="html")
    (tmp_path / "a.eml").write_bytes(message.as_bytes())
    assert [block.text for block in parse_mail(tmp_path / "a.eml").blocks[-2:]] == ["The crypt opens at ten.", "End."]


def test_a_message_that_cannot_be_read_whole_is_refused(tmp_path: Path) -> None:
    message = EmailMessage()
    message["Subject"] = "Hours"
    message.set_content("<div>" * 3_000 + "The crypt opens at ten.", subtype="html")
    (tmp_path / "a.eml").write_bytes(message.as_bytes())
    with pytest.raises(ParseRefused, match="cannot be read whole"):
        parse_mail(tmp_path / "a.eml")
