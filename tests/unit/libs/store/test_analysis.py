from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.store.analysis import content_words, find_identifiers, stem_words, word_forms


def test_words_are_stemmed_by_their_language() -> None:
    assert stem_words("Regularizations regularized", "en") == ["regular", "regular"]
    assert stem_words("Häuser", "de") == stem_words("Haus", "de")
    assert stem_words("unknown languages", "xx") == ["unknown", "languages"]


@pytest.mark.parametrize("language", ["", "und"])
def test_words_of_an_undetermined_language_are_stemmed_as_every_question_is(language: str) -> None:
    assert stem_words("permits", language) == stem_words("permit", "en")
    assert set(stem_words("Les entreprises", language)) <= set(word_forms("Les entreprises", ("en", "fr")))


def test_scripts_without_spaces_are_cut_in_pairs() -> None:
    assert stem_words("使用模型 v2", "zh") == ["使用", "用模", "模型", "v2"]
    assert set(content_words("模型", ("en", "zh"))) <= set(stem_words("使用模型", "zh"))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("set --snapshot-count=5", ["snapshot-count"]),
        ("ETCD_UNSUPPORTED_ARCH is set", ["etcd_unsupported_arch"]),
        ("v3.5.1 of grpc.io", ["v3.5.1", "grpc.io"]),
        ("maxRetries and HTTP", ["maxretries", "http"]),
        ("plain words only.", []),
    ],
)
def test_identifiers_stay_whole(text: str, names: list[str]) -> None:
    found = find_identifiers(text)
    assert all(any(name in each for each in found) for name in names)
    assert bool(found) == bool(names)


def test_question_words_carry_no_meaning() -> None:
    assert content_words("What is the maximum size of a request?", ("en",)) == ["maximum", "size", "request"]
    assert content_words("What is it?", ("en",)) == ["what", "is", "it"]
    assert content_words("Wie groß ist die Anfrage?", ("en", "de")) == ["groß", "anfrage"]


def test_a_word_has_a_form_for_each_language() -> None:
    assert word_forms("running", ("en", "xx")) == ["run", "running"]


@given(st.text(max_size=200))
def test_any_text_is_analysed(text: str) -> None:
    for language in ("en", "de", "zh", "und"):
        assert all(" " not in stem for stem in stem_words(text, language))
    content_words(text, ("en", "fr"))
    find_identifiers(text)


def test_threads_may_share_it() -> None:
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: stem_words("several running words " * 50, "en"), range(200)))
    assert all(each == found[0] for each in found)
