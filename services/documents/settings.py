"""Settings of the documents service."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from services.documents.parsing.sandbox import SandboxLimits
from services.documents.splitting.passages import Lengths

_MIB = 1024 * 1024


class DocumentsSettings(BaseSettings):
    """Read from variables named CITEMESH_DOCUMENTS_<FIELD>."""

    model_config = SettingsConfigDict(env_prefix="CITEMESH_DOCUMENTS_", use_attribute_docstrings=True, extra="ignore")

    max_file_size_mib: int = Field(default=100, ge=1, le=4096)
    """Largest file that is taken in, in MiB."""

    max_pending_ingests: int = Field(default=200, ge=1)
    """Files being received, read or stored at once; more are refused as overload."""

    parser_count: int = Field(default=0, ge=0, le=256)
    """Parser processes at a time; 0: as many as the process has cores. Other files wait their turn."""

    max_waiting_parses: int = Field(default=256, ge=0)
    """Files that wait for a parser at once, to be taken in, read again or drawn; more are refused as overload.

    Below `max_pending_ingests`, a file can be refused after it was received.
    """

    parse_memory_mib: int = Field(default=1024, ge=256)
    """Address space of a parser process, in MiB."""

    parse_cpu_s: float = Field(default=8.0, gt=0)
    """Processor seconds for a file of up to 1 MiB."""

    parse_wall_s: float = Field(default=30.0, gt=0)
    """Seconds by the clock for a file of up to 1 MiB, waiting for a turn not counted.

    It ends a parser that waits for something; one that works is ended by its processor time, so that a busy machine
    does not lose good files.
    """

    parse_extra_s_per_mib: float = Field(default=1.0, ge=0)
    """Seconds more, by both counts, for each further MiB."""

    parse_ocr_s: float = Field(default=30.0, ge=0, le=600)
    """Seconds that OCR may take for the scanned pages of one file, beside the other limits; 0: no OCR.

    A page takes 2 to 10 seconds of one core. Pages beyond are named as unread, and read when asked for again.
    """

    parse_ocr_memory_mib: int = Field(default=2048, ge=1280)
    """Address space of a parser process that reads scanned pages, in MiB; about a third of it is used."""

    parse_ocr_thread_count: int = Field(default=2, ge=1, le=64)
    """Threads of OCR in one parser process."""

    max_page_count: int = Field(default=5_000, ge=1)
    """Pages of a PDF that is read."""

    passage_target_token_count: int = Field(default=180, ge=32)
    """Tokens that a passage is filled to; what stands above it (title, sections) needs room beside it."""

    passage_max_token_count: int = Field(default=240, ge=48)
    """Tokens up to which a paragraph or list stays whole."""

    table_max_token_count: int = Field(default=480, ge=48)
    """Tokens up to which a table stays whole."""

    encode_batch_size: int = Field(default=32, ge=1, le=1024)
    """Passages encoded in one go; between two of them a cancelled ingest ends."""

    encoder_path: Path | None = None
    """The folder of another encoder; unset: the default one. The retrieval service must use the same."""

    reindex_at_start: bool = False
    """Encode every stored passage anew where the index was filled by another encoder, instead of refusing to serve."""

    admin_groups: str = ""
    """Groups, separated by commas, whose members may change the access of every document of their tenant and delete it,
    also of those that they may not read; empty: only who may read a document may change it."""

    render_max_highlight_count: int = Field(default=50, ge=1)
    """Quotes that may be marked in one picture."""

    @property
    def max_file_size_bytes(self) -> int:
        """`max_file_size_mib` in bytes."""
        return self.max_file_size_mib * _MIB

    def admins(self) -> frozenset[str]:
        """`admin_groups` one by one."""
        return frozenset(name for part in self.admin_groups.split(",") if (name := part.strip()))

    def sandbox_limits(self) -> SandboxLimits:
        """What a parser process may use."""
        return SandboxLimits(
            memory_bytes=self.parse_memory_mib * _MIB,
            cpu_s=self.parse_cpu_s,
            wall_s=self.parse_wall_s,
            extra_s_per_mib=self.parse_extra_s_per_mib,
            max_pages=self.max_page_count,
            ocr_memory_bytes=self.parse_ocr_memory_mib * _MIB,
            ocr_s=self.parse_ocr_s,
            ocr_thread_count=self.parse_ocr_thread_count,
        )

    def lengths(self) -> Lengths:
        """How long passages are."""
        return Lengths(
            target=self.passage_target_token_count,
            limit=self.passage_max_token_count,
            table_limit=self.table_max_token_count,
        )

    def parsers(self) -> int:
        """Parser processes at a time."""
        return self.parser_count or len(os.sched_getaffinity(0))
