"""The pair scorer: how well each passage answers a question, as one raw logit per pair.

The default is late interaction over the encoder's own weights; any ONNX cross-encoder with a tokenizer.json beside
it loads by its path and runs by the same code.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from citemesh.models.errors import ModelError
from citemesh.models.locate import locate_build
from citemesh.models.paths import MODEL_FILE_NAME, pair_scorer_dir
from citemesh.models.runtime import open_session
from citemesh.models.scorer_card import ScorerCard, read_scorer_card
from citemesh.models.tokenizer import TOKENIZER_FILE_NAME, PairTokenizer, TokenizedText, pad
from citemesh.models.workers import run_each

Logits = npt.NDArray[np.float32]

_scorers: dict[Path, PairScorer] = {}
_scorers_lock = threading.Lock()


class PairScorer:
    """An ONNX cross-encoder in use. Safe to call from several threads; each call runs on its caller's thread."""

    def __init__(self, model_path: Path) -> None:
        self.card: ScorerCard = read_scorer_card(model_path)
        self.tokenizer = PairTokenizer(find_tokenizer(model_path), self.card.max_token_count)
        self._session = open_session(model_path)
        self._input_names = {each.name for each in self._session.get_inputs()}
        self._output_name = _find_logits(self._session.get_outputs(), model_path)

    def tokenize(self, question: str, passages: Sequence[str]) -> list[TokenizedText]:
        """One pair for each passage, cut to the model's length."""
        return self.tokenizer.tokenize(question, passages)

    def score_batch(self, pairs: Sequence[TokenizedText]) -> Logits:
        """Logits [pairs], in one run of the graph on the calling thread."""
        inputs = {
            name: values for name, values in pad(pairs, self.tokenizer.pad_id).items() if name in self._input_names
        }
        logits: Logits = self._session.run([self._output_name], inputs)[0]
        return logits.reshape(len(pairs))

    def score(self, question: str, passages: Sequence[str]) -> Logits:
        """Logits [passages], over all cores; for tools and tests. A service keeps its own queue."""
        pairs = self.tokenize(question, passages)
        return np.array(run_each(pairs, lambda pair: self.score_batch([pair])[0]), dtype=np.float32)


def find_pair_scorer(models_dir: Path, path: Path | None = None) -> Path:
    """The ONNX file of the default pair scorer, or of the file or folder at `path`; raises ModelError if missing."""
    chosen = path or pair_scorer_dir(locate_build(models_dir))
    model_path = (chosen / MODEL_FILE_NAME if chosen.is_dir() else chosen).resolve()
    if not model_path.is_file():
        raise ModelError(f"pair scorer {model_path} is missing; check its path, or run `citemesh models pull`")
    return model_path


def find_tokenizer(model_path: Path) -> Path:
    """tokenizer.json beside the model or one folder up, where published models with an onnx/ folder keep it."""
    places = (model_path.parent / TOKENIZER_FILE_NAME, model_path.parent.parent / TOKENIZER_FILE_NAME)
    for place in places:
        if place.is_file():
            return place
    raise ModelError(f"pair scorer {model_path} has no {TOKENIZER_FILE_NAME} beside it or one folder up")


def _find_logits(outputs: Sequence[Any], model_path: Path) -> str:
    for output in outputs:
        if len(output.shape) == 2 and output.shape[1] == 1:
            return str(output.name)
    raise ModelError(f"pair scorer {model_path} has no output [batch, 1]; it does not rank pairs by one logit")


def load_pair_scorer(models_dir: Path, path: Path | None = None) -> PairScorer:
    """The default pair scorer of `models_dir`, or the ONNX file or folder at `path`; one per process and path.

    Raises ModelError where files are missing, damaged or not of a cross-encoder with one logit.
    """
    model_path = find_pair_scorer(models_dir, path)
    with _scorers_lock:
        if model_path not in _scorers:
            _scorers[model_path] = PairScorer(model_path)
        return _scorers[model_path]
