"""What is cheap to know about a document: pages, contents, scans, language, and how it should be read."""

from __future__ import annotations

from collections.abc import Sequence

import py3langid  # type: ignore[import-untyped]  # it ships no types

from citemesh.v1.document_pb2 import DocumentProfile, ParsingStrategy
from services.documents.parsing.blocks import Block, BlockKind, Page, ParsedDocument

_TEXT_CHAR_COUNT = 20
_SCAN_IMAGE_SHARE = 0.5
_SAMPLE_CHAR_COUNT = 6_000
_LEAST_CHAR_COUNT = 40


def make_profile(document: ParsedDocument, *, has_usable_toc: bool, toc_entry_count: int) -> DocumentProfile:
    """The profile of a parsed document; document_id, version and title are the caller's to set."""
    empty = [page for page in document.pages if page.char_count < _TEXT_CHAR_COUNT]
    pictures = [page for page in empty if page.image_share >= _SCAN_IMAGE_SHARE]
    scanned = bool(pictures) and 2 * len(pictures) >= len(document.pages)
    return DocumentProfile(
        page_count=len(document.pages),
        has_usable_toc=has_usable_toc,
        toc_entry_count=toc_entry_count,
        likely_scanned=scanned,
        pages_without_text=[page.number for page in empty],
        language=tell_language(document.blocks),
        suggested_strategy=_suggest(document, pictures),
    )


def _suggest(document: ParsedDocument, pictures: Sequence[Page]) -> ParsingStrategy.ValueType:
    if 10 * len(pictures) >= len(document.pages) > 0:
        return ParsingStrategy.PARSING_STRATEGY_OCR
    unresolved = any(
        block.kind is BlockKind.TABLE and document.format == "pdf" and not block.cells for block in document.blocks
    )
    return ParsingStrategy.PARSING_STRATEGY_LAYOUT if unresolved else ParsingStrategy.PARSING_STRATEGY_NATIVE_TEXT


def tell_language(blocks: Sequence[Block]) -> str:
    """Main language, ISO 639-1, by a sample from the middle; "und" where there is too little text to tell."""
    texts = [block.text for block in blocks if block.kind in (BlockKind.PARAGRAPH, BlockKind.LIST)]
    texts = texts or [block.text for block in blocks]
    sample = ""
    for text in texts[len(texts) // 3 :] + texts[: len(texts) // 3]:
        sample += text + "\n"
        if len(sample) >= _SAMPLE_CHAR_COUNT:
            break
    if sum(character.isalpha() for character in sample) < _LEAST_CHAR_COUNT:
        return "und"
    language, _ = py3langid.classify(sample[:_SAMPLE_CHAR_COUNT])
    return str(language)
