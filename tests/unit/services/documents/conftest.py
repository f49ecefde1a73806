"""What tests of the documents service share: small PDFs made here, a sandbox, and an encoder that needs no model."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from citemesh.models.contract import EncoderContract
from services.documents.parsing.sandbox import ParserSandbox, SandboxLimits

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


class WordTokenizer:
    """Counts words and marks as tokens."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(re.findall(r"\w+|[^\w\s]", text)) for text in texts]


class WordEncoder:
    """Vectors by hashed words: texts that share words are near each other; no model is needed."""

    def __init__(self, revision: str = "1") -> None:
        self.tokenizer = WordTokenizer()
        self.contract = EncoderContract(
            model_id="words",
            revision=revision,
            query_prefix="",
            passage_prefix="",
            dimension_count=32,
            pooling="mean",
            normalised=True,
            metric="cosine",
            max_token_count=256,
        )

    def encode_passages(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        vectors = np.full((len(texts), 32), 1e-3, dtype=np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.casefold()):
                vectors[row, zlib.crc32(word.encode()) % 32] += 1
        unit: npt.NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit

    def encode_canaries(self) -> npt.NDArray[np.float32]:
        return self.encode_passages(["one canary", "two canaries", self.contract.revision])


@pytest.fixture
def count_tokens() -> Callable[[Sequence[str]], list[int]]:
    """The splitter's counter in tests."""
    return WordTokenizer().count_tokens
