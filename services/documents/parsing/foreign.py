"""Kinds of files that are told apart only to be refused in words that help: archives, old Office, pictures, media."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NoReturn

from services.documents.parsing.refusal import ParseRefused, RefusalReason

READ_FORMATS: Final = "PDF, DOCX, PPTX, XLSX, HTML, Markdown, EPUB, EML, CSV, JSON and text are read"
_UNPACK: Final = "unpack it and send the files in it"
_ARCHIVE: Final = f"an archive: {_UNPACK}"
_COMPRESSED: Final = f"a compressed file: {_UNPACK}"
_PICTURE: Final = "a picture: send it as a PDF"
_MEDIA: Final = "a sound or a film"
_PROGRAM: Final = "a program"
_STARTS: Final = (
    (b"\x89PNG", _PICTURE), (b"\xff\xd8\xff", _PICTURE), (b"GIF8", _PICTURE), (b"II*\0", _PICTURE),
    (b"MM\0*", _PICTURE), (b"8BPS", _PICTURE),
    (b"\x1f\x8b", _COMPRESSED), (b"BZh", _COMPRESSED), (b"\xfd7zXZ", _COMPRESSED), (b"\x28\xb5\x2f\xfd", _COMPRESSED),
    (b"7z\xbc\xaf", _ARCHIVE), (b"Rar!", _ARCHIVE), (b"MSCF", _ARCHIVE),
    (b"\x7fELF", _PROGRAM), (b"MZ\x90", _PROGRAM), (b"\xca\xfe\xba\xbe", _PROGRAM), (b"\0asm", _PROGRAM),
    (b"ID3", _MEDIA), (b"OggS", _MEDIA), (b"RIFF", "a picture, a sound or a film"), (b"\x1aE\xdf\xa3", _MEDIA),
    (b"SQLite format 3", "a database: export its tables as CSV"), (b"PAR1", "a Parquet file: export it as CSV"),
    (b"{\\rtf", "an RTF file: save it as DOCX or PDF"), (b"%!PS", "a PostScript file: save it as PDF"),
)  # fmt: skip
_OLE: Final = b"\xd0\xcf\x11\xe0"
_OLE_KINDS: Final = {
    ".doc": "an old Word file: save it as DOCX or PDF",
    ".xls": "an old Excel file: save it as XLSX",
    ".ppt": "an old PowerPoint file: save it as PPTX or PDF",
    ".msg": "an Outlook message: save it as EML",
    ".docx": "a Word file with a password: save it without one",
    ".xlsx": "an Excel file with a password: save it without one",
    ".pptx": "a PowerPoint file with a password: save it without one",
}
_TAR_MARK: Final = slice(257, 262)
_FILM_MARK: Final = slice(4, 8)


def refuse_foreign(start: bytes, ending: str) -> None:
    """Raises ParseRefused where a file's first bytes tell a kind that is not read."""
    name = next((name for magic, name in _STARTS if start.startswith(magic)), "")
    if start.startswith(_OLE):
        name = _OLE_KINDS.get(ending, "an old or encrypted Office file: save it as DOCX, XLSX, PPTX or PDF")
    elif start[_TAR_MARK] == b"ustar":
        name = _ARCHIVE
    elif start[_FILM_MARK] == b"ftyp":
        name = _MEDIA
    if name:
        raise ParseRefused(RefusalReason.UNSUPPORTED, f"This is {name}; {READ_FORMATS}.")


def refuse_archive(names: Sequence[str]) -> NoReturn:
    """Raises ParseRefused for a zip archive of these members, which is no document."""
    if "mimetype" in names and "content.xml" in names:
        name = "an OpenDocument file: save it as DOCX, XLSX, PPTX or PDF"
    elif any(part.startswith(("word/", "xl/", "ppt/")) for part in names):
        name = "an Office file of a kind that is not read: save it as DOCX, XLSX or PPTX"
    else:
        files = sum(not part.endswith("/") for part in names)
        name = f"an archive of {files} file{'' if files == 1 else 's'}: {_UNPACK}"
    raise ParseRefused(RefusalReason.UNSUPPORTED, f"This is {name}; {READ_FORMATS}.")
