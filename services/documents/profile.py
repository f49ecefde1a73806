"""What is cheap to know about a document: pages, contents, scans, language, and how it should be read."""

from __future__ import annotations

import re
from collections.abc import Sequence

from citemesh.v1.document_pb2 import DocumentProfile, ParsingStrategy
from services.documents.language import tell_language
from services.documents.parsing.blocks import Block, BlockKind, Page, ParsedDocument
from services.documents.parsing.markup import strip_markup

_SAMPLE_CHAR_COUNT = 6_000


def make_profile(document: ParsedDocument, *, has_usable_toc: bool, toc_entry_count: int) -> DocumentProfile:
    """The profile of a parsed document; document_id, version and title are the caller's to set."""
    empty = [page for page in document.pages if not page.has_text]
    pictures = [page for page in document.pages if page.is_scan]
    scanned = bool(pictures) and 2 * len(pictures) >= len(document.pages)
    return DocumentProfile(
        page_count=len(document.pages),
        has_usable_toc=has_usable_toc,
        toc_entry_count=toc_entry_count,
        likely_scanned=scanned,
        pages_without_text=[page.number for page in empty],
        language=tell_language(_sample(document.blocks)),
        suggested_strategy=_suggest(document, pictures),
        encrypted=document.encrypted,
        attachment_names=document.attachments,
    )


def _suggest(document: ParsedDocument, pictures: Sequence[Page]) -> ParsingStrategy.ValueType:
    if 10 * len(pictures) >= len(document.pages) > 0:
        return ParsingStrategy.PARSING_STRATEGY_OCR
    unresolved = any(
        block.kind is BlockKind.TABLE and document.format == "pdf" and not block.cells for block in document.blocks
    )
    return ParsingStrategy.PARSING_STRATEGY_LAYOUT if unresolved else ParsingStrategy.PARSING_STRATEGY_NATIVE_TEXT


def _sample(blocks: Sequence[Block]) -> str:
    """Running text from the middle of the document, where covers and references are not."""
    texts = [block.text for block in blocks if block.kind in (BlockKind.PARAGRAPH, BlockKind.LIST)]
    texts = texts or [block.text for block in blocks]
    sample = ""
    for text in texts[len(texts) // 3 :] + texts[: len(texts) // 3]:
        sample += text + "\n"
        if len(sample) >= _SAMPLE_CHAR_COUNT:
            break
    # Addresses are in no language.
    return re.sub(r"\w+://\S+", " ", strip_markup(sample[:_SAMPLE_CHAR_COUNT]))
