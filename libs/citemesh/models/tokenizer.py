"""Texts to token ids: for single texts and for pairs, with this project's own lengths and no fixed padding."""

from __future__ import annotations

from collections.abc import Sequence
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
    except Exception as error:  # the library raises bare Exception for a missing or malformed file
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


def find_pad_id(tokenizer: Tokenizer) -> int:
    """The id of the padding token: BERT's or RoBERTa's name for it, else 0."""
    for name in ("[PAD]", "<pad>"):
        found = tokenizer.token_to_id(name)
        if found is not None:
            return int(found)
    return 0


class TextTokenizer:
    """Tokenises single texts, cut at `max_token_count` tokens. Safe to use from several threads."""

    def __init__(self, path: Path, max_token_count: int = MAX_PASSAGE_TOKEN_COUNT) -> None:
        self._tokenizer = read_tokenizer(path)
        self._room = max_token_count - self._tokenizer.num_special_tokens_to_add(is_pair=False)

    def tokenize(self, texts: Sequence[str]) -> list[TokenizedText]:
        """Ids with markers, cut to the limit, in the order of `texts`."""
        encodings = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        for encoding in encodings:
            encoding.truncate(self._room)
        return [_keep(self._tokenizer.post_process(encoding)) for encoding in encodings]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text without markers and without a cut: what a splitter or a budget reckons with."""
        encodings = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [len(encoding.ids) for encoding in encodings]


class PairTokenizer:
    """Tokenises (question, passage) pairs, cut at `max_token_count` tokens. Safe to use from several threads."""

    def __init__(self, path: Path, max_token_count: int) -> None:
        self._tokenizer = read_tokenizer(path)
        self._room = max_token_count - self._tokenizer.num_special_tokens_to_add(is_pair=True)
        self.pad_id = find_pad_id(self._tokenizer)

    def tokenize(self, question: str, passages: Sequence[str]) -> list[TokenizedText]:
        """One pair for each passage, in their order; a passage gets all the room that the question leaves."""
        asked = self._tokenizer.encode(question, add_special_tokens=False)
        asked.truncate(MAX_PAIR_QUESTION_TOKEN_COUNT)
        room = self._room - len(asked.ids)
        encodings = self._tokenizer.encode_batch(list(passages), add_special_tokens=False)
        for encoding in encodings:
            encoding.truncate(room)
        return [_keep(self._tokenizer.post_process(asked, encoding)) for encoding in encodings]


def _keep(encoding: Encoding) -> TokenizedText:
    return TokenizedText(tuple(encoding.ids), tuple(encoding.type_ids))


def pad(texts: Sequence[TokenizedText], pad_id: int = 0, length: int = 0) -> dict[str, IntMatrix]:
    """The three inputs of a graph, each [batch, longest or `length` if that is more], padded on the right."""
    width = max(length, *(each.token_count for each in texts))
    ids = np.full((len(texts), width), pad_id, dtype=np.int64)
    mask = np.zeros_like(ids)
    types = np.zeros_like(ids)
    for row, each in enumerate(texts):
        ids[row, : each.token_count] = each.input_ids
        mask[row, : each.token_count] = 1
        types[row, : each.token_count] = each.token_type_ids
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
