"""Words that say nothing of a subject by themselves, by language: function words, and what questions are made with."""

from __future__ import annotations

from typing import Final

from citemesh.text.function_words import FUNCTION_WORDS
from citemesh.text.word_lists import word_set

_OF_QUESTIONS: Final = {
    "en": word_set("""according big come comes further get gets give given go goes got happen happened happens high
        large let long made make makes mean means often old s said say says t take takes tell use used using want"""),
    "de": word_set("also damit euch ja nun weil"),
    "fr": word_set("a-t-il donc eux faire moi qu toi à"),
    "es": word_set("algo uno"),
}

STOP_WORDS: Final[dict[str, frozenset[str]]] = {
    language: FUNCTION_WORDS[language] | words for language, words in _OF_QUESTIONS.items()
}
ALL_STOP_WORDS: Final = frozenset[str]().union(*STOP_WORDS.values())
