"""The writing side of the OpenSearch store.

A version's passages are written first, under a number that no record names yet, and are searchable; then the document's
record is written, which is one step; then the tenant's state, which tells every reader to look. What was replaced is
removed last. A writer that ends in between leaves passages that nothing names: nobody ever sees half a document.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any, Final

import numpy as np

from citemesh.rpc.errors import ServiceError, invalid_argument
from citemesh.store.contract import EncodePassages, StoredVersion, Vectors
from citemesh.store.embedded.encoder_facts import refuse_other_encoder
from citemesh.store.embedded.files import OriginalFiles
from citemesh.store.embedded.rows import complete_passages
from citemesh.store.opensearch.catalog import TenantState
from citemesh.store.opensearch.connection import Connection, store_unavailable
from citemesh.store.opensearch.entries import make_entry
from citemesh.store.opensearch.generations import (
    begin_generation,
    encode_generation,
    make_indexes,
    read_generation,
    use_generation,
    write_entries,
)
from citemesh.store.opensearch.layout import MAX_PASSAGES, passage_key, record_id, tenant_key
from citemesh.store.opensearch.page_splice import read_version, splice_pages
from citemesh.store.opensearch.records import DocumentRecord, VersionRecord, complete_document
from citemesh.store.versions import find_same
from citemesh.v1 import errors_pb2
from citemesh.v1.document_pb2 import AccessPolicy, Document, DocumentProfile, Section
from citemesh.v1.documents_pb2 import INGEST_RESULT_CREATED, INGEST_RESULT_NEW_VERSION, INGEST_RESULT_UNCHANGED
from citemesh.v1.evidence_pb2 import Passage
from citemesh.v1.retrieval_pb2 import EncoderContract

_STATE_ATTEMPTS: Final = 8
_NUMBERS: Final = "numbers"

_Condition = dict[str, Any]


class OpenSearchWriter:
    """See StoreWriter. One process at a time for a state directory, which keeps the original files."""

    def __init__(self, url: str, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self._lock_descriptor = os.open(root / "writer.lock", os.O_RDWR | os.O_CREAT, 0o600)
        self._lock = threading.RLock()
        self._closed = False
        self._files = OriginalFiles(root)
        try:
            try:
                fcntl.flock(self._lock_descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise store_unavailable("Another process writes this document store: stop it.") from error
            self._connection = Connection(url)
            make_indexes(self._connection)
        except BaseException:  # no end may keep the lock; raised again
            os.close(self._lock_descriptor)
            raise

    def set_encoder(self, contract: EncoderContract) -> None:
        """See StoreWriter."""
        with self._lock:
            used = read_generation(self._connection)
            if used is not None:
                held = self._connection.run(lambda client: client.count(index=used[0]))["count"]
                if held:
                    refuse_other_encoder(used[1], contract)
                    return
                if used[1] == contract:
                    return
            use_generation(self._connection, begin_generation(self._connection, contract))

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
        if not tenant_id:
            raise invalid_argument("tenant_id", "must not be empty")
        if not document.document_id:
            raise invalid_argument("document.document_id", "must not be empty")
        if document.HasField("access"):
            _check_access(document.access)
        with self._lock:
            index = self._check_vectors(passages, vectors)
            self._keep_file(tenant_id, document.content_hash, file)
            record, condition = self._find(tenant_id, document.document_id)
            known = record is not None and bool(record.versions)
            if record is None or not known:
                everyone = AccessPolicy()
                everyone.everyone.SetInParent()
                record = DocumentRecord(tenant_id, document.document_id, self._next_number(), everyone)
            if document.HasField("access"):
                record.access.CopyFrom(document.access)
            newest_first = sorted(record.versions, key=lambda each: -each.document.document_version)
            same = find_same([each.document for each in newest_first], document, document.content_hash, document.title)
            if same is not None:
                if document.HasField("access") or self._is_unseen(tenant_id, document.document_id):
                    self._commit(record, condition, permissions=document.HasField("access"))
                version = next(each for each in record.versions if each.document is same)
                return StoredVersion(record.with_access(version), INGEST_RESULT_UNCHANGED)
            number = newest_first[0].document.document_version + 1 if newest_first else 1
            stored = complete_document(document, number, len(passages))
            completed = complete_passages(passages, stored, 0)
            key = self._next_number()
            self._write_passages(index, tenant_id, key, completed, vectors)
            languages = sorted({each.language for each in completed} - {"", "und"})
            version = VersionRecord(key, stored, list(sections), languages, len(completed))
            record.versions.append(version)
            self._commit(record, condition, permissions=not known or document.HasField("access"))
            result = INGEST_RESULT_NEW_VERSION if known else INGEST_RESULT_CREATED
            return StoredVersion(record.with_access(version), result)

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
            record, condition = self._find_known(tenant_id, document_id)
            version = next((v for v in record.versions if v.document.document_version == document_version), None)
            if version is None:
                raise _not_found(document_id)
            if not page_numbers and not passages and profile is None and warnings is None:
                return False
            old_key, stored = version.version_key, read_version(self._connection, version.version_key)
            completed = complete_passages(passages, version.document, version.next_passage_number)
            spliced = splice_pages(stored, page_numbers, completed, vectors)
            version.version_key = self._next_number()
            version.next_passage_number += len(completed)
            version.languages = sorted({*version.languages, *(p.language for p in completed)} - {"", "und"})
            version.document.passage_count = len(spliced.passages)
            if profile is not None:
                version.document.profile.CopyFrom(profile)
                version.document.profile.document_id = document_id
                version.document.profile.document_version = document_version
            if warnings is not None:
                version.document.warnings[:] = warnings
            self._write_passages(index, tenant_id, version.version_key, spliced.passages, spliced.vectors)
            self._commit(record, condition)
            self._remove_passages([old_key])
            return spliced.is_changed

    def exists(self, tenant_id: str, document_id: str) -> bool:
        """See StoreWriter."""
        record, _ = self._find(tenant_id, document_id)
        return record is not None and bool(record.versions)

    def delete(self, tenant_id: str, document_id: str) -> int:
        """See StoreWriter."""
        with self._lock:
            record, condition = self._find(tenant_id, document_id)
            if record is None or not record.versions:
                return 0
            removed, record.versions = record.versions, []
            # The record stays, empty: readers learn of the removal by it.
            self._commit(record, condition, permissions=True)
            self._remove_passages([each.version_key for each in removed])
            self._remove_files(tenant_id, {each.document.content_hash for each in removed})
            return len(removed)

    def set_access(self, tenant_id: str, document_id: str, access: AccessPolicy) -> int:
        """See StoreWriter."""
        with self._lock:
            record, condition = self._find_known(tenant_id, document_id)
            _check_access(access)
            record.access.CopyFrom(access)
            return self._commit(record, condition, permissions=True).permission_version

    def replace_vectors(self, contract: EncoderContract, encode: EncodePassages) -> int:
        """See StoreWriter."""
        with self._lock:
            index = begin_generation(self._connection, contract)
            encoded = encode_generation(self._connection, index, encode)
            use_generation(self._connection, index)
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

    def _find(self, tenant_id: str, document_id: str) -> tuple[DocumentRecord | None, _Condition | None]:
        found = self._connection.get(self._connection.names.documents, record_id(tenant_id, document_id))
        return (None, None) if found is None else (DocumentRecord.from_source(found[0]), found[1])

    def _is_unseen(self, tenant_id: str, document_id: str) -> bool:
        """Whether a writer ended between a record and the state that tells readers of it."""
        names = self._connection.names
        found = self._connection.get(names.documents, record_id(tenant_id, document_id))
        state = self._connection.get(names.state, tenant_key(tenant_id))
        reached = 0 if state is None else int(state[0]["change_sequence"])
        return found is not None and int(found[0]["change_sequence"]) > reached

    def _find_known(self, tenant_id: str, document_id: str) -> tuple[DocumentRecord, _Condition | None]:
        record, condition = self._find(tenant_id, document_id)
        if record is None or not record.versions:
            raise _not_found(document_id)
        return record, condition

    def _commit(
        self, record: DocumentRecord, condition: _Condition | None, *, permissions: bool = False
    ) -> TenantState:
        """Write a record and the tenant's new state; readers look for records above the state that they know."""
        names = self._connection.names
        key = record_id(record.tenant_id, record.document_id)
        state_key = tenant_key(record.tenant_id)
        for _ in range(_STATE_ATTEMPTS):
            found = self._connection.get(names.state, state_key)
            old, state_condition = (TenantState(), None) if found is None else (TenantState(**found[0]), found[1])
            new = TenantState(old.change_sequence + 1, old.permission_version + int(permissions))
            condition = self._connection.put(
                names.documents, key, record.to_source(new.change_sequence), condition, refresh=True
            )
            if condition is None:
                raise store_unavailable("Another writer changed the document meanwhile: try again.")
            source = {"change_sequence": new.change_sequence, "permission_version": new.permission_version}
            if self._connection.put(names.state, state_key, source, state_condition, refresh=False):
                return new
            # Another writer took this place: the record must stand above it, or readers pass it by. Where that writer
            # changed this very record, the condition no longer holds.
        raise store_unavailable("Too many writers change this tenant's documents at once.")

    def _next_number(self) -> int:
        """A number that no document and no version had before."""
        names = self._connection.names
        for _ in count():
            found = self._connection.get(names.state, _NUMBERS)
            number = 1 if found is None else found[0]["change_sequence"] + 1
            source = {"change_sequence": number, "permission_version": 0}
            if self._connection.put(names.state, _NUMBERS, source, None if found is None else found[1], refresh=False):
                break
        return int(number)

    def _check_vectors(self, passages: Sequence[Passage], vectors: Vectors) -> str:
        """The index that takes the vectors."""
        used = read_generation(self._connection)
        if used is None:
            raise ValueError("call set_encoder before the first vectors")
        expected = (len(passages), used[1].dimension_count)
        if passages and vectors.shape != expected:
            raise ValueError(f"vectors have shape {vectors.shape}, expected {expected}")
        return used[0]

    def _write_passages(
        self, index: str, tenant_id: str, version_key: int, passages: Sequence[Passage], vectors: Vectors
    ) -> None:
        if len(passages) > MAX_PASSAGES:
            raise invalid_argument("document", f"has more than {MAX_PASSAGES} passages")
        entries = [
            make_entry(tenant_id, version_key, passage_key(version_key, number), passage, np.asarray(vector))
            for number, (passage, vector) in enumerate(zip(passages, vectors, strict=True))
        ]
        write_entries(self._connection, index, entries, refresh=True)

    def _remove_passages(self, version_keys: Sequence[int]) -> None:
        body = {"query": {"terms": {"version_key": list(version_keys)}}}
        params = {"refresh": "true", "conflicts": "proceed"}
        index = self._connection.names.passages
        self._connection.run(lambda client: client.delete_by_query(index=index, body=body, params=params))

    def _keep_file(self, tenant_id: str, content_hash: str, file: Path) -> None:
        try:
            self._files.keep(tenant_id, content_hash, file)
        except OSError as error:
            raise store_unavailable("The original file cannot be kept: check the disk and its free space.") from error

    def _remove_files(self, tenant_id: str, hashes: set[str]) -> None:
        query = {"term": {"tenant_id": tenant_id}}
        for hit in self._connection.scan(self._connection.names.documents, query, "document_id", ["*"]):
            record = DocumentRecord.from_source(hit["_source"])
            hashes = hashes - {each.document.content_hash for each in record.versions}
        self._files.remove(tenant_id, hashes)


def _check_access(access: AccessPolicy) -> None:
    if access.WhichOneof("access") is None:
        raise invalid_argument("access", "must say everyone, or name who; an empty set reaches nobody")


def _not_found(document_id: str) -> ServiceError:
    return ServiceError(
        errors_pb2.ERROR_REASON_DOCUMENT_NOT_FOUND, "There is no such document.", document_id=document_id
    )
