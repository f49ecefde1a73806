"""Other wordings of a question, closer to how documents speak. They add queries; the original always stays one."""

from __future__ import annotations

import re
from typing import Final

from citemesh.text.function_words import is_function_word
from services.query.lexicon import GENERIC_WORDS
from services.query.synonyms import ACRONYMS, SYNONYMS
from services.query.telling import find_telling_words
from services.query.words import split_sentences, split_words, upper_first

_SHELL: Final = re.compile(
    r"^\W*(?:(?:hi|hello|hey)[,!.]?\s+)?(?:(?:please|so|well|ok|okay|also|and|but)[, ]\s*)*"
    r"(?:(?:can|could|would|will) you (?:please )?(?:tell|show|give|explain(?: to)?|list|describe"
    r"|name)(?: to)?(?: me| us)?(?: about)?|(?:do|does|did) (?:you|anyone|anybody) know"
    r"|i(?:'d| would) like to know|i (?:want|need) to know|i(?:'m| am) (?:wondering|looking for"
    r"|trying to find(?: out)?)|i wonder|tell me|please tell me|let me know"
    r"|what can you tell me about|weißt du|kannst du mir sagen|pouvez-vous me dire|puedes decirme)[,:]?\s+",
    re.I,
)
_GREETING: Final = re.compile(
    r"^\W*(?:hi|hello|hey|good (?:morning|afternoon|evening)|thanks|thank you|hallo|guten (?:tag|morgen)|bonjour|hola)"
    r"\b[^,.!?\n]{0,15}[,.!]\s+",
    re.I,
)
_STATEMENTS: Final = tuple(
    (re.compile(pattern, re.I), template)
    for pattern, template in (
        (r"^what(?:'s| is| are|'re) (?:meant by )?(a|an) (.+)$", r"\2 is defined as; \2 means"),
        (r"^what (?:does|do|did) (.+?) mean\b.*$", r"\1 means; definition of \1"),
        (r"^who counts as (.+)$", r"\1 means; definition of \1"),
        (r"^what(?:'s| is| are| was| were|'re) (.+)$", r"\1 is"),
        (
            r"^(?:by )?when (?:is|are|was|were) (.+?) (due|published|released|founded|established|started|made"
            r"|held)(.*)$",
            r"\1 \2\3 on; \1 deadline date",
        ),
        (r"^(?:by )?when (?:do|does|did|must|should|can|will|may) (.+)$", r"\1 on, by, no later than"),
        (r"^where (?:is|are|was|were|do|does|did|can|should) (.+)$", r"\1 location, in, at"),
        (r"^who (?:is|are|was|were|can|may|must|should|has to) (.+)$", r"\1 by; responsible for \1"),
        (r"^why (?:is|are|was|were|do|does|did|can|should|would) (.+)$", r"\1 because; reason \1"),
        (
            r"^how long (?:do|does|did|must|should|can|may|will|is|are|was|were) (.+)$",
            r"\1 for a period of, within, days, months, years",
        ),
        (
            r"^how often (?:do|does|did|must|should|can|may|will|is|are|was|were) (.+)$",
            r"\1 every, once per, frequency, interval",
        ),
        (
            r"^how (many|much) (?!longer|percent|more|of)(.+?) (?:do|does|did|must|should|can|may|will|is|are|was"
            r"|were|has|have) (.+)$",
            r"number of \2 \3; amount of \2",
        ),
        (
            r"^how (large|big|high|full|deep|long) (?:can|may|must|should|is|are|do|does|was|were) (.+)$",
            r"\2 maximum, limit, size, at most",
        ),
        (r"^how (?:do|can|should|could|would|must) (?:i|we|you|one) (.+)$", r"to \1; steps to \1"),
        (
            r"^(?:may|can|could|am|are|is|must|should|do|does) (?:i|we|you|one) (?:allowed to |permitted to )?(.+)$",
            r"\1 is allowed, permitted; must not \1",
        ),
        (r"^(?:may|can|must|should) (an? \w+|the \w+|\w+) (.+)$", r"\1 may \2; \1 must not \2"),
        (
            r"^(?:which|what) (.+?) (?:do|does|did|must|should|can|may|will) (?:i|we|you|one|the|a|an|our) ?(.+)$",
            r"\1 \2",
        ),
        (r"^(?:which|what) (.+)$", r"\1"),
    )
)
_SYNONYM: Final = re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, SYNONYMS), key=len, reverse=True))})\b")
_NOMINALS: Final = {
    "approve": "approval",
    "authorise": "authorisation",
    "authorize": "authorization",
    "authenticate": "authentication",
    "encrypt": "encryption",
    "configure": "configuration",
    "install": "installation",
    "delete": "deletion",
    "remove": "removal",
    "reimburse": "reimbursement",
    "terminate": "termination",
    "cancel": "cancellation",
    "notify": "notification",
    "validate": "validation",
    "verify": "verification",
    "apply": "application",
    "register": "registration",
    "retain": "retention",
    "dispose": "disposal",
    "renew": "renewal",
    "expire": "expiration",
    "replicate": "replication",
    "compact": "compaction",
    "migrate": "migration",
    "restore": "restoration recovery",
    "pay": "payment",
    "refuse": "refusal denial",
    "deny": "denial",
    "resign": "resignation",
    "relocate": "relocation",
    "train": "training",
    "evaluate": "evaluation",
    "measure": "measurement",
    "perform": "performance",
    "require": "requirement",
    "exempt": "exemption",
    "exclude": "exclusion",
    "disclose": "disclosure",
}


def strip_shell(question: str) -> str:
    """The question without its courtesy: "Could you tell me when it opens?" -> "When it opens?"."""
    stripped = _SHELL.sub("", _GREETING.sub("", question, count=1), count=1)
    return upper_first(stripped) if len(stripped.split()) >= 2 else question


def write_rewrites(question: str, language: str) -> list[str]:
    """Other wordings of a standalone question, at most two: as a statement, and with synonyms.

    Bare keywords are none: the anchors of the plan are searched already, and twice they outweigh the question.
    """
    asked = strip_shell(split_sentences(question)[-1]).strip().rstrip("?!. ") if question.strip() else ""
    rewrites = [_state(asked), _widen(question)] if language in {"en", "und"} else []
    folded = {question.strip().rstrip("?!. ").casefold()}
    kept = []
    for rewrite in rewrites:
        key = rewrite.casefold()
        if rewrite and key not in folded:
            folded.add(key)
            kept.append(rewrite)
    return kept


def _state(asked: str) -> str:
    for pattern, template in _STATEMENTS:
        match = pattern.match(asked)
        if match is not None:
            stated = match.expand(template).strip()
            return stated if len(find_telling_words(stated, "en")) > 1 else ""
    return ""


def _widen(question: str) -> str:
    """The question's content words, each followed by what documents call the same."""
    added: list[str] = []
    words = [word for word in split_words(question) if not is_function_word(word.lower)]
    # A capital inside a sentence makes a name of a word, and names have no synonyms.
    lowered = " ".join("" if word.is_capitalised and word.start else word.lower for word in split_words(question))
    added += [SYNONYMS[match.group()] for match in _SYNONYM.finditer(lowered)]
    for word in words:
        expansion = ACRONYMS.get(word.text) or ACRONYMS.get(word.text.rstrip("s"))
        if expansion is not None:
            added.append(expansion)
        nominal = (
            _NOMINALS.get(word.lower)
            or _NOMINALS.get(word.lower.removesuffix("d"))
            or _NOMINALS.get(word.lower.removesuffix("ed"))
        )
        if nominal is not None:
            added.append(nominal)
    have = set(lowered.split())
    fresh = [word for phrase in dict.fromkeys(added) for word in phrase.split() if word.lower() not in have]
    if not fresh:
        return ""
    return " ".join([*(word.text for word in words if word.lower not in GENERIC_WORDS), *dict.fromkeys(fresh)])
