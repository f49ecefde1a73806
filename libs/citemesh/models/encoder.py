"""The text encoder: questions and passages to vectors, and to one vector per token."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from citemesh.models.contract import CANARY_TEXTS, EncoderContract, read_contract
from citemesh.models.errors import ModelError
from citemesh.models.locate import locate_encoder
from citemesh.models.paths import MODEL_FILE_NAME
from citemesh.models.runtime import open_session
from citemesh.models.tokenizer import TOKENIZER_FILE_NAME, TextTokenizer, TokenizedText, pad
from citemesh.models.workers import run_each

Matrix = npt.NDArray[np.float32]
SMALLEST_LENGTH = 1e-12

_encoders: dict[Path, Encoder] = {}
_encoders_lock = threading.Lock()


class Encoder:
    """An encoder folder (model.onnx, tokenizer.json, encoder.json) in use. Safe to call from several threads.

    Calls block for about 0.1 ms per token and core: await them through `asyncio.to_thread`.
    """

    def __init__(self, folder: Path) -> None:
        self.contract: EncoderContract = read_contract(folder)
        self.tokenizer = TextTokenizer(folder / TOKENIZER_FILE_NAME, self.contract.max_token_count)
        self._session = open_session(folder / MODEL_FILE_NAME)
        self._input_names = {each.name for each in self._session.get_inputs()}
        self._output_name = self._find_output(folder)

    def encode_queries(self, texts: Sequence[str]) -> Matrix:
        """Vectors [texts, dimensions] of questions; of length 1 where the contract says normalised."""
        return self._encode(texts, self.contract.query_prefix)

    def encode_passages(self, texts: Sequence[str]) -> Matrix:
        """Vectors [texts, dimensions] of passages; texts beyond the contract's token count are cut."""
        return self._encode(texts, self.contract.passage_prefix)

    def encode_tokens(self, texts: Sequence[str]) -> list[Matrix]:
        """For each text its tokens' vectors [tokens, dimensions], of length 1, without the markers.

        The mean over one text's rows of the largest dot product with another's is their MaxSim.
        """
        return run_each(self.tokenizer.tokenize(texts), self.run_tokens)

    def run_tokens(self, text: TokenizedText) -> Matrix:
        """The same for one tokenised text, on the calling thread: for a service with a queue of its own."""
        return _make_unit(self._run(text)[1:-1])

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text without the markers, uncut."""
        return self.tokenizer.count_tokens(texts)

    def encode_canaries(self) -> Matrix:
        """Vectors of the canary texts, as passages: an index keeps them, a reader compares its own with them."""
        return self.encode_passages(CANARY_TEXTS)

    def _encode(self, texts: Sequence[str], prefix: str) -> Matrix:
        if not texts:
            return np.zeros((0, self.contract.dimension_count), dtype=np.float32)
        tokenized = self.tokenizer.tokenize([prefix + text for text in texts])
        return np.stack(run_each(tokenized, self._encode_one))

    def _encode_one(self, text: TokenizedText) -> Matrix:
        hidden = self._run(text)
        pooled = hidden[0] if self.contract.pooling == "cls" else hidden.mean(axis=0)
        return _make_unit(pooled) if self.contract.normalised else pooled

    def _run(self, text: TokenizedText) -> Matrix:
        """Hidden states [tokens, dimensions] of one text."""
        inputs = {name: values for name, values in pad([text]).items() if name in self._input_names}
        hidden: Matrix = self._session.run([self._output_name], inputs)[0][0]
        return hidden

    def _find_output(self, folder: Path) -> str:
        for output in self._session.get_outputs():
            if len(output.shape) == 3:
                return str(output.name)
        raise ModelError(f"{folder / MODEL_FILE_NAME} has no output [batch, sequence, dimensions]; it is no encoder")


def _make_unit(vectors: Matrix) -> Matrix:
    lengths = np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), SMALLEST_LENGTH)
    unit: Matrix = (vectors / lengths).astype(np.float32)
    return unit


def load_encoder(models_dir: Path, folder: Path | None = None) -> Encoder:
    """The default encoder of `models_dir`, a published one by its name, or that of `folder`; one object per process.

    Raises ModelError where files are missing or damaged.
    """
    chosen = locate_encoder(models_dir, folder).resolve()
    with _encoders_lock:
        if chosen not in _encoders:
            _encoders[chosen] = Encoder(chosen)
        return _encoders[chosen]
