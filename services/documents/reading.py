"""From a file on disk to sections, passages and profile; nothing is stored here."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from citemesh.v1.document_pb2 import DocumentProfile, Section
from citemesh.v1.evidence_pb2 import Passage
from services.documents.page_readings import record_readings
from services.documents.parsing.blocks import ParsedDocument
from services.documents.parsing.formats import MEDIA_TYPES
from services.documents.parsing.refusal import ParseRefused
from services.documents.parsing.sandbox import ParserSandbox, SandboxLimits
from services.documents.profile import make_profile
from services.documents.refusals import to_service_error
from services.documents.scan_reading import read_scanned_pages
from services.documents.scanned import describe_scans, find_scanned_pages, why_no_ocr
from services.documents.sections import build_sections
from services.documents.splitting.passages import Lengths, make_passages
from services.documents.splitting.pieces import CountTokens


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """Everything that a file gives; ids, versions and dates are for the store and the caller to set.

    `scanned_pages` are pictures without a text layer; `recognised_pages` those that OCR read now.
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
        are pictures) in at most `ocr_s` seconds. Raises the FILE_ and PARSE_ errors.

        What was tried on which page stands in the profile. A page that OCR fails on costs itself alone.
        """
        document = None
        if not ocr_pages or self.why_no_ocr:
            document = await self._parse(path, file_name, password, layout_pages)
            ocr_pages = find_scanned_pages(document) if ocr_pages is None and not self.why_no_ocr else ()
        if ocr_pages:
            limit_s = self.limit_ocr(ocr_s)
            scans = await read_scanned_pages(self._sandbox, path, file_name, password, layout_pages, ocr_pages, limit_s)
            # What can be read without OCR stands, whatever becomes of the pictures.
            document = scans.document or document or await self._parse(path, file_name, password, layout_pages)
            for number, (outcome, had_s) in scans.ended.items():
                document.pages[number - 1].ocr, document.pages[number - 1].ocr_limit_s = outcome, had_s
        assert document is not None
        return await asyncio.to_thread(self._split, document, layout_pages)

    @property
    def why_no_ocr(self) -> str:
        """Why no page is read by OCR here, in words; empty where they are."""
        return why_no_ocr(self._limits.ocr_s)

    def limit_ocr(self, ocr_s: float | None) -> float:
        """The seconds that OCR gets where `ocr_s` are asked for; None: what the settings allow."""
        return self._limits.ocr_s if ocr_s is None else min(ocr_s, self._limits.ocr_s)

    async def _parse(self, path: Path, file_name: str, password: str, layout_pages: tuple[int, ...]) -> ParsedDocument:
        try:
            return await self._sandbox.parse(path, file_name, password, layout_pages)
        except ParseRefused as refusal:
            size_bytes = (await asyncio.to_thread(path.stat)).st_size
            raise to_service_error(
                refusal, self._limits, size_bytes=size_bytes, max_size_bytes=self._max_file_size_bytes
            ) from refusal

    def _split(self, document: ParsedDocument, layout_pages: tuple[int, ...]) -> ReadDocument:
        tree = build_sections(document)
        profile = make_profile(document, has_usable_toc=tree.has_usable_toc, toc_entry_count=tree.toc_entry_count)
        profile.page_readings.extend(record_readings(document.pages, layout_pages))
        passages = make_passages(document, tree, self._count_tokens, profile.language, self._lengths)
        scanned = find_scanned_pages(document)
        scans = describe_scans(scanned, profile.page_readings, self.why_no_ocr)
        return ReadDocument(
            title=document.title,
            media_type=MEDIA_TYPES[document.format],
            profile=profile,
            sections=tree.sections,
            passages=passages,
            warnings=[*_warn(document, len(passages)), *scans],
            scanned_pages=scanned,
            recognised_pages=tuple(page.number for page in document.pages if page.recognised),
        )


def _warn(document: ParsedDocument, passage_count: int) -> list[str]:
    """What the reader should know: what was left out, what is beside the text, nothing found at all."""
    warnings = [document.truncated] if document.truncated else []
    warnings += document.notes
    if not passage_count:
        warnings.append("no text was found: nothing of this document can be searched")
    return warnings
