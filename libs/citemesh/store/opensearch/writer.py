"""The writing side of the OpenSearch store.

A version's passages and sections are written first, under a number that no record names yet, and are searchable; then
the document's record is written, which is one step; then the tenant's state, which tells every reader to look. What was
replaced is removed last. A writer that ends in between leaves entries that no record names: nobody ever sees half a
document, and the next start removes them. A record of which no reader was told says so, and is committed again by the
next call for its document.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Sequence
from pathlib import Path

import structlog

from citemesh.rpc.errors import ServiceError
from citemesh.store.access import EVERYONE, check_access
from citemesh.store.completion import (
    change_document,
    check_given,
    check_vectors,
    complete_document,
    complete_passages,
    find_languages,
)
from citemesh.store.contract import EncodePassages, StoredVersion, Vectors
from citemesh.store.encoder_match import refuse_other_encoder
from citemesh.store.errors import document_not_found, store_unavailable
from citemesh.store.files import OriginalFiles
from citemesh.store.opensearch.commits import Commits
from citemesh.store.opensearch.connection import Connection
from citemesh.store.opensearch.entries import (
    read_version_passages,
    read_version_sections,
)
from citemesh.store.opensearch.first_index import settle_index
from citemesh.store.opensearch.indexes import make_indexes, read_generation
from citemesh.store.opensearch.leftovers import remove_leftovers, remove_parts
from citemesh.store.opensearch.parts import Parts
from citemesh.store.opensearch.records import DocumentRecord, VersionRecord
from citemesh.store.opensearch.removals import Removals
from citemesh.store.opensearch.settings import StoreSettings
from citemesh.store.opensearch.vector_exchange import VectorExchange
from citemesh.store.page_splice import plan_splice
from citemesh.store.versions import find_same
from citemesh.store.writer_lock import take_lock
from citemesh.v1.document_pb2 import AccessPolicy, Document, DocumentProfile, Section
from citemesh.v1.documents_pb2 import INGEST_RESULT_CREATED, INGEST_RESULT_NEW_VERSION, INGEST_RESULT_UNCHANGED
from citemesh.v1.evidence_pb2 import Passage
from citemesh.v1.retrieval_pb2 import EncoderContract

_log = structlog.get_logger(__name__)


class OpenSearchWriter:
    """See StoreWriter. One process at a time for a state directory, which keeps the original files."""

    def __init__(self, settings: StoreSettings, root: Path) -> None:
        self._lock_descriptor = take_lock(root)
        self._lock = threading.RLock()
        self._closed = False
        self._encoder: EncoderContract | None = None
        self._files = OriginalFiles(root)
        try:
            writer_id = _read_writer_id(root / "writer.id")
            self._connection = Connection(settings)
            make_indexes(self._connection)
            self._commits = Commits(self._connection)
            self._parts = Parts(self._connection, self._commits, writer_id)
            self._removals = Removals(self._connection, self._commits, self._parts.gate, self._files)
            removed = remove_leftovers(self._connection, writer_id)
        except BaseException:  # no end may keep the lock; raised again
            os.close(self._lock_descriptor)
            raise
        if removed:
            _log.info("store.leftovers_removed", entry_count=removed)

    def set_encoder(self, contract: EncoderContract) -> None:
        """See StoreWriter."""
        with self._lock:
            settle_index(self._connection, self._parts.gate, contract)
            self._encoder = contract

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
        """See StoreWriter."""
        check_given(tenant_id, document)
        if document.HasField("access"):
            check_access(document.access)
        with self._lock:
            index = self._check_vectors(passages, vectors)
            record, condition = self._commits.find(tenant_id, document.document_id)
            if record is not None and record.removed:
                # Before the new file is kept: it may be one of those to remove.
                self._removals.run(tenant_id, document.document_id)
                record, condition = self._commits.find(tenant_id, document.document_id)
            self._keep_file(tenant_id, document.content_hash, file)
            known = record is not None and bool(record.versions)
            if record is None or not known:
                record = DocumentRecord(tenant_id, document.document_id, 0, _copy(EVERYONE))
            if document.HasField("access"):
                record.access.CopyFrom(document.access)
            newest_first = record.stored()
            same = find_same([each.document for each in newest_first], document, document.content_hash, document.title)
            if same is not None:
                if document.HasField("access") or not record.is_told:
                    self._commits.commit(record, condition, permissions=document.HasField("access"))
                repeated = next(each for each in newest_first if each.document is same)
                return StoredVersion(repeated.describe(), INGEST_RESULT_UNCHANGED)
            first_number = self._commits.take_numbers(2)
            record.document_key = record.document_key or first_number
            number = newest_first[0].document.document_version + 1 if newest_first else 1
            stored = complete_document(document, number, len(passages))
            completed = complete_passages(passages, stored, 0)
            version = VersionRecord(
                first_number + 1, stored, sorted(find_languages(completed)), next_passage_number=len(completed)
            )
            record.versions.append(version)
            self._parts.write(index, tenant_id, version, sections=sections, passages=completed, vectors=vectors)
            permissions = not known or document.HasField("access")
            self._parts.commit(index, record, version, condition, permissions=permissions)
            result = INGEST_RESULT_NEW_VERSION if known else INGEST_RESULT_CREATED
            return StoredVersion(record.stored_version(version).describe(), result)

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
        """See StoreWriter."""
        with self._lock:
            index = self._check_vectors(passages, vectors)
            record, condition = self._commits.find_known(tenant_id, document_id)
            version = next((v for v in record.versions if v.document.document_version == document_version), None)
            if version is None:
                raise document_not_found(document_id)
            if not page_numbers and not passages and profile is None and warnings is None:
                return False
            old_key = version.version_key
            stored = read_version_passages(self._connection, old_key)
            sections = read_version_sections(self._connection, [old_key])[old_key]
            completed = complete_passages(passages, version.document, version.next_passage_number)
            splice = plan_splice([passage for passage, _ in stored], page_numbers, completed)
            pairs = [(completed[at], vectors[at]) if is_new else stored[at] for is_new, at in splice.order]
            version.version_key = self._commits.take_numbers(1)
            version.next_passage_number += len(completed)
            version.languages = sorted({*version.languages, *find_languages(completed)})
            change_document(version.document, len(pairs), profile, warnings)
            self._parts.write(
                index,
                tenant_id,
                version,
                sections=sections,
                passages=[each for each, _ in pairs],
                vectors=[each for _, each in pairs],
            )
            self._parts.commit(index, record, version, condition)
            self._remove_replaced(old_key)
            return splice.is_changed

    def exists(self, tenant_id: str, document_id: str) -> bool:
        """See StoreWriter."""
        record, _ = self._commits.find(tenant_id, document_id)
        return record is not None and record.is_there

    def delete(self, tenant_id: str, document_id: str) -> int:
        """See StoreWriter."""
        with self._lock:
            return self._removals.run(tenant_id, document_id)

    def set_access(self, tenant_id: str, document_id: str, access: AccessPolicy) -> int:
        """See StoreWriter."""
        with self._lock:
            record, condition = self._commits.find_known(tenant_id, document_id)
            check_access(access)
            record.access.CopyFrom(access)
            permission_version = self._commits.commit(record, condition, permissions=True).permission_version
            if record.removed:
                # Its removal had not come to its end; readers know of it now.
                self._removals.run(tenant_id, document_id)
            return permission_version

    def replace_vectors(self, contract: EncoderContract, encode: EncodePassages) -> int:
        """See StoreWriter."""
        encoded = VectorExchange(self._connection, self._parts.gate, self._lock, encode).run(contract)
        self._encoder = contract
        remove_leftovers(self._connection, "")
        return encoded

    def check(self) -> str | None:
        """See StoreWriter."""
        return self._connection.check()

    def close(self) -> None:
        """See StoreWriter."""
        if not self._closed:
            self._closed = True
            self._connection.close()
            os.close(self._lock_descriptor)

    def _remove_replaced(self, version_key: int) -> None:
        """Remove what no record names any longer; where that fails, a later start removes it, as any leftover."""
        try:
            remove_parts(self._connection, [version_key])
        except ServiceError:
            _log.warning("store.replaced_pages_left")

    def _check_vectors(self, passages: Sequence[Passage], vectors: Vectors) -> str:
        """The index that takes the vectors."""
        used = read_generation(self._connection)
        if used is None or self._encoder is None:
            raise ValueError("call set_encoder before the first vectors")
        # Another process may have exchanged all vectors since: those of one width need not be of one encoder.
        refuse_other_encoder(used[1], self._encoder)
        check_vectors(used[1], passages, vectors)
        return used[0]

    def _keep_file(self, tenant_id: str, content_hash: str, file: Path) -> None:
        try:
            self._files.keep(tenant_id, content_hash, file)
        except OSError as error:
            raise store_unavailable("The original file cannot be kept: check the disk and its free space.") from error


def _copy(access: AccessPolicy) -> AccessPolicy:
    copy = AccessPolicy()
    copy.CopyFrom(access)
    return copy


def _read_writer_id(path: Path) -> str:
    """What this state directory's writer is called; made at the first start."""
    try:
        if not path.is_file():
            path.write_text(uuid.uuid4().hex, encoding="utf-8")
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise store_unavailable("The state directory cannot be written: check its owner and the disk.") from error
