"""Which kind of file this is: by its first bytes, then by its name."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Final

from services.documents.parsing.foreign import READ_FORMATS, refuse_archive, refuse_foreign
from services.documents.parsing.plain import tell_wide_encoding
from services.documents.parsing.refusal import ParseRefused, RefusalReason

MEDIA_TYPES: Final = {
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "epub": "application/epub+zip",
    "mail": "message/rfc822",
    "html": "text/html",
    "markdown": "text/markdown",
    "csv": "text/csv",
    "json": "application/json",
    "text": "text/plain",
}
_ENDINGS: Final = {
    ".pdf": "pdf", ".docx": "docx", ".docm": "docx", ".pptx": "pptx", ".pptm": "pptx", ".xlsx": "xlsx",
    ".xlsm": "xlsx", ".epub": "epub", ".eml": "mail", ".html": "html", ".htm": "html", ".xhtml": "html",
    ".md": "markdown", ".markdown": "markdown", ".mdx": "markdown", ".csv": "csv", ".tsv": "csv",
    ".json": "json", ".jsonl": "json", ".ndjson": "json",
    ".txt": "text", ".text": "text", ".rst": "text", ".log": "text", "": "text",
}  # fmt: skip
_PACKAGES: Final = frozenset({"docx", "pptx", "xlsx", "epub"})
_HTML_START: Final = re.compile(
    rb"^\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
)
_MAIL_HEADER: Final = re.compile(
    rb"^(from|to|subject|date|message-id|received|return-path|mime-version|delivered-to|x-[\w-]+|content-[\w-]+):", re.I
)
_SURE_MAIL_HEADERS: Final = frozenset({b"message-id", b"received", b"return-path", b"mime-version", b"delivered-to"})
_SAMPLE_SIZE: Final = 8192


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
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _tell_package(path)
    refuse_foreign(start, ending)
    if named == "pdf":
        return "pdf"  # pdfium says better than we could what is wrong with it
    if named in _PACKAGES:
        raise ParseRefused(RefusalReason.UNREADABLE, f"The file is damaged: a {ending} must be a zip archive.")
    if _looks_binary(start):
        raise ParseRefused(
            RefusalReason.UNSUPPORTED, f"The file is neither text nor a format that is read: {READ_FORMATS}."
        )
    return _tell_text(start, named)


def _tell_text(start: bytes, named: str | None) -> str:
    if named in ("html", "markdown"):
        return named
    if _HTML_START.match(start):
        return "html"
    if named in ("csv", "json"):
        return named
    if _looks_like_mail(start, named == "mail"):
        return "mail"
    return "text"


def _looks_like_mail(start: bytes, is_named: bool) -> bool:
    """Whether it begins with the header of a message, not with the first lines of some letter or log."""
    lines = start.split(b"\n\n")[0].split(b"\r\n\r\n")[0].splitlines()
    if not lines or not (_MAIL_HEADER.match(lines[0]) or lines[0].startswith(b"From ")):
        return False
    headers = {found.group(1).lower() for line in lines if (found := _MAIL_HEADER.match(line))}
    return (len(headers) >= 3 and bool(headers & _SURE_MAIL_HEADERS)) or (is_named and bool(headers))


def _looks_binary(start: bytes) -> bool:
    if start.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")) or tell_wide_encoding(start):
        return False  # UTF-16 and UTF-32 text
    controls = sum(byte < 9 or 13 < byte < 27 or 27 < byte < 32 for byte in start)
    return controls > 0.02 * len(start)


def _tell_package(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            is_epub = "META-INF/container.xml" in names
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise ParseRefused(RefusalReason.UNREADABLE, "The file is damaged: its archive cannot be opened.") from error
    for part, kind in (
        ("word/document.xml", "docx"), ("ppt/presentation.xml", "pptx"), ("xl/workbook.xml", "xlsx"),
    ):  # fmt: skip
        if part in names:
            return kind
    if is_epub:
        return "epub"
    refuse_archive(names)
