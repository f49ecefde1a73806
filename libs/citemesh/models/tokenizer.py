"""Texts to token ids: for single texts and for pairs, with this project's own lengths and no fixed padding."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import Encoding, Tokenizer, processors

from citemesh.models.errors import ModelError

TOKENIZER_FILE_NAME = "tokenizer.json"
MAX_PASSAGE_TOKEN_COUNT = 256
"""Passages are cut here, markers included: the length that the default encoder was trained for."""
MAX_PAIR_QUESTION_TOKEN_COUNT = 64
"""A question longer than this is cut before it is paired with a passage, so that the passage keeps its room."""

IntMatrix = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TokenizedText:
    """One text or pair, unpadded."""

    input_ids: tuple[int, ...]
    token_type_ids: tuple[int, ...]

    @property
    def token_count(self) -> int:
        """Tokens including markers."""
        return len(self.input_ids)


def read_tokenizer(path: Path) -> Tokenizer:
    """Read a tokenizer.json and free it of the truncation and padding that its publisher fixed."""
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # noqa: BLE001  # the library raises bare Exception for a missing or malformed file
        raise ModelError(f"tokenizer file {path} is missing or malformed; run `citemesh models pull`") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def mark_segments(tokenizer: Tokenizer) -> None:
    """Let both texts of a pair carry their own start and end markers, as late interaction needs."""
    start, end = find_markers(tokenizer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] [CLS]:1 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", start), ("[SEP]", end)],
    )


def find_markers(tokenizer: Tokenizer) -> tuple[int, int]:
    """The ids of [CLS] and [SEP]."""
    start, end = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    if start is None or end is None:
        raise ModelError("the tokenizer has no [CLS] or no [SEP] token; it is not of a BERT")
    return start, end


class TextTokenizer:
    """Tokenises single texts, cut at `max_token_count` tokens. Safe to use from several threads."""

    def __init__(self, path: Path, max_token_count: int = MAX_PASSAGE_TOKEN_COUNT) -> None:
        self._tokenizer = read_tokenizer(path)
        self._whole = read_tokenizer(path)
        self._tokenizer.enable_truncation(max_token_count)

    def tokenize(self, texts: list[str]) -> list[TokenizedText]:
        """Ids with markers, cut to the limit, in the order of `texts`."""
        return [_keep(encoding) for encoding in self._tokenizer.encode_batch(texts)]

    def count_tokens(self, texts: list[str]) -> list[int]:
        """Tokens of each text without markers and without a cut: what a splitter or a budget reckons with."""
        return [len(encoding.ids) for encoding in self._whole.encode_batch(texts, add_special_tokens=False)]


class PairTokenizer:
    """Tokenises (question, passage) pairs, cutting only the passage. Safe to use from several threads."""

    def __init__(self, path: Path, max_token_count: int) -> None:
        self._pairs = read_tokenizer(path)
        self._pairs.enable_truncation(max_token_count, strategy="only_second")
        self._questions = read_tokenizer(path)

    def tokenize(self, question: str, passages: list[str]) -> list[TokenizedText]:
        """One pair for each passage, in their order."""
        cut = self._cut_question(question)
        return [_keep(encoding) for encoding in self._pairs.encode_batch([(cut, each) for each in passages])]

    def _cut_question(self, question: str) -> str:
        encoding = self._questions.encode(question, add_special_tokens=False)
        if len(encoding.ids) <= MAX_PAIR_QUESTION_TOKEN_COUNT:
            return question
        return question[: encoding.offsets[MAX_PAIR_QUESTION_TOKEN_COUNT - 1][1]]


def _keep(encoding: Encoding) -> TokenizedText:
    return TokenizedText(tuple(encoding.ids), tuple(encoding.type_ids))


def pad(texts: list[TokenizedText], pad_id: int = 0) -> dict[str, IntMatrix]:
    """The three inputs of a graph, each [batch, longest], padded on the right."""
    longest = max(each.token_count for each in texts)
    ids = np.full((len(texts), longest), pad_id, dtype=np.int64)
    mask = np.zeros_like(ids)
    types = np.zeros_like(ids)
    for row, each in enumerate(texts):
        ids[row, : each.token_count] = each.input_ids
        mask[row, : each.token_count] = 1
        types[row, : each.token_count] = each.token_type_ids
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
