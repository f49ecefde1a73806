"""The indexes: their names, their mappings, and the numbers that name versions and what belongs to them.

`PREFIX-documents` holds one record for each document, `PREFIX-sections` their sections, `PREFIX-state` one entry for
each tenant and writer, and `PREFIX-passages` is an alias of the index whose vectors are in use: each encoder has its
own, which carries the encoder's contract.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from dataclasses import dataclass
from typing import Any, Final

from citemesh.v1.retrieval_pb2 import EncoderContract

_NUMBER_BITS: Final = 20
MAX_PASSAGES: Final = 1 << _NUMBER_BITS
"""Of one version; of its sections as well."""

_KEYWORD: Final = {"type": "keyword"}
_LONG: Final = {"type": "long"}
# Read by column: apart from everything else, and not unpacked with it.
_BYTES: Final = {"type": "binary", "doc_values": True}
_UNREAD: Final = {"type": "object", "enabled": False}
# Words are analysed before they come here, as in every store: languages differ, the index does not.
_WORDS: Final = {"type": "text", "analyzer": "whitespace"}
# What each entry of a version bears: whose it is, and who wrote it when, for what a killed writer leaves behind.
_OWNED: Final = {
    "tenant_id": _KEYWORD,
    "version_key": {"type": "integer"},
    "writer_id": _KEYWORD,
    "written_ms": _LONG,
}


@dataclass(frozen=True, slots=True)
class IndexNames:
    """The names of one store's indexes."""

    prefix: str

    @property
    def documents(self) -> str:
        """Records of documents."""
        return f"{self.prefix}-documents"

    @property
    def sections(self) -> str:
        """Sections of versions."""
        return f"{self.prefix}-sections"

    @property
    def state(self) -> str:
        """Where each tenant stands, and which writers there are."""
        return f"{self.prefix}-state"

    @property
    def passages(self) -> str:
        """The alias of the passages whose vectors are in use."""
        return f"{self.prefix}-passages"

    @property
    def generations(self) -> str:
        """The pattern of the indexes of all encoders."""
        return f"{self.passages}-*"

    def generation(self, number: int) -> str:
        """The index of one encoder's vectors."""
        return f"{self.passages}-{number:06d}"


DOCUMENTS_MAPPING: Final[dict[str, Any]] = {
    "dynamic": "strict",
    "properties": {
        "tenant_id": _KEYWORD,
        "document_id": _KEYWORD,
        # Unlike document_id, without repetition over all tenants.
        "document_key": _LONG,
        "change_sequence": _LONG,
        "record": _UNREAD,
    },
}
STATE_MAPPING: Final[dict[str, Any]] = {
    "dynamic": "strict",
    "properties": {
        "change_sequence": _LONG,
        "permission_version": _LONG,
        "kind": _KEYWORD,
        "writer_id": _KEYWORD,
        "until_ms": _LONG,
        "is_closed": {"type": "boolean"},
        "index": _KEYWORD,
    },
}
SECTIONS_MAPPING: Final[dict[str, Any]] = {
    "dynamic": "strict",
    "_source": {"excludes": ["words", "section"]},
    "properties": {
        **_OWNED,
        "section_key": _LONG,
        "section_id": _KEYWORD,
        # No keyword: those all count the same, and here the rare ones lead.
        "words": {**_WORDS, "norms": False, "index_options": "docs"},
        "labels": _KEYWORD,
        "section": _BYTES,
    },
}
PASSAGES_MAPPING: Final[dict[str, Any]] = {
    "dynamic": "strict",
    # What is read is read by column; entries keep no second copy of it.
    "_source": {"excludes": ["vector", "vector_bytes", "passage", "text", "title", "section", "exact"]},
    "properties": {
        **_OWNED,
        "passage_key": _LONG,
        "passage_id": _KEYWORD,
        "ordinal": {"type": "integer"},
        "label": _KEYWORD,
        "section_id": _KEYWORD,
        "text": _WORDS,
        "title": _WORDS,
        "section": _WORDS,
        "exact": _WORDS,
        "passage": _BYTES,
        "vector_bytes": _BYTES,
    },
}


def vector_mapping(contract: EncoderContract) -> dict[str, Any]:
    """What an index for the vectors of one encoder has beside PASSAGES_MAPPING."""
    return {
        "_meta": {"encoder": b64encode(contract.SerializeToString()).decode()},
        "properties": {
            "vector": {
                "type": "knn_vector",
                "dimension": contract.dimension_count,
                # Named, because the default engine needs a native library that not every server has.
                "method": {
                    "name": "hnsw",
                    "engine": "lucene",
                    "space_type": "cosinesimil",
                    "parameters": {"m": 16, "ef_construction": 128},
                },
            },
        },
    }


def record_id(tenant_id: str, document_id: str) -> str:
    """The id of a document's record; any text fits, and no two texts meet."""
    tenant = hashlib.sha256(tenant_id.encode()).hexdigest()
    return hashlib.sha256(f"{tenant}/{document_id}".encode()).hexdigest()


def tenant_key(tenant_id: str) -> str:
    """The id of a tenant's state."""
    return f"tenant-{hashlib.sha256(tenant_id.encode()).hexdigest()}"


def part_key(version_key: int, number: int) -> int:
    """The number of a passage or a section, from which its version can be told."""
    return version_key << _NUMBER_BITS | number


def version_of(key: int) -> int:
    """The version that a passage or a section belongs to."""
    return key >> _NUMBER_BITS
