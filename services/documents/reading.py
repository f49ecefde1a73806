"""From a file on disk to sections, passages and profile; nothing is stored here."""

from __future__ import annotations

import asyncio
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
from services.documents.sections import build_sections
from services.documents.splitting.passages import Lengths, make_passages
from services.documents.splitting.pieces import CountTokens

_MAX_NAMED_PAGES = 10


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """Everything that a file gives; ids, versions and dates are for the store and the caller to set."""

    title: str
    media_type: str
    profile: DocumentProfile
    sections: list[Section]
    passages: list[Passage]
    warnings: list[str]


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
        self, path: Path, file_name: str, password: str = "", layout_pages: tuple[int, ...] = ()
    ) -> ReadDocument:
        """Reads a file; `layout_pages` are read by the heavier strategy. Raises the FILE_ and PARSE_ errors."""
        try:
            document = await self._sandbox.parse(path, file_name, password, layout_pages)
        except ParseRefused as refusal:
            size_bytes = (await asyncio.to_thread(path.stat)).st_size
            raise to_service_error(
                refusal, self._limits, size_bytes=size_bytes, max_size_bytes=self._max_file_size_bytes
            ) from refusal
        return await asyncio.to_thread(self._split, document)

    def _split(self, document: ParsedDocument) -> ReadDocument:
        tree = build_sections(document)
        profile = make_profile(document, has_usable_toc=tree.has_usable_toc, toc_entry_count=tree.toc_entry_count)
        passages = make_passages(document, tree, self._count_tokens, profile.language, self._lengths)
        return ReadDocument(
            title=document.title,
            media_type=MEDIA_TYPES[document.format],
            profile=profile,
            sections=tree.sections,
            passages=passages,
            warnings=_warn(document, profile, len(passages)),
        )


def _warn(document: ParsedDocument, profile: DocumentProfile, passage_count: int) -> list[str]:
    """What the reader should know: pages that are pictures, pages that are damaged, nothing found at all."""
    warnings = []
    if document.truncated:
        warnings.append(document.truncated)
    pictures = [
        page.number for page in document.pages if page.number in profile.pages_without_text and page.image_share
    ]
    if pictures:
        named = ", ".join(map(str, pictures[:_MAX_NAMED_PAGES])) + (" …" if len(pictures) > _MAX_NAMED_PAGES else "")
        plural = "pages" if len(pictures) > 1 else "page"
        warnings.append(f"{plural} {named}: a picture without text, not read")
    if not passage_count:
        warnings.append("no text was found: nothing of this document can be searched")
    return warnings
