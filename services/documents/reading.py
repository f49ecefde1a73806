"""From a file on disk to sections, passages and profile; nothing is stored here."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from pathlib import Path

from citemesh.v1.document_pb2 import DocumentProfile, Section
from citemesh.v1.evidence_pb2 import Passage
from services.documents.parsing.blocks import ParsedDocument
from services.documents.parsing.formats import MEDIA_TYPES
from services.documents.parsing.refusal import ParseRefused
from services.documents.parsing.sandbox import ParserSandbox, SandboxLimits
from services.documents.profile import make_profile
from services.documents.refusals import to_service_error
from services.documents.scanned import describe_scans, find_scanned_pages, ocr_is_installed
from services.documents.sections import build_sections
from services.documents.splitting.passages import Lengths, make_passages
from services.documents.splitting.pieces import CountTokens


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """Everything that a file gives; ids, versions and dates are for the store and the caller to set.

    `scanned_pages` are pictures without a text layer, `recognised_pages` those that OCR read now.
    """

    title: str
    media_type: str
    profile: DocumentProfile
    sections: list[Section]
    passages: list[Passage]
    warnings: list[str]
    scanned_pages: tuple[int, ...] = ()
    recognised_pages: tuple[int, ...] = ()


class DocumentReader:
    """Reads files: the parsing in a child process, the rest in a thread."""

    def __init__(
        self,
        sandbox: ParserSandbox,
        limits: SandboxLimits,
        lengths: Lengths,
        count_tokens: CountTokens,
        max_file_size_bytes: int,
    ) -> None:
        self._sandbox = sandbox
        self._limits = limits
        self._lengths = lengths
        self._count_tokens = count_tokens
        self._max_file_size_bytes = max_file_size_bytes

    async def read(
        self,
        path: Path,
        file_name: str,
        password: str = "",
        layout_pages: tuple[int, ...] = (),
        ocr_pages: tuple[int, ...] | None = None,
        ocr_s: float | None = None,
    ) -> ReadDocument:
        """Reads a file; `layout_pages` are read by where their words stand too, `ocr_pages` by OCR (None: those that
        are pictures) in at most `ocr_s` seconds. Raises the FILE_ and PARSE_ errors."""
        try:
            document = await self._sandbox.parse(path, file_name, password, layout_pages)
        except ParseRefused as refusal:
            size_bytes = (await asyncio.to_thread(path.stat)).st_size
            raise to_service_error(
                refusal, self._limits, size_bytes=size_bytes, max_size_bytes=self._max_file_size_bytes
            ) from refusal
        scanned = find_scanned_pages(document) if ocr_pages is None else ocr_pages
        if scanned and ocr_is_installed() and self._limits.ocr_s > 0:
            # What can be read without OCR stands, whatever becomes of the pictures.
            with contextlib.suppress(ParseRefused):
                document = await self._sandbox.parse(path, file_name, password, layout_pages, scanned, ocr_s)
        return await asyncio.to_thread(self._split, document)

    def _split(self, document: ParsedDocument) -> ReadDocument:
        tree = build_sections(document)
        profile = make_profile(document, has_usable_toc=tree.has_usable_toc, toc_entry_count=tree.toc_entry_count)
        passages = make_passages(document, tree, self._count_tokens, profile.language, self._lengths)
        scanned = find_scanned_pages(document)
        recognised = tuple(page.number for page in document.pages if page.recognised)
        return ReadDocument(
            title=document.title,
            media_type=MEDIA_TYPES[document.format],
            profile=profile,
            sections=tree.sections,
            passages=passages,
            warnings=[*_warn(document, len(passages)), *describe_scans(scanned, recognised)],
            scanned_pages=scanned,
            recognised_pages=recognised,
        )


def _warn(document: ParsedDocument, passage_count: int) -> list[str]:
    """What the reader should know: what was left out, what is beside the text, nothing found at all."""
    warnings = [document.truncated] if document.truncated else []
    warnings += document.notes
    if not passage_count:
        warnings.append("no text was found: nothing of this document can be searched")
    return warnings
