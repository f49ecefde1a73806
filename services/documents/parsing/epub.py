"""EPUB as blocks: its chapters in the order of the spine, each a section, read like any other HTML."""

from __future__ import annotations

import contextlib
from pathlib import Path
from zipfile import ZipFile

from lxml import etree  # type: ignore[import-untyped]  # it ships no types

from services.documents.parsing.blocks import Block, BlockKind, Line, ParsedDocument
from services.documents.parsing.html import read_markup
from services.documents.parsing.html_text import squeeze
from services.documents.parsing.packages import open_package, read_xml, resolve_part
from services.documents.parsing.plain import decode
from services.documents.parsing.refusal import ParseRefused, RefusalReason

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_NAMES = {
    "c": "urn:oasis:names:tc:opendocument:xmlns:container",
    "o": "http://www.idpf.org/2007/opf",
    "d": "http://purl.org/dc/elements/1.1/",
    "n": "http://www.daisy.org/z3986/2005/ncx/",
    "h": "http://www.w3.org/1999/xhtml",
    "e": "http://www.w3.org/2001/04/xmlenc#",
}
_FONT_OBFUSCATION = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_MAX_CHAPTERS = 5_000


def parse_epub(path: Path) -> ParsedDocument:
    """A book as blocks. Raises ParseRefused where it is damaged, locked or empty."""
    with open_package(path, "EPUB") as package:
        _refuse_locked(package)
        root_name = read_xml(package, _CONTAINER).find(".//c:rootfile", _NAMES).get("full-path", "")
        book = read_xml(package, root_name)
        parts = {item.get("id"): item for item in book.iterfind("o:manifest/o:item", _NAMES)}
        titles = _read_contents(package, root_name, list(parts.values()))
        document = ParsedDocument("epub", title=squeeze(book.findtext(".//d:title", "", _NAMES) or "")[:300])
        spine = book.findall("o:spine/o:itemref", _NAMES)
        if len(spine) > _MAX_CHAPTERS:
            document.truncated = f"only the first {_MAX_CHAPTERS:,} of {len(spine):,} chapters were read"
        for reference in spine[:_MAX_CHAPTERS]:
            item = parts.get(reference.get("idref"))
            if item is None or "nav" in (item.get("properties") or "").split():
                continue
            name = resolve_part(root_name, item.get("href", ""))
            document.blocks.extend(_read_chapter(package, name, titles.get(name, "")))
    if not document.blocks:
        raise ParseRefused(RefusalReason.EMPTY, "The book holds no text.")
    return document


def _read_chapter(package: ZipFile, name: str, title: str) -> list[Block]:
    """A chapter's blocks; it begins with a heading where the contents name it. A missing or empty one has none."""
    try:
        blocks = read_markup(decode(package.read(name)), "epub").blocks
    except KeyError:
        return []
    except ParseRefused as refusal:
        if refusal.reason is not RefusalReason.EMPTY:
            raise
        return []
    if title and not any(block.kind is BlockKind.HEADING for block in blocks):
        blocks.insert(0, Block(BlockKind.HEADING, [Line(title)], level=1))
    return blocks


def _read_contents(package: ZipFile, root_name: str, items: list[etree._Element]) -> dict[str, str]:
    """The first title that the book's contents (EPUB 3's navigation, else EPUB 2's NCX) give to each part."""
    titles: dict[str, str] = {}
    for item in sorted(items, key=lambda each: "nav" not in (each.get("properties") or "").split()):
        is_nav = "nav" in (item.get("properties") or "").split()
        if not is_nav and item.get("media-type") != "application/x-dtbncx+xml":
            continue
        name = resolve_part(root_name, item.get("href", ""))
        # A book without readable contents is still a book.
        with contextlib.suppress(KeyError, etree.LxmlError):
            root = read_xml(package, name)
            if is_nav:
                links = [(a.get("href", ""), "".join(a.itertext())) for a in root.iterfind(".//h:nav//h:a", _NAMES)]
            else:
                links = [
                    (point.find("n:content", _NAMES).get("src", ""), point.findtext("n:navLabel/n:text", "", _NAMES))
                    for point in root.iterfind(".//n:navPoint", _NAMES)
                    if point.find("n:content", _NAMES) is not None
                ]
            for target, text in links:
                titles.setdefault(resolve_part(name, target), squeeze(text or "")[:300])
    return titles


def _refuse_locked(package: ZipFile) -> None:
    """Books whose text is encrypted by a shop; obfuscated fonts are no text."""
    try:
        methods = read_xml(package, _ENCRYPTION).iterfind(".//e:EncryptionMethod", _NAMES)
    except KeyError:
        return
    if any(method.get("Algorithm") not in _FONT_OBFUSCATION for method in methods):
        raise ParseRefused(RefusalReason.UNSUPPORTED, "The book is locked by its seller: send one without a lock.")
