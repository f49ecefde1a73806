"""Requests about the conversation itself: translate, shorten, repeat or reshape what was just said."""

from __future__ import annotations

import re
from typing import Final

from citemesh.text.function_words import ALL_FUNCTION_WORDS
from citemesh.text.word_lists import word_set
from services.query.words import split_words

_VERB: Final = re.compile(
    r"\b(?:translate|shorten|summari[sz]e|sum up|repeat|rephrase|reword|paraphrase|simplify|reformat|rewrite"
    r"|condense|elaborate"
    r"|say (?:that|it|this)(?: once)? (?:again|differently|more)|explain (?:that|it|this)(?: to me)? (?:again|more"
    r"|better|simply|in)"
    r"|(?:make|put|give|say|write) (?:that|it|this|them|me that|me this)(?: in| as| into| a bit| a little| much"
    r"| more)* "
    r"(?:short|shorter|simple|simpler|longer|brief|table|list|bullet|bullets|one|plain|english|german|french|spanish)"
    r"|(?:shorter|simpler|briefer|longer|more briefly|again|in other words|once more|come again|pardon)"
    r"|in (?:one|two|three|a few) (?:sentence|sentences|words)|as (?:a )?(?:list|table|bullet points?)|tl;?dr"
    r"|übersetz\w*|kürzer|kürze|fass\w*|wiederhol\w*|einfacher|nochmal|noch einmal"
    r"|tradui\w+|raccourci\w*|résume\w*|répète\w*|répétez|plus court|plus simple|reformule\w*"
    r"|traduce\w*|traducir\w*|acorta\w*|resume\w*|repite\w*|más corto|más simple"
    r"|traduci\w*|riassum\w*|ripeti\w*)(?!\w)",
    re.IGNORECASE,
)
_CJK_VERB: Final = re.compile("翻译|翻譯|缩短|简短|总结一下|重复|再说一遍|訳して|要約して|もう一度")

_ABOUT_A_TURN: Final = word_set("""answer answers reply response message text above previous last turn said wrote
    words word sentence sentences paragraph bullet bullets point points list table short shorter simple simpler brief
    briefly longer plain language terms version english german french spanish italian portuguese dutch chinese
    japanese korean russian arabic polish turkish hindi bit little lot once more again way manner detail details
    clearly slowly different differently time say tell give make put write explain want like liked get summary tldr tl
    dr sum up other antwort letzte letzten satz englisch englische deutsch deutsche französisch ins kurz kürzer
    stichpunkten zusammen einmal réponse dernière anglais allemand français espagnol phrase phrases respuesta última
    inglés alemán francés español frase inglese risposta italiano""")


def is_transform_request(text: str) -> bool:
    """Whether `text` asks for something to be done with an earlier turn and names no topic of its own."""
    if len(text) < 40 and _CJK_VERB.search(text):
        return True
    if not _VERB.search(text):
        return False
    rest = _VERB.sub(" ", text)
    return all(
        word.lower in _ABOUT_A_TURN
        or word.lower in ALL_FUNCTION_WORDS
        or word.lower in {"please", "bitte", "svp", "favor"}
        for word in split_words(rest)
    )
