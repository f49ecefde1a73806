"""The writing side of the embedded store."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path

from citemesh.store.completion import (
    change_document,
    check_given,
    check_vectors,
    complete_document,
    complete_passages,
)
from citemesh.store.contract import EncodePassages, StoredVersion, Vectors
from citemesh.store.embedded.changes import forget_removed, read_state, record_change
from citemesh.store.embedded.database import Database, as_store_errors
from citemesh.store.embedded.document_rows import (
    find_document,
    find_or_add_document,
    find_version,
    insert_version,
    is_used,
    read_versions,
    with_access,
)
from citemesh.store.embedded.encoder_facts import read_encoder, write_encoder
from citemesh.store.embedded.keyword_writer import KeywordWriter
from citemesh.store.embedded.page_splice import splice_pages
from citemesh.store.embedded.rows import write_access, write_languages, write_passages, write_sections
from citemesh.store.embedded.vector_exchange import replace_all_vectors
from citemesh.store.encoder_match import refuse_other_encoder
from citemesh.store.errors import document_not_found
from citemesh.store.files import OriginalFiles
from citemesh.store.versions import find_same
from citemesh.store.writer_lock import take_lock
from citemesh.v1.document_pb2 import AccessPolicy, Document, DocumentProfile, Section
from citemesh.v1.documents_pb2 import (
    INGEST_RESULT_CREATED,
    INGEST_RESULT_NEW_VERSION,
    INGEST_RESULT_UNCHANGED,
    IngestResult,
)
from citemesh.v1.evidence_pb2 import Passage
from citemesh.v1.retrieval_pb2 import EncoderContract


class EmbeddedWriter:
    """See StoreWriter. One process at a time: a lock file says so."""

    def __init__(self, root: Path, *, rebuild: bool = False) -> None:
        self._write_lock = threading.Lock()
        self._lock_descriptor = take_lock(root)
        try:
            if rebuild:
                _remove_indexes(root)
            self._database = Database(root)
            self._files = OriginalFiles(root)
            self._keyword = KeywordWriter(root, self._database)
            self._keyword.catch_up_all()
        except BaseException:  # no end may keep the lock; raised again
            os.close(self._lock_descriptor)
            raise
        self._closed = False

    def set_encoder(self, contract: EncoderContract) -> None:
        """See StoreWriter."""
        with self._database.transaction() as connection:
            recorded = read_encoder(connection)
            # An index without vectors belongs to no encoder yet.
            if recorded is not None and connection.execute("SELECT 1 FROM vectors LIMIT 1").fetchone() is not None:
                refuse_other_encoder(recorded, contract)
                return
            write_encoder(connection, contract)

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
        # Files and rows change together: a delete may not take the file of a version that is being stored.
        with self._write_lock, as_store_errors():
            self._files.keep(tenant_id, document.content_hash, file)
            stored, result = self._put_rows(tenant_id, document, sections, passages, vectors)
        if result != INGEST_RESULT_UNCHANGED:
            self._keyword.catch_up(tenant_id)
        return StoredVersion(stored, result)

    def _put_rows(
        self,
        tenant_id: str,
        document: Document,
        sections: Sequence[Section],
        passages: Sequence[Passage],
        vectors: Vectors,
    ) -> tuple[Document, IngestResult.ValueType]:
        with self._database.transaction() as connection:
            check_vectors(read_encoder(connection), passages, vectors)
            row, known = find_or_add_document(connection, tenant_id, document)
            versions = read_versions(connection, row)
            same = find_same(versions, document, document.content_hash, document.title)
            if same is not None:
                if document.HasField("access"):
                    record_change(connection, tenant_id, None, permissions=True)
                return with_access(connection, row, same), INGEST_RESULT_UNCHANGED
            stored = complete_document(document, versions[0].document_version + 1 if versions else 1, len(passages))
            version_row = insert_version(connection, row, stored)
            completed = complete_passages(passages, stored, 0)
            write_sections(connection, tenant_id, version_row, sections, stored.profile.language)
            write_passages(connection, tenant_id, version_row, completed, vectors)
            write_languages(connection, tenant_id, completed)
            record_change(connection, tenant_id, version_row, permissions=not known or document.HasField("access"))
            stored = with_access(connection, row, stored)
        return stored, INGEST_RESULT_NEW_VERSION if versions else INGEST_RESULT_CREATED

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
        with self._database.transaction() as connection:
            check_vectors(read_encoder(connection), passages, vectors)
            version_row, document = find_version(connection, tenant_id, document_id, document_version)
            if not page_numbers and not passages and profile is None and warnings is None:
                return False
            changed = splice_pages(connection, tenant_id, version_row, document, page_numbers, passages, vectors)
            count = connection.execute("SELECT count(*) FROM passages WHERE version_row = ?", (version_row,)).fetchone()
            change_document(document, int(count[0]), profile, warnings)
            connection.execute(
                "UPDATE versions SET document = ? WHERE version_row = ?", (document.SerializeToString(), version_row)
            )
            record_change(connection, tenant_id, version_row)
        self._keyword.catch_up(tenant_id)
        return changed

    def exists(self, tenant_id: str, document_id: str) -> bool:
        """See StoreWriter."""
        with self._database.snapshot() as connection:
            return find_document(connection, tenant_id, document_id) is not None

    def delete(self, tenant_id: str, document_id: str) -> int:
        """See StoreWriter."""
        with self._write_lock:
            removed = self._delete_rows(tenant_id, document_id)
        if removed:
            self._keyword.catch_up(tenant_id)
            with self._database.transaction() as connection:
                forget_removed(connection, tenant_id, read_state(connection, tenant_id).change_sequence)
        return removed

    def _delete_rows(self, tenant_id: str, document_id: str) -> int:
        with self._database.transaction() as connection:
            row = find_document(connection, tenant_id, document_id)
            if row is None:
                return 0
            versions = connection.execute(
                "SELECT version_row, content_hash FROM versions WHERE document_row = ?", (row,)
            ).fetchall()
            connection.execute("DELETE FROM documents WHERE document_row = ?", (row,))
            for version_row, _ in versions:
                record_change(connection, tenant_id, int(version_row), permissions=True)
            hashes = {str(version[1]) for version in versions}
            orphaned = [each for each in hashes if not is_used(connection, tenant_id, each)]
        with as_store_errors():
            self._files.remove(tenant_id, orphaned)
        return len(versions)

    def set_access(self, tenant_id: str, document_id: str, access: AccessPolicy) -> int:
        """See StoreWriter."""
        with self._database.transaction() as connection:
            row = find_document(connection, tenant_id, document_id)
            if row is None:
                raise document_not_found(document_id)
            write_access(connection, row, access)
            record_change(connection, tenant_id, None, permissions=True)
            return read_state(connection, tenant_id).permission_version

    def replace_vectors(self, contract: EncoderContract, encode: EncodePassages) -> int:
        """See StoreWriter."""
        return replace_all_vectors(self._database, contract, encode)

    def check(self) -> str | None:
        """See StoreWriter."""
        return "the document store is closed" if self._closed else self._database.check()

    def close(self) -> None:
        """See StoreWriter."""
        if self._closed:
            return
        self._closed = True
        self._keyword.close()
        self._database.close()
        os.close(self._lock_descriptor)


def _remove_indexes(root: Path) -> None:
    """Remove the derived indexes of all tenants, also those in the form of an earlier version."""
    for folder in root.glob("keyword-*"):
        shutil.rmtree(folder)
