"""Vector search for readers: an int8 matrix per tenant, scanned whole, the best rescored in float32."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import simsimd

from citemesh.caches.recently_used import RecentlyUsed
from citemesh.store.contract import Hit, Vectors, VersionFilter
from citemesh.store.embedded.changes import read_changed_versions, read_floor, read_state
from citemesh.store.embedded.database import Database
from citemesh.store.embedded.encoder_facts import read_generation
from citemesh.store.embedded.quantize import Codes, quantize
from citemesh.store.encoder_match import refuse_other_width

_MAX_CACHED_MASKS = 32
_MAX_LOADED_TENANTS = 32
# So many more than asked for are rescored: the order by codes is off by about 0.002 in cosine.
_RESCORE_MARGIN = 32
# Below this share of allowed rows, copying them out is cheaper than scanning all.
_SPARSE_SHARE = 0.3

Rows = npt.NDArray[np.int64]
Scales = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class _Matrix:
    """The vectors of one tenant as of one change sequence; never changed once built."""

    sequence: int
    generation: int
    codes: Codes
    scales: Scales
    passage_rows: Rows
    version_rows: Rows


class DenseSearch:
    """Keeps each tenant's matrix level with the database. Safe to call from several threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._matrices: RecentlyUsed[str, _Matrix] = RecentlyUsed(_MAX_LOADED_TENANTS)
        self._masks: RecentlyUsed[tuple[str, int, int], Mask] = RecentlyUsed(_MAX_CACHED_MASKS)

    def search(self, vector: Vectors, versions: VersionFilter, limit: int) -> list[Hit]:
        """See StoreReader.dense_search."""
        if versions.is_empty or limit < 1:
            return []
        matrix = self._fresh(versions.tenant_id)
        if not len(matrix.codes):
            return []
        query = np.ascontiguousarray(vector, dtype=np.float32).reshape(-1)
        refuse_other_width(matrix.codes.shape[1], query)
        nearest = self._nearest(query, matrix, self._mask(versions, matrix), limit + _RESCORE_MARGIN)
        return self._rescore(query, nearest, limit)

    def _nearest(self, query: Vectors, matrix: _Matrix, mask: Mask, count: int) -> list[int]:
        """Passage rows of the `count` allowed vectors nearest by codes, in no order."""
        code = quantize(query[None, :])
        allowed = np.flatnonzero(mask)
        if not len(allowed):
            return []
        if len(allowed) <= _SPARSE_SHARE * len(mask):
            nearness = _compare(code, matrix.codes[allowed], matrix.scales[allowed])
            rows = matrix.passage_rows[allowed]
        else:
            nearness = _compare(code, matrix.codes, matrix.scales)
            nearness[~mask] = -np.inf
            rows = matrix.passage_rows
            count = min(count, len(allowed))
        if count < len(rows):
            rows = rows[np.argpartition(-nearness, count - 1)[:count]]
        return [int(row) for row in rows]

    def _rescore(self, query: Vectors, rows: Sequence[int], limit: int) -> list[Hit]:
        with self._database.snapshot() as connection:
            found = connection.execute(
                "SELECT passage_row, vector FROM vectors WHERE passage_row IN (SELECT value FROM json_each(?))",
                (json.dumps(list(rows)),),
            ).fetchall()
        if not found:
            return []
        vectors = np.frombuffer(b"".join(row[1] for row in found), dtype=np.float32).reshape(len(found), -1)
        cosines = vectors @ query
        order = np.argsort(-cosines, kind="stable")[:limit]
        return [Hit(int(found[at][0]), float(cosines[at])) for at in order]

    def _mask(self, versions: VersionFilter, matrix: _Matrix) -> Mask:
        key = (versions.key, matrix.sequence, matrix.generation)
        mask = self._masks.get(key)
        if mask is None:
            mask = np.isin(matrix.version_rows, np.asarray(versions.version_keys, dtype=np.int64))
            self._masks.put(key, mask)
        return mask

    def _fresh(self, tenant_id: str) -> _Matrix:
        with self._database.snapshot() as connection:
            now = read_state(connection, tenant_id).change_sequence
            generation = read_generation(connection)
            matrix = self._matrices.get(tenant_id)
            if matrix is not None and (matrix.sequence, matrix.generation) == (now, generation):
                return matrix
            with self._lock:
                matrix = self._matrices.get(tenant_id)
                floor = read_floor(connection, tenant_id)
                if matrix is None or matrix.generation != generation or matrix.sequence < floor:
                    matrix = _load(connection, tenant_id, now, generation)
                elif matrix.sequence < now:
                    matrix = _follow(connection, tenant_id, matrix, now)
                self._matrices.put(tenant_id, matrix)
                return matrix


def _compare(code: Codes, codes: Codes, scales: Scales) -> Scales:
    """Values [codes] in the order of the cosine with `code` [1, dimensions].

    A dot product and one factor a row take three fifths of the time of simsimd's cosine, which measures every row anew.
    """
    products = np.asarray(simsimd.cdist(code, codes, metric="dot", out_dtype="float32"))[0]
    nearness: Scales = products * scales
    return nearness


def _measure(codes: Codes) -> Scales:
    """One over the length of each row."""
    lengths = np.sqrt(np.einsum("ij,ij->i", codes, codes, dtype=np.int32, casting="unsafe"))
    scales: Scales = (1.0 / np.maximum(lengths, 1.0)).astype(np.float32)
    return scales


def _load(connection: sqlite3.Connection, tenant_id: str, now: int, generation: int) -> _Matrix:
    rows = connection.execute(
        "SELECT passage_row, version_row, code FROM passages JOIN vectors USING (passage_row) WHERE tenant_id = ?",
        (tenant_id,),
    )
    return _Matrix(now, generation, *_as_arrays(rows.fetchall()))


def _follow(connection: sqlite3.Connection, tenant_id: str, matrix: _Matrix, now: int) -> _Matrix:
    """`matrix` with the rows of changed versions replaced; the same arrays where none changed."""
    changed = read_changed_versions(connection, tenant_id, matrix.sequence, now)
    if not changed:
        return replace(matrix, sequence=now)
    rows = connection.execute(
        "SELECT passage_row, version_row, code FROM passages JOIN vectors USING (passage_row)"
        " WHERE version_row IN (SELECT value FROM json_each(?))",
        (json.dumps(changed),),
    )
    codes, scales, passage_rows, version_rows = _as_arrays(rows.fetchall())
    kept = ~np.isin(matrix.version_rows, np.asarray(changed, dtype=np.int64))
    if not len(matrix.codes):
        return _Matrix(now, matrix.generation, codes, scales, passage_rows, version_rows)
    if not len(codes):
        codes = np.zeros((0, matrix.codes.shape[1]), dtype=np.int8)
    return _Matrix(
        now,
        matrix.generation,
        np.concatenate([matrix.codes[kept], codes]),
        np.concatenate([matrix.scales[kept], scales]),
        np.concatenate([matrix.passage_rows[kept], passage_rows]),
        np.concatenate([matrix.version_rows[kept], version_rows]),
    )


def _as_arrays(rows: Sequence[tuple[int, int, bytes]]) -> tuple[Codes, Scales, Rows, Rows]:
    if not rows:
        none = np.zeros(0, dtype=np.int64)
        return np.zeros((0, 0), dtype=np.int8), np.zeros(0, dtype=np.float32), none, none
    codes = np.frombuffer(b"".join(row[2] for row in rows), dtype=np.int8).reshape(len(rows), -1)
    passage_rows = np.array([row[0] for row in rows], dtype=np.int64)
    return codes, _measure(codes), passage_rows, np.array([row[1] for row in rows], dtype=np.int64)
