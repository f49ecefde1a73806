"""Files made to do harm, built here: what unfolds, nests, lies about its kind, or names places outside."""

from __future__ import annotations

import base64
import io
import json
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

MIB: Final = 1024 * 1024
_UNFOLDED_MIB: Final = 400
_ENTITIES: Final = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + b"".join(
    b'<!ENTITY %c "%s">' % (letter + 1, b"&%c;" % letter * 10) for letter in range(ord("a"), ord("j"))
)
_MAIN_PARTS: Final = {
    "docx": "word/document.xml",
    "xlsx": "xl/workbook.xml",
    "pptx": "ppt/presentation.xml",
    "epub": "META-INF/container.xml",
}


def bomb(kind: str) -> Callable[[Path], None]:
    """A package whose main part unfolds to 400 MiB of spaces."""

    def write(path: Path) -> None:
        with (
            zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package,
            package.open(_MAIN_PARTS[kind], "w") as part,
        ):
            part.write(b"<?xml version='1.0'?><x>")
            for _ in range(_UNFOLDED_MIB):
                part.write(b" " * MIB)
            part.write(b"</x>")

    return write


def liar(kind: str) -> Callable[[Path], None]:
    """The same, but its directory says that the part is small."""

    def write(path: Path) -> None:
        bomb(kind)(path)
        data = bytearray(path.read_bytes())
        for mark, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
            start = data.find(mark)
            while start >= 0:
                data[start + offset : start + offset + 4] = struct.pack("<I", 1000)
                start = data.find(mark, start + 4)
        path.write_bytes(bytes(data))

    return write


def entities(kind: str) -> Callable[[Path], None]:
    """A package whose main part declares entities that unfold a billion times."""

    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
            package.writestr(_MAIN_PARTS[kind], b"<?xml version='1.0'?>" + _ENTITIES + b"]><x>&j;</x>")

    return write


def outside_names(path: Path) -> None:
    """A book whose parts are named to be written elsewhere, and whose chapter is one of them."""
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("mimetype", "application/epub+zip")
        package.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="../../../../tmp/book.opf"/></rootfiles></container>',
        )
        package.writestr(
            "../../../../tmp/book.opf",
            '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="../../../etc/passwd"/>'
            '</manifest><spine><itemref idref="a"/></spine></package>',
        )
        package.writestr("../../../etc/passwd", "<html><body><p>Not what it seems to be.</p></body></html>")


def nested_html(path: Path) -> None:
    """A page of a hundred thousand elements, each inside the one before it."""
    path.write_text("<html><body>" + "<div><b><ul><li>" * 25_000 + "deep" + "</li></ul></b></div>" * 25_000)


def nested_json(path: Path) -> None:
    """A million lists inside one another."""
    path.write_text("[" * 1_000_000 + "]" * 1_000_000)


def nested_lists(path: Path) -> None:
    """Markdown quotes and lists, hundreds deep, three times."""
    path.write_text(("> " * 500 + "deep\n\n" + "".join("  " * n + "- item\n" for n in range(300))) * 3)


def long_line(path: Path) -> None:
    """A table whose one line has 95 MiB."""
    with path.open("wb") as stream:
        stream.write(b"name,value\n")
        for _ in range(95):
            stream.write(b"a" * MIB)
        stream.write(b",1\n")


def many_cells(path: Path) -> None:
    """A table whose one line has thirty million cells."""
    with path.open("wb") as stream:
        for _ in range(30):
            stream.write(b"1," * 1_000_000)
        stream.write(b"\n")


def mail_of_archives(path: Path) -> None:
    """A message in a message, sixty deep, with an archive of an archive at each."""
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("zeros", bytes(20 * MIB))
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as outer:
        info = tarfile.TarInfo("../../etc/cron.d/inner.zip")
        info.size = len(inner.getvalue())
        outer.addfile(info, io.BytesIO(inner.getvalue()))
    # Built as text: the library itself would not nest so deep.
    message = "From: a@b.example\nTo: c@d.example\nMessage-ID: <0@b>\nSubject: innermost\n\nThe last word.\n"
    packed = base64.encodebytes(archive.getvalue()).decode()
    for number in range(60):
        edge = f"edge{number}"
        message = (
            f"From: a@b.example\nTo: c@d.example\nMessage-ID: <{number}@b>\nSubject: layer {number}\n"
            f'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="{edge}"\n\n'
            f"--{edge}\nContent-Type: text/plain\n\nLayer {number}.\n"
            f"--{edge}\nContent-Type: application/gzip\nContent-Transfer-Encoding: base64\n"
            f'Content-Disposition: attachment; filename="../../../etc/passwd"\n\n{packed}\n'
            f"--{edge}\nContent-Type: message/rfc822\n\n{message}\n--{edge}--\n"
        )
    path.write_text(message)


def many_parts(path: Path) -> None:
    """A message of a hundred thousand parts."""
    head = 'From: a@b.example\nMessage-ID: <1@b>\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="e"\n\n'
    path.write_text(head + "--e\nContent-Type: text/plain\n\nx\n" * 100_000 + "--e--\n")


def picture_bomb(path: Path) -> None:
    """A page covered by a picture of 60,000 x 60,000 pixels, folded to a few KiB."""
    edge = 60_000
    squeeze = zlib.compressobj(9)
    row = bytes(edge)
    data = b"".join(squeeze.compress(row) for _ in range(edge // 20)) + squeeze.flush()
    # Only a twentieth of the rows is there: a reader must not believe the size before it has the data.
    size = b"/Width %d /Height %d /ColorSpace /DeviceGray /BitsPerComponent 8 /Filter /FlateDecode" % (edge, edge)
    _write_pdf(path, b"q 595 0 0 842 0 0 cm /P Do Q", b"/XObject << /P 5 0 R >>", b"/Subtype /Image " + size, data)


def stream_bomb(path: Path) -> None:
    """A page whose drawing unfolds, in four layers, to gigabytes."""
    data = b"0 0 m 1 1 l S\n" * 2_000_000
    for _ in range(3):
        data = zlib.compress(data, 9)
    filters = b"/Subtype /Form /BBox [0 0 9 9] /Filter [/FlateDecode /FlateDecode /FlateDecode]"
    _write_pdf(path, b"/P Do " * 50, b"/XObject << /P 5 0 R >>", filters, data)


def _write_pdf(path: Path, content: bytes, resources: bytes, head: bytes, data: bytes) -> None:
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << %s >> >>" % resources,
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /XObject %s /Length %d >>\nstream\n%s\nendstream" % (head, len(data), data),
    ]
    out = bytearray(b"%PDF-1.7\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    path.write_bytes(bytes(out))


def called_docx(path: Path) -> None:
    """A PDF that calls itself a Word file."""
    text = b"BT /F 12 Tf 72 700 Td (This is a page of a book, whatever its name.) Tj ET"
    font = b"/Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>"
    _write_pdf(path, text, font, b"/Subtype /Form", b"")


def program(path: Path) -> None:
    """A program that calls itself a PDF."""
    path.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(5000))


def archive_called_pdf(path: Path) -> None:
    """An archive with a name that leads outside, called a PDF."""
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("../../../outside/keys", "not a key")


def json_of_one_key(path: Path) -> None:
    """One text of 60 MiB under one key."""
    with path.open("w") as stream:
        json.dump({"text": "lamp " * (12 * MIB)}, stream)


READ: Final = "read"
FILES: Final[dict[str, tuple[str, Callable[[Path], None], tuple[str, ...]]]] = {
    **{f"bomb-{kind}": (f"a.{kind}", bomb(kind), ("FILE_TOO_LARGE",)) for kind in _MAIN_PARTS},
    **{f"liar-{kind}": (f"a.{kind}", liar(kind), ("FILE_CORRUPT", "FILE_TYPE_UNSUPPORTED")) for kind in _MAIN_PARTS},
    **{f"entities-{kind}": (f"a.{kind}", entities(kind), ("FILE_CORRUPT",)) for kind in _MAIN_PARTS},
    "outside-names": ("a.epub", outside_names, ("FILE_EMPTY",)),
    "nested-html": ("a.html", nested_html, ("FILE_TOO_LARGE",)),
    "nested-json": ("a.json", nested_json, ("FILE_CORRUPT",)),
    "nested-lists": ("a.md", nested_lists, (READ,)),
    "long-line": ("a.csv", long_line, ("FILE_TOO_LARGE",)),
    "many-cells": ("a.csv", many_cells, ("FILE_TOO_LARGE",)),
    "one-key": ("a.json", json_of_one_key, ("FILE_TOO_LARGE",)),
    "mail-of-archives": ("a.eml", mail_of_archives, (READ,)),
    "mail-of-parts": ("a.eml", many_parts, ("FILE_TOO_LARGE",)),
    "picture-bomb": ("a.pdf", picture_bomb, (READ,)),
    "stream-bomb": ("a.pdf", stream_bomb, (READ, "PARSE_TIMEOUT", "PARSE_MEMORY_EXCEEDED")),
    "called-docx": ("a.docx", called_docx, (READ,)),
    "program": ("a.pdf", program, ("FILE_TYPE_UNSUPPORTED",)),
    "archive-called-pdf": ("a.pdf", archive_called_pdf, ("FILE_TYPE_UNSUPPORTED",)),
}
"""By name: what the file calls itself, what writes it, and how it may end."""
