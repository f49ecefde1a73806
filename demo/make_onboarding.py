"""Writes demo/corpus/onboarding.docx, the handbook's page for new colleagues, as a Word file.

python -m demo.make_onboarding          writes the file; the same source always gives the same parts
"""

from __future__ import annotations

import io
import zipfile
from datetime import UTC, datetime
from pathlib import Path

from docx import Document

TARGET = Path(__file__).resolve().parent / "corpus" / "onboarding.docx"
_WRITTEN = datetime(2026, 2, 9, 9, 0, tzinfo=UTC)

# (style, text); a table is ("table", rows).
_TEXT: list[tuple[str, str]] = [
    ("Title", "Your first weeks at Fernhill"),
    ("Normal", "Fernhill Instruments · Document owner: People team · Version of 9 February 2026"),
    (
        "Normal",
        "Welcome. This page tells you what happens before you start, on your first day and until the end of your trial "
        "period, and whom to ask. Your mentor has a copy and goes through it with you.",
    ),
    ("Heading 1", "Before your first day"),
    (
        "Normal",
        "Two weeks before you start, the People team sends you the contract, the form for the payroll and the dates of "
        "your first week. Send the form back within five days, so that your first salary arrives on time.",
    ),
    (
        "Normal",
        "The service desk orders your computer and your telephone. Tell them at least one week ahead if you need "
        "something special, such as a large screen or a left-handed mouse.",
    ),
    ("Heading 1", "Your first day"),
    (
        "Normal",
        "Come to the front desk at 9:00. Bring a passport or an identity card, your tax number and the details of your "
        "bank account. Your mentor meets you at the desk, shows you round and has lunch with you.",
    ),
    ("Normal", "By the end of the day you will have received four things:"),
    ("List Bullet", "your badge, which opens the building from 6:00 to 22:00,"),
    ("List Bullet", "a computer with mail and calendar set up,"),
    ("List Bullet", "a security key for two-factor authentication,"),
    ("List Bullet", "the safety briefing for the building you work in."),
    ("Heading 1", "Training"),
    (
        "Normal",
        "Everyone completes the courses of the table below. They are found in the staff portal under Learning. The badge "
        "is limited to the ground floor until the safety course has been passed.",
    ),
    ("table", ""),
    ("Heading 1", "Trial period"),
    (
        "Normal",
        "The trial period lasts six months. You talk about how it is going with your line manager after four, twelve and "
        "twenty weeks. During the trial period either side may end the contract with two weeks' notice.",
    ),
    ("Heading 1", "Your mentor"),
    (
        "Normal",
        "A mentor is a colleague of another team who has been with us for at least two years. Mentors have two hours a "
        "week for you during the first three months. Ask them anything, above all what you think you should know already.",
    ),
    ("Heading 1", "Managers"),
    (
        "Normal",
        "Managers who join us also spend two days in service and one day in production within their first six weeks, and "
        "complete the course on employment law within three months. They get access to the personnel files of their "
        "team once the People team has confirmed the course.",
    ),
    ("Heading 1", "Whom to ask"),
    (
        "Normal",
        "Contract and salary: the People team, extension 4410. Computer and telephone: the service desk, extension 4400. "
        "Building and badge: facilities, extension 4420. Anything that worries you: the security line, extension 4477, "
        "at any hour.",
    ),
]

_COURSES = [
    ("Course", "Complete within", "Length"),
    ("Safety in the building", "3 days", "45 minutes"),
    ("Information security", "2 weeks", "60 minutes"),
    ("Data protection", "4 weeks", "40 minutes"),
    ("Cold chain basics", "8 weeks", "half a day"),
]


def make_onboarding() -> bytes:
    """The Word file; its parts are the same each time, and so are their dates in the archive."""
    document = Document()
    properties = document.core_properties
    properties.title, properties.author = "Your first weeks at Fernhill", "Fernhill Instruments, People team"
    properties.created = properties.modified = _WRITTEN.replace(tzinfo=None)
    for style, text in _TEXT:
        if style != "table":
            document.add_paragraph(text, style=style)
            continue
        table = document.add_table(rows=0, cols=len(_COURSES[0]), style="Table Grid")
        for row in _COURSES:
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
    TARGET.write_bytes(make_onboarding())


if __name__ == "__main__":
    main()
