"""Model calls spread over the machine's cores: one thread each, longest text first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from citemesh.models.runtime import count_usable_cores
from citemesh.models.tokenizer import TokenizedText

Result = TypeVar("Result")


@cache
def _pool(core_count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(core_count, thread_name_prefix="citemesh-model")


def run_each(texts: Sequence[TokenizedText], run: Callable[[TokenizedText], Result]) -> list[Result]:
    """`run` applied to each text, in the order of `texts`.

    Texts go one at a time: int8 activations are scaled over a whole batch, so that a batch would let a text's vector
    depend on its neighbours, and on one thread a batch is no faster. A single text runs on the caller's thread, so
    a question never waits behind a document that is being encoded.
    """
    core_count = count_usable_cores()
    if len(texts) == 1 or core_count == 1:
        return [run(text) for text in texts]
    order = sorted(range(len(texts)), key=lambda index: -texts[index].token_count)
    results: dict[int, Result] = {}
    claim = threading.Lock()
    waiting = iter(order)

    def take() -> None:
        while True:
            with claim:
                index = next(waiting, None)
            if index is None:
                return
            results[index] = run(texts[index])

    # One claim loop per core, not one task per text: concurrent callers share the cores in turn.
    for running in [_pool(core_count).submit(take) for _ in range(min(core_count, len(texts)))]:
        running.result()
    return [results[index] for index in range(len(texts))]
