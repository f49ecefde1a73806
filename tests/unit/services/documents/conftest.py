"""What tests of the documents service share: small PDFs made here, a sandbox, and an encoder that needs no model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from services.documents.parsing.sandbox import ParserSandbox, SandboxLimits
from tests.unit.services.documents.serving import Mesh, start
from tests.unit.services.documents.word_encoder import WordTokenizer

LEFT = 72.0
WIDTH, HEIGHT = A4


@dataclass
class PdfWriter:
    """Writes a PDF line by line; `y` runs down the page."""

    path: Path
    canvas: Canvas = field(init=False)
    y: float = field(init=False, default=HEIGHT - 90)

    def __post_init__(self) -> None:
        self.canvas = Canvas(str(self.path), pagesize=A4)

    def line(self, text: str, *, x: float = LEFT, size: float = 10, bold: bool = False, gap: float = 12) -> None:
        """One line, then down by `gap` points."""
        self.canvas.setFont("Helvetica-Bold" if bold else "Helvetica", size)
        self.canvas.drawString(x, self.y, text)
        self.y -= gap

    def row(self, cells: Sequence[tuple[float, str]], gap: float = 12) -> None:
        """Words at the given x on one baseline."""
        self.canvas.setFont("Helvetica", 10)
        for x, text in cells:
            self.canvas.drawString(x, self.y, text)
        self.y -= gap

    def space(self, points: float) -> None:
        """Empty space."""
        self.y -= points

    def bookmark(self, title: str, level: int = 0) -> None:
        """An outline entry that points to this page."""
        key = f"{title}-{self.canvas.getPageNumber()}-{self.y}"
        self.canvas.bookmarkPage(key)
        self.canvas.addOutlineEntry(title, key, level)

    def next_page(self) -> None:
        """A new page."""
        self.canvas.showPage()
        self.y = HEIGHT - 90

    def save(self) -> Path:
        """Finishes the file."""
        self.canvas.save()
        return self.path


NewPdf = Callable[[str], PdfWriter]


@pytest.fixture
def pdf(tmp_path: Path) -> NewPdf:
    """Begins a PDF of the given file name."""
    return lambda name: PdfWriter(tmp_path / name)


@pytest.fixture
def limits() -> SandboxLimits:
    """The limits of production, with more patience: the machine may be busy."""
    return SandboxLimits(cpu_s=20, wall_s=60)


@pytest.fixture
def sandbox(limits: SandboxLimits, tmp_path: Path) -> ParserSandbox:
    """A sandbox with two children at a time."""
    folder = tmp_path / "sandbox"
    folder.mkdir()
    return ParserSandbox(limits, 2, folder)


@pytest.fixture
def count_tokens() -> Callable[[Sequence[str]], list[int]]:
    """The splitter's counter in tests."""
    return WordTokenizer().count_tokens


@pytest_asyncio.fixture
async def mesh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[Mesh]:
    """The running service."""
    started = await start(monkeypatch, tmp_path / "state")
    yield started
    await started.service.close()
