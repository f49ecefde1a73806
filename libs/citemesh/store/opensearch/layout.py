"""The indexes: their names, their mappings, and the number that names a passage.

`PREFIX-documents` holds one record for each document, `PREFIX-state` one for each tenant, and `PREFIX-passages` is an
alias of the index whose vectors are in use: each encoder has its own, which carries the encoder's contract.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from dataclasses import dataclass
from typing import Any, Final

from citemesh.v1.retrieval_pb2 import EncoderContract

_NUMBER_BITS: Final = 20
MAX_PASSAGES: Final = 1 << _NUMBER_BITS
"""Of one version."""

_KEYWORD: Final = {"type": "keyword"}
_UNREAD: Final = {"type": "object", "enabled": False}
# Words are analysed before they come here, as in every store: languages differ, the index does not.
_WORDS: Final = {"type": "text", "analyzer": "whitespace"}


@dataclass(frozen=True, slots=True)
class IndexNames:
    """The names of one store's indexes."""

    prefix: str

    @property
    def documents(self) -> str:
        """Records of documents."""
        return f"{self.prefix}-documents"

    @property
    def state(self) -> str:
        """Where each tenant stands."""
        return f"{self.prefix}-state"

    @property
    def passages(self) -> str:
        """The alias of the passages whose vectors are in use."""
        return f"{self.prefix}-passages"

    def generation(self, number: int) -> str:
        """The index of one encoder's vectors."""
        return f"{self.passages}-{number:06d}"


DOCUMENTS_MAPPING: Final[dict[str, Any]] = {
    "dynamic": "strict",
    "properties": {
        "tenant_id": _KEYWORD,
        "document_id": _KEYWORD,
        "change_sequence": {"type": "long"},
        "record": _UNREAD,
    },
}
STATE_MAPPING: Final[dict[str, Any]] = {
    "dynamic": "strict",
    "properties": {"change_sequence": {"type": "long"}, "permission_version": {"type": "long"}},
}


def passages_mapping(contract: EncoderContract) -> dict[str, Any]:
    """The mapping of an index for the vectors of one encoder."""
    return {
        "dynamic": "strict",
        "_meta": {"encoder": b64encode(contract.SerializeToString()).decode()},
        # What is read back whole is kept apart: vectors would double every answer.
        "_source": {"excludes": ["vector", "text", "title", "section", "exact"]},
        "properties": {
            "tenant_id": _KEYWORD,
            "passage_key": {"type": "long"},
            "version_key": {"type": "integer"},
            "passage_id": _KEYWORD,
            "ordinal": {"type": "integer"},
            "label": _KEYWORD,
            "section_id": _KEYWORD,
            "text": _WORDS,
            "title": _WORDS,
            "section": _WORDS,
            "exact": _WORDS,
            "passage": {"type": "binary"},
            "vector_bytes": {"type": "binary"},
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


def passage_key(version_key: int, number: int) -> int:
    """The number of a passage, from which its version can be told."""
    return version_key << _NUMBER_BITS | number


def version_of(key: int) -> int:
    """The version that a passage belongs to."""
    return key >> _NUMBER_BITS
