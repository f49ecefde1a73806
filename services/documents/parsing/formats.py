"""Which kind of file this is: by its first bytes, then by its name."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from services.documents.parsing.refusal import ParseRefused, RefusalReason

MEDIA_TYPES = {
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "html": "text/html",
    "markdown": "text/markdown",
    "text": "text/plain",
}
_ENDINGS = {
    ".pdf": "pdf", ".docx": "docx", ".html": "html", ".htm": "html", ".xhtml": "html",
    ".md": "markdown", ".markdown": "markdown", ".mdx": "markdown",
    ".txt": "text", ".text": "text", ".rst": "text", ".log": "text", "": "text",
}  # fmt: skip
_HTML_START = re.compile(
    rb"^\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
)
_FOREIGN_STARTS = (
    (b"\xd0\xcf\x11\xe0", "an old Office file (.doc, .xls, .ppt) or an encrypted one: save it as .docx or .pdf"),
    (b"\x89PNG", "a picture"), (b"\xff\xd8\xff", "a picture"), (b"GIF8", "a picture"), (b"II*\x00", "a picture"),
    (b"\x1f\x8b", "a compressed file"), (b"7z\xbc\xaf", "an archive"), (b"Rar!", "an archive"),
    (b"\x7fELF", "a program"),
    (b"{\\rtf", "an RTF file: save it as .docx or .pdf"),
)  # fmt: skip
_SAMPLE_SIZE = 8192


def tell_format(path: Path, file_name: str) -> str:
    """One of the keys of MEDIA_TYPES. Raises ParseRefused for empty files and for kinds that nobody here reads."""
    with path.open("rb") as stream:
        start = stream.read(_SAMPLE_SIZE)
    if not start:
        raise ParseRefused(RefusalReason.EMPTY, "The file is empty (0 bytes).")
    ending = Path(file_name).suffix.lower()
    named = _ENDINGS.get(ending)
    if b"%PDF-" in start[:1024]:
        return "pdf"
    if start.startswith(b"PK\x03\x04"):
        return _tell_archive(path)
    if named == "pdf":
        return "pdf"  # pdfium says better than we could what is wrong with it
    if named == "docx":
        raise ParseRefused(RefusalReason.UNREADABLE, "The file is damaged: a .docx must be a zip archive.")
    for magic, name in _FOREIGN_STARTS:
        if start.startswith(magic):
            raise ParseRefused(
                RefusalReason.UNSUPPORTED, f"This is {name}; PDF, DOCX, HTML, Markdown and text are read."
            )
    if _looks_binary(start):
        raise ParseRefused(
            RefusalReason.UNSUPPORTED, "The file is not text, PDF, DOCX, HTML or Markdown; only these are read."
        )
    if named in ("html", "markdown"):
        return named
    if _HTML_START.match(start):
        return "html"
    return named or "text"


def _looks_binary(start: bytes) -> bool:
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False  # UTF-16 text
    controls = sum(byte < 9 or 13 < byte < 27 or 27 < byte < 32 for byte in start)
    return controls > 0.02 * len(start)


def _tell_archive(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
    except zipfile.BadZipFile as error:
        raise ParseRefused(RefusalReason.UNREADABLE, "The file is damaged: its archive cannot be opened.") from error
    if "word/document.xml" in names:
        return "docx"
    raise ParseRefused(
        RefusalReason.UNSUPPORTED, "This archive is not a DOCX document; PDF, DOCX, HTML, Markdown and text are read."
    )
