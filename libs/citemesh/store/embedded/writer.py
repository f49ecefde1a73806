"""The writing side of the embedded store."""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path

from citemesh.rpc.errors import ServiceError, invalid_argument
from citemesh.store.contract import EncodePassages, StoredVersion, Vectors
from citemesh.store.embedded.changes import forget_removed, read_state, record_change
from citemesh.store.embedded.database import Database, as_store_errors, store_unavailable
from citemesh.store.embedded.encoder_facts import read_encoder, refuse_other_encoder, write_encoder
from citemesh.store.embedded.files import OriginalFiles
from citemesh.store.embedded.keyword_writer import KeywordWriter
from citemesh.store.embedded.page_splice import splice_pages
from citemesh.store.embedded.rows import (
    EVERYONE,
    complete_passages,
    write_access,
    write_languages,
    write_passages,
    write_sections,
)
from citemesh.store.embedded.vector_exchange import replace_all_vectors
from citemesh.store.versions import find_same, span_of
from citemesh.v1 import errors_pb2
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
        with as_store_errors():
            root.mkdir(parents=True, exist_ok=True)
        self._write_lock = threading.Lock()
        self._lock_descriptor = _take_lock(root / "writer.lock")
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
        _check_tenant(tenant_id)
        if not document.document_id:
            raise invalid_argument("document.document_id", "must not be empty")
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
            self._check_vectors(connection, passages, vectors)
            row, known = _find_or_add_document(connection, tenant_id, document)
            versions = _read_versions(connection, row)
            same = find_same(versions, document, document.content_hash, document.title)
            if same is not None:
                if document.HasField("access"):
                    record_change(connection, tenant_id, None, permissions=True)
                return _with_access(connection, row, same), INGEST_RESULT_UNCHANGED
            stored = _complete_document(document, versions[0].document_version + 1 if versions else 1, len(passages))
            version_row = _insert_version(connection, row, stored)
            completed = complete_passages(passages, stored, 0)
            write_sections(connection, tenant_id, version_row, sections, stored.profile.language)
            write_passages(connection, tenant_id, version_row, completed, vectors)
            write_languages(connection, tenant_id, completed)
            record_change(connection, tenant_id, version_row, permissions=not known or document.HasField("access"))
            stored = _with_access(connection, row, stored)
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
            self._check_vectors(connection, passages, vectors)
            version_row, document = _find_version(connection, tenant_id, document_id, document_version)
            if not page_numbers and not passages and profile is None and warnings is None:
                return False
            changed = splice_pages(connection, tenant_id, version_row, document, page_numbers, passages, vectors)
            if profile is not None:
                document.profile.CopyFrom(profile)
                document.profile.document_id = document_id
                document.profile.document_version = document_version
            if warnings is not None:
                document.warnings[:] = warnings
            count = connection.execute("SELECT count(*) FROM passages WHERE version_row = ?", (version_row,)).fetchone()
            document.passage_count = int(count[0])
            connection.execute(
                "UPDATE versions SET document = ? WHERE version_row = ?", (document.SerializeToString(), version_row)
            )
            record_change(connection, tenant_id, version_row)
        self._keyword.catch_up(tenant_id)
        return changed

    def exists(self, tenant_id: str, document_id: str) -> bool:
        """See StoreWriter."""
        with self._database.snapshot() as connection:
            return _find_document(connection, tenant_id, document_id) is not None

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
            row = _find_document(connection, tenant_id, document_id)
            if row is None:
                return 0
            versions = connection.execute(
                "SELECT version_row, content_hash FROM versions WHERE document_row = ?", (row,)
            ).fetchall()
            connection.execute("DELETE FROM documents WHERE document_row = ?", (row,))
            for version_row, _ in versions:
                record_change(connection, tenant_id, int(version_row), permissions=True)
            hashes = {str(version[1]) for version in versions}
            orphaned = [each for each in hashes if not _is_used(connection, tenant_id, each)]
        with as_store_errors():
            self._files.remove(tenant_id, orphaned)
        return len(versions)

    def set_access(self, tenant_id: str, document_id: str, access: AccessPolicy) -> int:
        """See StoreWriter."""
        with self._database.transaction() as connection:
            row = _find_document(connection, tenant_id, document_id)
            if row is None:
                raise _not_found(document_id)
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

    def _check_vectors(self, connection: sqlite3.Connection, passages: Sequence[Passage], vectors: Vectors) -> None:
        recorded = read_encoder(connection)
        if recorded is None:
            raise ValueError("call set_encoder before the first vectors")
        expected = (len(passages), recorded.dimension_count)
        if passages and vectors.shape != expected:
            raise ValueError(f"vectors have shape {vectors.shape}, expected {expected}")


def _take_lock(path: Path) -> int:
    with as_store_errors():
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise store_unavailable(
            "Another process writes this document store: stop it, or use another state directory."
        ) from error
    return descriptor


def _remove_indexes(root: Path) -> None:
    """Remove the derived indexes of all tenants, also those in the form of an earlier version."""
    for folder in root.glob("keyword-*"):
        shutil.rmtree(folder)


def _check_tenant(tenant_id: str) -> None:
    if not tenant_id:
        raise invalid_argument("tenant_id", "must not be empty")


def _not_found(document_id: str) -> ServiceError:
    return ServiceError(
        errors_pb2.ERROR_REASON_DOCUMENT_NOT_FOUND, "There is no such document.", document_id=document_id
    )


def _find_document(connection: sqlite3.Connection, tenant_id: str, document_id: str) -> int | None:
    row = connection.execute(
        "SELECT document_row FROM documents WHERE tenant_id = ? AND document_id = ?", (tenant_id, document_id)
    ).fetchone()
    return None if row is None else int(row[0])


def _find_or_add_document(connection: sqlite3.Connection, tenant_id: str, document: Document) -> tuple[int, bool]:
    """The document's row and whether it was known; its access is set where the caller gives one or it is new."""
    row = _find_document(connection, tenant_id, document.document_id)
    known = row is not None
    if row is None:
        cursor = connection.execute(
            "INSERT INTO documents (tenant_id, document_id, everyone, access) VALUES (?, ?, 0, x'')",
            (tenant_id, document.document_id),
        )
        row = int(cursor.lastrowid or 0)
    if document.HasField("access"):
        write_access(connection, row, document.access)
    elif not known:
        write_access(connection, row, EVERYONE)
    return row, known


def _find_version(
    connection: sqlite3.Connection, tenant_id: str, document_id: str, document_version: int
) -> tuple[int, Document]:
    row = connection.execute(
        "SELECT version_row, document FROM versions JOIN documents USING (document_row)"
        " WHERE tenant_id = ? AND document_id = ? AND document_version = ?",
        (tenant_id, document_id, document_version),
    ).fetchone()
    if row is None:
        raise _not_found(document_id)
    return int(row[0]), Document.FromString(row[1])


def _read_versions(connection: sqlite3.Connection, document_row: int) -> list[Document]:
    """All versions of a document, newest first."""
    rows = connection.execute(
        "SELECT document FROM versions WHERE document_row = ? ORDER BY document_version DESC", (document_row,)
    )
    return [Document.FromString(row[0]) for row in rows]


def _complete_document(given: Document, document_version: int, passage_count: int) -> Document:
    document = Document()
    document.CopyFrom(given)
    document.ClearField("access")
    document.document_version = document_version
    document.ingest_time.GetCurrentTime()
    document.passage_count = passage_count
    document.superseded = False
    document.profile.document_id = document.document_id
    document.profile.document_version = document_version
    document.profile.title = document.title
    return document


def _insert_version(connection: sqlite3.Connection, document_row: int, document: Document) -> int:
    start, end = span_of(document)
    cursor = connection.execute(
        "INSERT INTO versions (document_row, document_version, from_us, to_us, content_hash, document,"
        " next_passage_number) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            document_row,
            document.document_version,
            start,
            end,
            document.content_hash,
            document.SerializeToString(),
            document.passage_count,
        ),
    )
    return int(cursor.lastrowid or 0)


def _with_access(connection: sqlite3.Connection, document_row: int, document: Document) -> Document:
    row = connection.execute("SELECT access FROM documents WHERE document_row = ?", (document_row,)).fetchone()
    document.access.CopyFrom(AccessPolicy.FromString(row[0]))
    return document


def _is_used(connection: sqlite3.Connection, tenant_id: str, content_hash: str) -> bool:
    row = connection.execute(
        "SELECT 1 FROM versions JOIN documents USING (document_row) WHERE tenant_id = ? AND content_hash = ? LIMIT 1",
        (tenant_id, content_hash),
    ).fetchone()
    return row is not None
