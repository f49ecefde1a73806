"""Replaces all vectors by those of another encoder: built in an index beside the one in use, switched at once."""

from __future__ import annotations

import threading
from itertools import groupby, islice
from typing import Any, Final

import numpy as np

from citemesh.store.contract import EncodePassages
from citemesh.store.errors import store_unavailable
from citemesh.store.opensearch.bulk import refresh_index, write_entries
from citemesh.store.opensearch.connection import Connection, columns, read_columns
from citemesh.store.opensearch.entries import OWNER_FIELDS, Owner, make_passages, read_passage
from citemesh.store.opensearch.gate import Gate
from citemesh.store.opensearch.indexes import begin_generation, read_generation, use_generation
from citemesh.store.opensearch.layout import part_key
from citemesh.store.opensearch.leftovers import count_versions, find_named, remove_versions
from citemesh.v1.retrieval_pb2 import EncoderContract

_ENCODED_AT_ONCE: Final = 128
_CATCH_UPS: Final = 5
_TERMS: Final = 10_000

_EVERYTHING: Final[dict[str, Any]] = {"match_all": {}}


class VectorExchange:
    """One exchange. `lock` is the writer's own; it is held for the last step only."""

    def __init__(self, connection: Connection, gate: Gate, lock: threading.RLock, encode: EncodePassages) -> None:
        self._connection = connection
        self._gate = gate
        self._lock = lock
        self._encode = encode

    def run(self, contract: EncoderContract) -> int:
        """See StoreWriter.replace_vectors. Other writers go on; for the last step they are asked to come again."""
        with self._gate.exchanging():
            index = begin_generation(self._connection, contract)
            if read_generation(self._connection) is not None:
                self._copy(index, _EVERYTHING, is_closed=False)
                for _ in range(_CATCH_UPS):
                    if not self._level(index, is_closed=False):
                        break
            with self._lock, self._gate.closed():
                if read_generation(self._connection) is not None:
                    self._level(index, is_closed=True)
                    # Nobody writes now: what still differs was not written as it was sent.
                    if self._level(index, is_closed=True):
                        raise store_unavailable("The new index does not hold every passage: see the cluster's log.")
                self._gate.renew(is_closed=True)
                use_generation(self._connection, index)
            return sum(each.count for each in count_versions(self._connection, index))

    def _level(self, index: str, *, is_closed: bool) -> bool:
        """Bring `index` level with the one in use, by version; return whether anything was missing.

        Only what a record names counts: other parts are of a writer still at work, who commits before the last step or
        not at all, or are left over.
        """
        held = {each.version_key: each.count for each in count_versions(self._connection, self._used)}
        named = find_named(self._connection)
        used = {key: count for key, count in held.items() if key in named}
        built = {each.version_key: each.count for each in count_versions(self._connection, index)}
        if gone := sorted(built.keys() - used.keys()):
            remove_versions(self._connection, index, gone)
        missing = sorted(key for key, count in used.items() if built.get(key) != count)
        for start in range(0, len(missing), _TERMS):
            query = {"terms": {"version_key": missing[start : start + _TERMS]}}
            self._copy(index, query, is_closed=is_closed)
        return bool(missing)

    @property
    def _used(self) -> str:
        return self._connection.names.passages

    def _copy(self, index: str, query: dict[str, Any], *, is_closed: bool) -> None:
        """Encode what matches and write it to `index`."""
        fields = (*OWNER_FIELDS, "passage_key", "passage")
        found = self._connection.scan(self._used, query, "passage_key", columns(fields))
        while batch := [read_columns(hit) for hit in islice(found, _ENCODED_AT_ONCE)]:
            passages = [read_passage(each) for each in batch]
            vectors = iter(np.asarray(self._encode(passages), dtype=np.float32))
            entries = []
            pairs = zip(batch, passages, strict=True)
            for owner, group in groupby(pairs, lambda pair: Owner.from_columns(pair[0])):
                first = part_key(owner.version_key, 0)
                numbered = [(int(each["passage_key"]) - first, passage) for each, passage in group]
                entries += make_passages(index, owner, numbered, islice(vectors, len(numbered)))
            write_entries(self._connection, entries, refresh=False)
            self._gate.renew(is_closed=is_closed)
        refresh_index(self._connection, index)
