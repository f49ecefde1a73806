"""The indexes of passages: one for each encoder, the one in use behind an alias."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

import numpy as np
from opensearchpy.exceptions import NotFoundError

from citemesh.store.contract import EncodePassages
from citemesh.store.opensearch.connection import Connection
from citemesh.store.opensearch.entries import make_entry, read_passage
from citemesh.store.opensearch.layout import DOCUMENTS_MAPPING, STATE_MAPPING, passages_mapping
from citemesh.v1.retrieval_pb2 import EncoderContract

_ENCODED_AT_ONCE: Final = 128
_SETTINGS: Final[dict[str, Any]] = {"index": {"number_of_shards": 1, "auto_expand_replicas": "0-1"}}
_PASSAGE_SETTINGS: Final[dict[str, Any]] = {"index": {**_SETTINGS["index"], "knn": True}}


def make_indexes(connection: Connection) -> None:
    """Make what does not exist yet, apart from passages: those need an encoder."""
    names = connection.names
    for index, mapping in ((names.documents, DOCUMENTS_MAPPING), (names.state, STATE_MAPPING)):
        if not _exists(connection, index):
            body = {"settings": _SETTINGS, "mappings": mapping}
            _create(connection, index, body)


def read_generation(connection: Connection) -> tuple[str, EncoderContract] | None:
    """The index in use and the encoder that its vectors come from; None before the first."""
    try:
        found = connection.run(lambda client: client.indices.get_mapping(index=connection.names.passages))
    except NotFoundError:
        return None
    ((index, mapping),) = found.items()
    return index, EncoderContract.FromString(b64decode(mapping["mappings"]["_meta"]["encoder"]))


def begin_generation(connection: Connection, contract: EncoderContract) -> str:
    """Make the next index, not in use yet; those that never were, or are no longer, are removed."""
    used = read_generation(connection)
    pattern = f"{connection.names.passages}-*"
    existing = sorted(connection.run(lambda client: client.indices.get_alias(index=pattern)))
    for index in existing:
        if used is None or index != used[0]:
            _delete(connection, index)
    number = max((int(index.rsplit("-", 1)[1]) for index in existing), default=0) + 1
    index = connection.names.generation(number)
    body = {"settings": _PASSAGE_SETTINGS, "mappings": passages_mapping(contract)}
    _create(connection, index, body)
    return index


def use_generation(connection: Connection, index: str) -> None:
    """Point the alias at `index`, in one step; searches that run go on in the old one, which stays until the next."""
    alias = connection.names.passages
    remove = [{"remove": {"index": used[0], "alias": alias}}] if (used := read_generation(connection)) else []
    actions = [*remove, {"add": {"index": index, "alias": alias}}]
    connection.run(lambda client: client.indices.update_aliases(body={"actions": actions}))


def encode_generation(connection: Connection, index: str, encode: EncodePassages) -> int:
    """Fill `index` with every passage in use, encoded anew; return how many."""
    count = 0
    source = ("tenant_id", "version_key", "passage_key", "passage")
    everything = connection.scan(connection.names.passages, {"match_all": {}}, "passage_key", source)
    while batch := list(islice(everything, _ENCODED_AT_ONCE)):
        sources = [hit["_source"] for hit in batch]
        passages = [read_passage(each) for each in sources]
        vectors = np.asarray(encode(passages), dtype=np.float32)
        write_entries(
            connection,
            index,
            [
                make_entry(each["tenant_id"], each["version_key"], each["passage_key"], passage, vector)
                for each, passage, vector in zip(sources, passages, vectors, strict=True)
            ],
            refresh=False,
        )
        count += len(batch)
    connection.run(lambda client: client.indices.refresh(index=index))
    return count


def write_entries(connection: Connection, index: str, entries: Sequence[dict[str, Any]], *, refresh: bool) -> None:
    """Write passages; with `refresh` searches find them afterwards."""
    connection.bulk(index, [(str(entry["passage_key"]), entry) for entry in entries])
    if refresh and entries:
        connection.run(lambda client: client.indices.refresh(index=index))


def find_drift(connection: Connection) -> list[str]:
    """In what the indexes differ from what this version would make; empty where in nothing."""
    names = connection.names
    generation = read_generation(connection)
    wanted: dict[str, dict[str, Any]] = {names.documents: DOCUMENTS_MAPPING, names.state: STATE_MAPPING}
    if generation is not None:
        wanted[generation[0]] = passages_mapping(generation[1])
    drift: list[str] = []
    for index, mapping in wanted.items():
        try:
            found = _read_mapping(connection, index)
        except NotFoundError:
            drift.append(f"{index} does not exist")
            continue
        fields = found[index]["mappings"].get("properties", {})
        for name in sorted({*fields, *mapping["properties"]}):
            if _kind(fields.get(name)) != _kind(mapping["properties"].get(name)):
                drift.append(f"{index} has another field {name!r}")
    return drift


def _kind(field: dict[str, Any] | None) -> object:
    return None if field is None else (field.get("type", "object"), field.get("dimension"), field.get("analyzer"))


def _exists(connection: Connection, index: str) -> bool:
    return bool(connection.run(lambda client: client.indices.exists(index=index)))


def _create(connection: Connection, index: str, body: dict[str, Any]) -> None:
    connection.run(lambda client: client.indices.create(index=index, body=body))


def _delete(connection: Connection, index: str) -> None:
    connection.run(lambda client: client.indices.delete(index=index))


def _read_mapping(connection: Connection, index: str) -> Any:
    return connection.run(lambda client: client.indices.get_mapping(index=index))
