"""The indexes themselves: made through templates, the passages' one in use behind an alias."""

from __future__ import annotations

from base64 import b64decode
from typing import Any, Final

from citemesh.rpc.errors import ServiceError
from citemesh.store.opensearch.connection import Connection, Source
from citemesh.store.opensearch.layout import (
    DOCUMENTS_MAPPING,
    PASSAGES_MAPPING,
    SECTIONS_MAPPING,
    STATE_MAPPING,
    IndexNames,
    vector_mapping,
)
from citemesh.v1.retrieval_pb2 import EncoderContract

# Above the templates that clusters come with.
_TEMPLATE_PRIORITY: Final = 500
_SETTINGS: Final[dict[str, Any]] = {"number_of_shards": 1, "auto_expand_replicas": "0-1"}


GENERATION: Final = "generation"
"""The entry of the state index that names the passages' index in use, so that readers need not ask what the alias is:
they look at each request. It names none while the alias moves: whoever sees that asks the alias."""


def make_indexes(connection: Connection) -> None:
    """Make what does not exist yet, apart from passages: those need an encoder."""
    for index, mapping in _plain_indexes(connection.names).items():
        if _exists(connection, index):
            # Fields that this version adds.
            if index == connection.names.state:
                _add_fields(connection, index, mapping)
        else:
            _put_template(connection, index, index, mapping, {})
            _create(connection, index, {})


def read_generation(connection: Connection) -> tuple[str, EncoderContract] | None:
    """The index in use and the encoder that its vectors come from; None before the first."""
    found = connection.find(lambda client: client.indices.get_mapping(index=connection.names.passages))
    if not found:
        return None
    ((index, mapping),) = found.items()
    return index, EncoderContract.FromString(b64decode(mapping["mappings"]["_meta"]["encoder"]))


def read_named_generation(connection: Connection) -> str:
    """The index in use, as its entry names it; empty where only the alias can tell."""
    found = connection.get(connection.names.state, GENERATION)
    return index_of(None if found is None else found[0])


def index_of(generation: Source | None) -> str:
    """The index that the entry names; empty where only the alias can tell."""
    return "" if generation is None else str(generation["index"])


def name_generation(connection: Connection, *, is_moved: bool = False) -> None:
    """Name the index in use where the name is missing or wrong; while the alias moves, only who moved it does."""
    while True:
        found = connection.get(connection.names.state, GENERATION)
        used = read_generation(connection)
        named = None if found is None else found[0]["index"]
        if used is None or named == used[0] or (named == "" and not is_moved):
            return
        source = {"kind": GENERATION, "index": used[0]}
        condition = None if found is None else found[1]
        # On condition that nobody began to move the alias since it was read.
        if connection.put(connection.names.state, GENERATION, source, condition, refresh=False):
            return


def begin_generation(connection: Connection, contract: EncoderContract) -> str:
    """Make the next index, not in use yet; those that never were, or are no longer, are removed.

    Within an exchange only: outside of one, what is not in use may be what another process has just made.
    """
    used = read_generation(connection)
    names = connection.names
    existing = sorted(connection.run(lambda client: client.indices.get_alias(index=names.generations)))
    for index in existing:
        if used is None or index != used[0]:
            _delete(connection, index)
    number = max((int(index.rsplit("-", 1)[1]) for index in existing), default=0) + 1
    settings = {"knn": True, "number_of_shards": connection.settings.shard_count}
    _put_template(connection, names.passages, names.generations, PASSAGES_MAPPING, settings)
    index = names.generation(number)
    _create(connection, index, {"mappings": vector_mapping(contract)})
    return index


def use_generation(connection: Connection, index: str) -> None:
    """Point the alias at `index`, in one step; searches that run go on in the old one, which stays until the next."""
    alias = connection.names.passages
    connection.write(connection.names.state, GENERATION, {"kind": GENERATION, "index": ""})
    remove = [{"remove": {"index": used[0], "alias": alias}}] if (used := read_generation(connection)) else []
    actions = [*remove, {"add": {"index": index, "alias": alias}}]
    connection.run(lambda client: client.indices.update_aliases(body={"actions": actions}))
    name_generation(connection, is_moved=True)


def find_drift(connection: Connection) -> list[str]:
    """In what the indexes differ from what this version would make; empty where in nothing."""
    wanted = _plain_indexes(connection.names)
    generation = read_generation(connection)
    if generation is not None:
        fields = {**PASSAGES_MAPPING["properties"], **vector_mapping(generation[1])["properties"]}
        wanted[generation[0]] = {"properties": fields}
    drift: list[str] = []
    for index, mapping in wanted.items():
        found = _read_mapping(connection, index)
        if found is None:
            drift.append(f"{index} does not exist")
            continue
        fields = found[index]["mappings"].get("properties", {})
        for name in sorted({*fields, *mapping["properties"]}):
            if _kind(fields.get(name)) != _kind(mapping["properties"].get(name)):
                drift.append(f"{index} has another field {name!r}")
    return drift


def _plain_indexes(names: IndexNames) -> dict[str, dict[str, Any]]:
    return {names.documents: DOCUMENTS_MAPPING, names.sections: SECTIONS_MAPPING, names.state: STATE_MAPPING}


def _kind(field: dict[str, Any] | None) -> object:
    return None if field is None else (field.get("type", "object"), field.get("dimension"), field.get("analyzer"))


def _put_template(
    connection: Connection, name: str, pattern: str, mapping: dict[str, Any], settings: dict[str, Any]
) -> None:
    body = {
        "index_patterns": [pattern],
        "priority": _TEMPLATE_PRIORITY,
        "template": {"settings": {"index": {**_SETTINGS, **settings}}, "mappings": mapping},
    }
    connection.run(lambda client: client.indices.put_index_template(name=name, body=body))


def _add_fields(connection: Connection, index: str, mapping: dict[str, Any]) -> None:
    body = {"properties": mapping["properties"]}
    connection.run(lambda client: client.indices.put_mapping(index=index, body=body))


def _exists(connection: Connection, index: str) -> bool:
    return bool(connection.run(lambda client: client.indices.exists(index=index)))


def _create(connection: Connection, index: str, body: dict[str, Any]) -> None:
    try:
        connection.run(lambda client: client.indices.create(index=index, body=body))
    except ServiceError:
        # Another writer that starts at the same moment made it.
        if not _exists(connection, index):
            raise


def _delete(connection: Connection, index: str) -> None:
    connection.find(lambda client: client.indices.delete(index=index))


def _read_mapping(connection: Connection, index: str) -> Any | None:
    return connection.find(lambda client: client.indices.get_mapping(index=index))
