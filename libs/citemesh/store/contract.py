"""What every store promises: one side writes documents, the other finds passages; both see the same truth.

Rules that hold for each implementation:

- A tenant is a partition. Nothing of one tenant is visible, countable or guessable from another.
- Access and version filters are applied inside every search, never to its result. A reader first asks for a
  VersionFilter (`allowed_versions`) and hands it to each search; an empty filter reaches nothing.
- Once a writer's call has returned, its effect is durable, and every later `allowed_versions` call of any reader of the
  same store sees it: a search right after an ingest finds the document, one right after a revoke does not.
- Of the versions of one document at most one is in force at a time T: the one with the latest effective_from_time that
  is not after T (absent: always was), the later stored one where two start together. It supersedes the others from its
  start on, so once its own effective_to_time has come, none is in force.
- Calls block, for milliseconds where not said otherwise: await them through `asyncio.to_thread`. Objects are safe to
  use from several threads.
- Errors are ServiceError: STORE_UNAVAILABLE where the store cannot be read or written, ENCODER_MISMATCH where vectors
  of two encoders would meet. What does not exist, or may not be read, is None or left out; the two look the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from citemesh.auth.principal import Principal
from citemesh.v1.document_pb2 import AccessPolicy, Document, DocumentProfile, Section
from citemesh.v1.documents_pb2 import IngestResult
from citemesh.v1.evidence_pb2 import Passage
from citemesh.v1.question_pb2 import Scope
from citemesh.v1.retrieval_pb2 import EncoderContract

Vectors = npt.NDArray[np.float32]
EncodePassages = Callable[[Sequence[Passage]], Vectors]


@dataclass(frozen=True)
class StoredVersion:
    """What `put_version` did."""

    document: Document
    """The document as it is stored now."""
    result: IngestResult.ValueType
    """CREATED, NEW_VERSION or UNCHANGED."""


@dataclass(frozen=True)
class VersionFilter:
    """The document versions that one principal may read and that are in force, at one moment of the store.

    Hashable and cheap to compare by `key`. Make it by `StoreReader.allowed_versions` alone: its content means
    something only to the store that made it.
    """

    tenant_id: str
    """The partition that is searched."""
    version_keys: tuple[int, ...] = field(repr=False)
    """The versions, ascending, as the store numbers them; empty: nothing may be read."""
    index_snapshot: str
    """The state of the documents of the tenant; changes with every write."""
    permission_version: int
    """The state of the permissions of the tenant; rises with every change of access."""
    key: str
    """Equal for filters of the same content at the same snapshot: a part of every cache key."""
    index_name: str = ""
    """The index that was in use then, in a store that exchanges whole indexes; for the store that made the filter."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing may be read."""
        return not self.version_keys


@dataclass(frozen=True, slots=True)
class Hit:
    """One passage that a search found."""

    passage_key: int
    """The passage, as the store numbers it: for `StoreReader.passages_by_key`."""
    leg_score: float
    """BM25, cosine or the match of a title; comparable within one search only."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a passage stands, without its text: cheap to read for hundreds of hits."""

    passage_key: int
    """The passage, as the store numbers it."""
    passage_id: str
    """The passage."""
    document_id: str
    """The document."""
    section_id: str
    """The innermost section (Passage.parent_id); empty where there is none."""


@dataclass(frozen=True, slots=True)
class SectionHit:
    """One section whose title (or number) matches."""

    version_key: int
    """The document version that holds it, as the store numbers it."""
    document_id: str
    """The document that holds it."""
    section: Section
    """The section."""
    leg_score: float
    """How well the title matches; comparable within one search only."""


@dataclass(frozen=True, slots=True)
class IndexCounts:
    """What one filter reaches."""

    document_count: int
    """Documents."""
    passage_count: int
    """Passages."""


@dataclass(frozen=True)
class ProfileCounts:
    """Sums over the profiles of a filter."""

    document_count: int
    """Documents."""
    usable_toc_count: int
    """Documents with a usable table of contents."""
    likely_scanned_count: int
    """Documents that are likely scanned."""
    languages: tuple[str, ...]
    """Their languages, most frequent first."""


class StoreWriter(Protocol):
    """The side that changes documents. One process at a time holds it for a given embedded store.

    It changes what it is told to: who may change a document is decided by the caller.
    """

    def set_encoder(self, contract: EncoderContract) -> None:
        """Say which encoder the vectors of later calls come from, canary vectors included. Call it once, at start.

        The first one is recorded with the index. Raises ENCODER_MISMATCH (metadata index_model, model) where the index
        holds vectors of another, by its description or by its canary vectors: run `replace_vectors` to change it.
        """
        ...

    def put_version(
        self,
        tenant_id: str,
        document: Document,
        *,
        sections: Sequence[Section],
        passages: Sequence[Passage],
        vectors: Vectors,
        file: Path,
    ) -> StoredVersion:
        """Store one parsed file as a document, or as a new version of it, in one transaction. Takes 5-50 ms.

        `document`: document_id, title, media_type, content_hash, size_bytes, effective times, profile and warnings as
        the caller knows them; document_version, ingest_time, passage_count and superseded are the store's to set.
        `document.access` unset means: everyone of the tenant for a new document, unchanged for a known one; where set
        it holds for every version of the document from now on, also where the result is UNCHANGED.
        `sections`: in the order of the text. `passages`: in the order of the text; passage_id, document_id,
        document_version, ordinal, title and the effective times are set by the store, everything else by the caller
        (parent_id is a section_id of `sections`, or empty). `vectors`: [len(passages), dimensions], of length 1.
        `file`: the original file; its bytes are copied, so the caller may remove it afterwards.

        UNCHANGED where a stored version has the same content_hash, effective times and (where given) title, and none
        with the same start was stored after it; then nothing but access is stored. The result's document is the stored
        one in every case.
        """
        ...

    def replace_pages(
        self,
        tenant_id: str,
        document_id: str,
        document_version: int,
        page_numbers: Sequence[int],
        *,
        passages: Sequence[Passage],
        vectors: Vectors,
        profile: DocumentProfile | None = None,
        warnings: Sequence[str] | None = None,
    ) -> bool:
        """Put `passages` in the place of those that touch any of `page_numbers` (from 1); return whether text changed.

        A passage that touches one of the pages and another page is removed too, so give its text again. A new passage
        with the content_hash of a removed one keeps that one's passage_id; all others keep theirs anyway. `profile` and
        `warnings` replace the version's where given. Raises DOCUMENT_NOT_FOUND where there is no such version.
        """
        ...

    def exists(self, tenant_id: str, document_id: str) -> bool:
        """Whether there is such a document, whoever may read it: for deciding who may write it, never for an answer."""
        ...

    def delete(self, tenant_id: str, document_id: str) -> int:
        """Remove a document with all its versions and files; return how many versions there were (0: unknown)."""
        ...

    def set_access(self, tenant_id: str, document_id: str, access: AccessPolicy) -> int:
        """Say who may read a document; return the tenant's permission version, which has risen.

        Raises DOCUMENT_NOT_FOUND for an unknown document, INVALID_FIELD where `access` holds neither case.
        """
        ...

    def replace_vectors(self, contract: EncoderContract, encode: EncodePassages) -> int:
        """Encode every passage of every tenant anew, then switch all vectors and the contract at once; return how many.

        Takes as long as `encode` does. Until the switch, readers see the old vectors.
        """
        ...

    def check(self) -> str | None:
        """Why the store cannot be written, or None where it can. Cheap: it is polled."""
        ...

    def close(self) -> None:
        """Release locks and files. The object is of no use afterwards; closing twice is allowed."""
        ...


class StoreReader(Protocol):
    """The side that reads. Any number of them, in this or another process, beside the writer."""

    # Who may read what

    def allowed_versions(
        self, principal: Principal, scope: Scope | None = None, as_of: datetime | None = None
    ) -> VersionFilter:
        """The versions that `principal` may read in `scope` (None: all) and that are in force at `as_of` (None: now).

        `as_of` carries a time zone. Fresh at each call, about 0.1 ms when nothing has changed. Raises INVALID_FIELD for
        a Scope that holds neither case, or an empty list of documents.
        """
        ...

    def permission_version(self, tenant_id: str) -> int:
        """The tenant's permission version now; 0 for an unknown tenant."""
        ...

    def index_snapshot(self, tenant_id: str) -> str:
        """The state of the tenant's documents now."""
        ...

    def encoder_contract(self, versions: VersionFilter | None = None) -> EncoderContract | None:
        """The encoder that the vectors come from, canary vectors included; None where nothing was ever stored.

        As of the moment of `versions` where that saves a request, and never earlier than it.
        """
        ...

    # Documents

    def list_documents(
        self,
        principal: Principal,
        *,
        as_of: datetime | None = None,
        include_superseded: bool = False,
        after: str = "",
        limit: int = 100,
    ) -> tuple[list[Document], str]:
        """Documents that `principal` may read, by document_id, then newest version first; and the next page's `after`.

        Only versions in force at `as_of` unless `include_superseded`; `after` comes from an earlier call (empty: from
        the start; an unknown one raises INVALID_FIELD), and the returned one is empty where nothing follows.
        """
        ...

    def get_document(
        self, principal: Principal, document_id: str, document_version: int = 0, as_of: datetime | None = None
    ) -> Document | None:
        """One version, or (document_version 0) the one in force at `as_of`; None where it may not be read or is not."""
        ...

    def document_versions(self, principal: Principal, document_id: str) -> list[Document]:
        """All versions of a document, newest first, `superseded` as of now; empty where it may not be read."""
        ...

    def sections(self, principal: Principal, document_id: str, document_version: int) -> list[Section]:
        """The sections of one version in the order of the text; empty where it may not be read."""
        ...

    def profiles(self, versions: VersionFilter, limit: int) -> list[DocumentProfile]:
        """The profiles of at most `limit` of the versions, by document_id."""
        ...

    def profile_counts(self, versions: VersionFilter) -> ProfileCounts:
        """Counts over all of the versions."""
        ...

    def original_file(self, principal: Principal, document_id: str, document_version: int) -> Path | None:
        """The original file of one version, to be read only; None where it may not be read."""
        ...

    def document_passages(self, versions: VersionFilter, document_id: str) -> list[Passage]:
        """All passages of one document in the order of the text; empty where no version of it is in `versions`."""
        ...

    # Searching

    def keyword_search(self, text: str, versions: VersionFilter, limit: int) -> list[Hit]:
        """Passages that hold words of `text`, best BM25 first, over text, title, section titles and identifiers."""
        ...

    def dense_search(self, vector: Vectors, versions: VersionFilter, limit: int) -> list[Hit]:
        """Passages nearest to `vector` [dimensions] of length 1, best cosine first. Exact, or nearly so."""
        ...

    def toc_search(self, text: str, versions: VersionFilter, limit: int) -> list[SectionHit]:
        """Sections whose title holds words of `text`, or whose number stands in it, best first."""
        ...

    # Reading what was found

    def places(self, keys: Sequence[int], passage_ids: Sequence[str], versions: VersionFilter) -> list[Place]:
        """Places by key and by passage_id, in no order. Those outside `versions` are left out."""
        ...

    def passages_by_key(self, keys: Sequence[int], versions: VersionFilter) -> dict[int, Passage]:
        """Passages by `Hit.passage_key`. Those outside `versions`, or replaced meanwhile, are left out."""
        ...

    def passages_by_id(self, passage_ids: Sequence[str], versions: VersionFilter) -> dict[str, Passage]:
        """Passages by passage_id. Those outside `versions`, or replaced meanwhile, are left out."""
        ...

    def passages_not_in_force(
        self, passage_ids: Sequence[str], principal: Principal, scope: Scope | None = None
    ) -> dict[str, str]:
        """passage_id -> content_hash of those that `principal` may read in `scope`, in force or not."""
        ...

    def passages_by_label(
        self, labels: Sequence[str], versions: VersionFilter, document_ids: Sequence[str] | None = None
    ) -> dict[str, list[Passage]]:
        """For each known label ("table 3", "section 5.4", "appendix b") its passages, by document and place.

        A section's label yields all passages of the section and of what is below it. `document_ids` narrows further.
        """
        ...

    def section_passages(
        self, versions: VersionFilter, document_id: str, section_ids: Sequence[str], *, with_subsections: bool = True
    ) -> list[Passage]:
        """The passages of sections (and of all below them), in the order of the text."""
        ...

    def version_sections(self, versions: VersionFilter, document_id: str) -> list[Section]:
        """The sections of the version of a document that is in `versions`, in order; empty where none is."""
        ...

    def documents_by_title(self, title: str, versions: VersionFilter, limit: int) -> list[str]:
        """Ids of documents whose title, id or file name best matches `title`, best first; weak matches left out."""
        ...

    def count(self, versions: VersionFilter) -> IndexCounts:
        """How many documents and passages `versions` reaches."""
        ...

    def check(self) -> str | None:
        """Why the store cannot be read, or None where it can. Cheap: it is polled."""
        ...

    def close(self) -> None:
        """Release files. The object is of no use afterwards; closing twice is allowed."""
        ...
