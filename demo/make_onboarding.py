"""Writes demo/corpus/onboarding.docx, the handbook's page for new colleagues, as a Word file from demo/onboarding.md.

python -m demo.make_onboarding          writes the file; the same source always gives the same parts
"""

from __future__ import annotations

import io
import re
import zipfile
from datetime import datetime
from pathlib import Path

from docx import Document

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "onboarding.md"
TARGET = HERE / "corpus" / "onboarding.docx"
# The date in the text, so that no file says when it was made.
_WRITTEN = datetime(2026, 2, 9, 9, 0)

_STYLES = {"# ": "Title", "## ": "Heading 1", "- ": "List Bullet"}


def make_onboarding(source: str) -> bytes:
    """The Word file of a text with `#` and `##` headings, paragraphs, `- ` lists and `|` tables."""
    document = Document()
    properties = document.core_properties
    properties.title, properties.author = "Your first weeks at Fernhill", "Fernhill Instruments, People team"
    properties.created = properties.modified = _WRITTEN
    for block in re.split(r"\n\s*\n", source.strip()):
        lines = block.splitlines()
        if not lines[0].startswith("|"):
            for line in lines:
                mark = re.match(r"#{1,2} |- |", line)
                style = _STYLES.get(mark.group(), "Normal") if mark else "Normal"
                document.add_paragraph(line.lstrip("#- ") if style != "Normal" else line, style=style)
            continue
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith("|---")]
        table = document.add_table(rows=0, cols=len(rows[0]), style="Table Grid")
        for row in rows:
            for cell, value in zip(table.add_row().cells, row, strict=True):
                cell.text = value
    written = io.BytesIO()
    document.save(written)
    return _with_fixed_dates(written.getvalue())


def _with_fixed_dates(archive: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as source, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as result:
        for name in source.namelist():
            entry = zipfile.ZipInfo(name, date_time=_WRITTEN.timetuple()[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            result.writestr(entry, source.read(name))
    return target.getvalue()


def main() -> None:
    """Writes the file beside the other documents of the demo."""
    TARGET.write_bytes(make_onboarding(SOURCE.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
