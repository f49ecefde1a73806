"""The shape of a direct answer: one table of patterns, read from the top."""

from __future__ import annotations

import re
from typing import Final

from citemesh.v1.question_pb2 import AnswerType, Intent

_MONEY_NOUN: Final = (
    r"(?:cost|costs|price|prices|fee|fees|salary|salaries|pay|pays|paid|bonus|budget|allowance|premium|fine"
    r"|fines|penalt(?:y|ies)|damages|charge|charges|amount of money|dollars|euros|rent|wage|refund|revenue"
    r"|reimburse\w*)"
)
_TABLE: Final = tuple(
    (answer_type, re.compile(pattern, re.I))
    for answer_type, pattern in (
        (
            AnswerType.ANSWER_TYPE_DURATION,
            r"\bhow (?:much )?(?:long|longer)\b(?! (?:is|was|are) the (?:list|document|paper|text))|\b(?:how many"
            r"|what number of) (?:seconds?|minutes?|hours?|days?|weeks?|months?|years?)\b"
            r"|\b(?:what|which) (?:is the )?(?:\w+ ){0,3}(?:interval|duration|timeout|time limit|notice period"
            r"|retention period|waiting time)\b|\bhow often\b"
            r"|\bwie lange\b|\bcombien de (?:temps|jours|heures|semaines|mois|années)\b|\bcuánto tiempo\b",
        ),
        (
            AnswerType.ANSWER_TYPE_DATE,
            r"^\W*(?:and |but |so )?when\b(?! [^,?]*, )|\b(?:what|which) (?:calendar )?(?:date|day|year|month)\b"
            r"|\bby what date\b|\bsince (?:when|which)\b"
            r"|\buntil (?:when|which)\b|\bby when\b|\bwhat time\b|\b(?:what|when) is the (?:\w+ ){0,2}deadline\b"
            r"|\bwann\b|\bquand\b|\bcuándo\b|\bquelle date\b",
        ),
        (
            AnswerType.ANSWER_TYPE_MONEY,
            rf"\bhow (?:much|high|large|big)\b.{{0,300}}\b{_MONEY_NOUN}\b|\bwhat (?:is|are|was|does|do"
            rf"|did)\b.{{0,300}}\b{_MONEY_NOUN}\b|\bhow much (?:money|do (?:i|we) (?:get|pay|earn)"
            r"|did .{0,100} want)\b"
            r"|\bwhat do (?:i|we) pay\b|\bhow expensive\b|\bwie teuer\b|\bwas kostet\b|\bcombien coûte\b"
            r"|\ben dollars\b|\bcuánto cuesta\b",
        ),
        (
            AnswerType.ANSWER_TYPE_NUMBER,
            r"\bhow (?:many|much|large|big|high|deep|full|far|fast|old|tall|wide|heavy|small|low)\b|\b(?:what"
            r"|which) (?:\w+ ){0,2}(?:number|count|percentage|share|ratio|rate|size|limit"
            r"|threshold|score|scores|value|speed|temperature|length|width|height|version|maximum|minimum"
            r"|code|port|p\d{2}|accuracy|volume|factor|line|page|quota)\b"
            r"|\bhow many percent\b|\bwhat size\b|\bwie (?:viele?|groß|hoch|weit)\b|\bcombien\b|\bcuánt[oa]s?\b"
            r"|\bquel(?:le)? (?:est le )?(?:nombre|taux|niveau|montant|taille)\b",
        ),
        (
            AnswerType.ANSWER_TYPE_PERSON,
            r"\b(?:who|whom|whose)\b(?! (?:counts|is considered|qualifies))|\bwhich (?:person|team|department|office"
            r"|body|agency|role|manager|company)\b|^\W*wer\b|^\W*qui\b|\bquel service\b|\bquién\b",
        ),
        (
            AnswerType.ANSWER_TYPE_PLACE,
            r"^\W*where\b|\b(?:at|in|under|to|into) (?:which|what) (?:\w+ )?(?:address|place|city|country|folder"
            r"|directory|path|channel|url|room|building|location|file|state)\b|\b(?:what"
            r"|which) (?:is the )?(?:address|url|path|location|folder|directory)\b|^\W*wo\b|^\W*où\b|\bdónde\b",
        ),
        (
            AnswerType.ANSWER_TYPE_DEFINITION,
            r"^\W*(?:what(?:'s| is| are) (?:a |an |meant by |the meaning of |the definition of )|define\b"
            r"|definition of)|\bwhat (?:do|does|did) .{1,60}\bmean\b|\bmeaning\b|\bwho counts as\b|\bwhat counts as\b"
            r"|^\W*was (?:ist|bedeutet|heißt)\b|\bqu'est-ce que?\b|\bque signifie\b|\bqué (?:es|significa)\b",
        ),
        (
            AnswerType.ANSWER_TYPE_REASON,
            r"\bwhy\b|\bfor what reason\b|\bwhat (?:is|was) the reason\b|\bhow come\b|\bwarum\b|\bwieso\b"
            r"|\bpourquoi\b|\bpor qué\b",
        ),
        (
            AnswerType.ANSWER_TYPE_PROCEDURE,
            r"\bhow (?:do|can|should|could|would) (?:i|we|you|one|somebody|someone|people|users?)\b|\bhow to\b"
            r"|\bwhat (?:do|should|must) (?:i|we|you) (?:do|type|set|run)\b|\bwhat steps\b|\bwhich steps\b|\bsteps to\b"
            r"|\bwie (?:kann|mache|muss) (?:ich|man|wir)\b|\bcomment (?:faire|puis-je|peut-on)\b|\bcómo (?:puedo"
            r"|hago|se)\b",
        ),
    )
)
_YES_NO: Final = re.compile(
    r"^\W*(?:and |but |so )?(?:is|are|was(?! (?:ist|sind|hat|macht|bedeutet|heißt|muss|kann|darf)\b)|were|am|does|do"
    r"|did|has|have|had|can|could|may|might|must|shall|should"
    r"|will|would|isn't|aren't|doesn't|don't|can't"
    r"|ist|sind|kann|darf|muss|hat|gibt es|est-ce que|peut-on|es|puede|hay)\b(?! you (?:tell|explain|list|give|show"
    r"|describe|name))",
    re.I,
)
_DEFINED_TERM: Final = re.compile(r"^\W*what(?:'s| is| are) [\"“']?(?:the )?([\w' -]{2,40}?)[\"”']?\W*$", re.I)


def find_answer_type(question: str, intent: Intent.ValueType) -> AnswerType.ValueType:
    """The answer type; `question` is one question, its references resolved (the first part of a compound one)."""
    if intent == Intent.INTENT_LISTING:
        return AnswerType.ANSWER_TYPE_LIST
    if _YES_NO.search(question):
        return AnswerType.ANSWER_TYPE_YES_NO
    for answer_type, pattern in _TABLE:
        if pattern.search(question):
            return answer_type
    term = _DEFINED_TERM.search(question)
    if term is not None and len(term.group(1).split()) <= 3:
        return AnswerType.ANSWER_TYPE_DEFINITION
    return AnswerType.ANSWER_TYPE_TEXT
