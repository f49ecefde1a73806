"""Words reduced to stems."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from citemesh.text import stems
from citemesh.text.stems import stem


@pytest.fixture
def hasty_switches() -> Iterator[None]:
    """Threads take turns as often as the interpreter can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hasty_switches")
def test_threads_do_not_mix_up_their_words() -> None:
    words = [f"{start}{middle}{end}" for start in ("nation", "relat", "oper", "conform") for middle in ("al", "ion")
             for end in ("", "s", "ly", "ing", "ness", "ization", "ized", "ities")]  # fmt: skip
    stems._stem.cache_clear()
    alone = [stem(word) for word in words]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            stems._stem.cache_clear()
            together = [pool.submit(lambda: [stem(word) for word in words]) for _ in range(4)]
            # The last look reads the cache, where a wrong stem would stay.
            assert [each.result() for each in together] == [alone] * 4
            assert [stem(word) for word in words] == alone


@pytest.mark.parametrize(
    ("word", "language", "expected"),
    [
        ("policies", "en", "polici"),
        ("company's", "en", "compani"),
        ("urlaubstagen", "de", "urlaubstag"),
        ("v3", "en", "v3"),
        ("max-bytes", "en", "max-bytes"),
        ("urls", "xx", "urls"),
        ("", "en", ""),
    ],
)
def test_only_plain_words_of_a_known_language_are_stemmed(word: str, language: str, expected: str) -> None:
    assert stem(word, language) == expected
