"""Greetings, thanks, farewells and questions about the assistant, in several languages."""

from __future__ import annotations

import re
from typing import Final

from citemesh.text.function_words import ALL_FUNCTION_WORDS
from citemesh.text.scripts import is_unspaced
from citemesh.text.word_lists import word_set
from services.query.words import split_sentences, split_words

# Longest first where one begins another: what is matched is cut out, and the rest must say nothing.
_PHRASES: Final = (
    # English
    r"good (?:morning|afternoon|evening|day|night)",
    r"(?:hi|hello|hey|hiya|howdy|greetings|morning|evening)(?: there| all| everyone| everybody| team| again)*",
    r"how(?:'s| is| are) (?:it|things|everything|life|you|your day|your week)(?: all)?(?: going| doing| today| been)*",
    r"how (?:do you do|have you been)",
    r"what'?s (?:up|new)",
    r"(?:it'?s |it is )?(?:nice|great|good|pleased|a pleasure) to (?:meet|see|talk to) you(?: too)?",
    r"(?:many )?thanks(?: a (?:lot|million|bunch)| so much| very much| again| for (?:your|the|all (?:your|the)) "
    r"(?:quick |kind |great )?(?:help|answers?|support|assistance|time|reply|information|info|explanation))*",
    r"thank (?:you|u)(?: a (?:lot|million|bunch)| so much| very much| again| kindly| for (?:your|the|all (?:your|the)) "
    r"(?:quick |kind |great )?(?:help|answers?|support|assistance|time|reply|information|info|explanation)"
    r"| for (?:helping|explaining)(?: me| that| this| it)*)*",
    r"thx|ty|cheers|much appreciated|i (?:really )?appreciate (?:it|that|your help|the help)",
    r"ok(?:ay)?|got it|understood|great|perfect|awesome|excellent|cool|alles klar|verstanden|d'accord|vale|parfait",
    r"you'?re welcome|no problem|no worries|you too",
    r"good ?bye|bye(?: bye)?|see (?:you|ya)(?: later| soon| tomorrow)?|take care|so long",
    r"have a (?:nice|good|great|lovely) (?:day|evening|weekend|one|time)",
    r"(?:who|what) are you|what(?:'s| is) your name|what can you do(?: for me)?|how can you help(?: me)?"
    r"|are you (?:a |an )?(?:bot|robot|human|person|machine|ai|real|there)",
    # German
    r"guten (?:morgen|tag|abend)|gute nacht|hallo(?: zusammen)?|moin(?: moin)?|servus|grüezi|grüß (?:gott|dich)",
    r"(?:vielen|herzlichen|besten|tausend|schönen|lieben) dank(?: für [\w ]{2,30})?|danke(?: dir| ihnen| euch| schön"
    r"| sehr| vielmals"
    r"| für (?:die|deine|ihre|eure) (?:hilfe|antwort|auskunft|unterstützung))*|dankeschön",
    r"wie geht(?:'s| es)(?: dir| ihnen| euch| so)*|freut mich|(?:schön|nett),? (?:dich|sie) kennen ?zu ?lernen",
    r"tschüss|tschüs|auf wiedersehen|bis (?:bald|später|morgen)|(?:einen )?schönen (?:tag|abend)(?: noch)?",
    r"wer (?:bist du|sind sie)|was (?:kannst du|können sie)(?: alles)?|bist du ein (?:bot|mensch|roboter)",
    # French
    r"bonjour(?: à tous)?|bonsoir|salut|coucou|merci(?: beaucoup| bien| infiniment| à (?:toi|vous)"
    r"| pour [\w' ]{2,30})*",
    r"(?:comment )?(?:ça va|allez[- ]vous|vas[- ]tu)(?: bien)?|enchantée?(?: de [\w ]{2,30})?",
    r"au revoir|à (?:bientôt|demain|plus tard)|bonne (?:journée|soirée|nuit)|qui (?:es[- ]tu|êtes[- ]vous)",
    # Spanish
    r"hola(?: a todos)?|buen(?:os|as) (?:días|tardes|noches)|(?:muchas |mil )?gracias(?: por [\w ]{2,30})?",
    r"(?:cómo|como) est(?:ás|as|á|a)(?: usted)?|qué tal|mucho gusto|encantad[oa]|adiós|hasta (?:luego|pronto|mañana)"
    r"|quién eres",
    # Italian, Portuguese, Dutch, Polish, Turkish, Swedish
    r"ciao|buongiorno|buonasera|salve|grazie(?: mille| tante)?|come (?:stai|sta|va)|arrivederci|piacere",
    r"olá|oi|bom dia|boa (?:tarde|noite)|(?:muito )?obrigad[oa]|tudo bem|tchau|prazer",
    r"hoi|goede(?:morgen|middag|navond)|dank (?:je|u)(?: wel)?|bedankt|hoe gaat het|tot ziens",
    r"cześć|dzień dobry|dziękuję(?: bardzo)?|do widzenia|merhaba|günaydın|teşekkür(?:ler| ederim)|hej"
    r"|tack(?: så mycket)?",
    # Russian, Ukrainian, Arabic, Hindi
    r"привет|здравствуйте|добрый (?:день|вечер)|доброе утро|(?:большое )?спасибо(?: большое)?|как дела|до свидания|пока"
    r"|привіт|дякую|добрий день",
    r"مرحبا|السلام عليكم|شكرا(?: جزيلا)?|صباح الخير|नमस्ते|धन्यवाद",
)
_ANCHOR: Final = re.compile(rf"(?<!\w)(?:{'|'.join(_PHRASES)})(?!\w)", re.IGNORECASE)

_CJK_PHRASES: Final = re.compile(
    "很高兴(?:认识|见到)(?:你|您|大家)?|(?:你|您|大家)好吗?|早上好|早安|上午好|下午好|晚上好|晚安"
    "|(?:非常|多|十分)?(?:感谢|谢谢)(?:你|您)?(?:的帮助)?"
    "|多谢|再见|拜拜|辛苦了|不客气|你是谁|你叫什么(?:名字)?|你能做什么|最近怎么样"
    "|こんにちは|こんばんは|おはよう(?:ございます)?|(?:どうも)?ありがとう(?:ございま(?:す|した))?"
    "|さようなら|はじめまして|よろしくお願いします"
    "|お元気ですか|안녕(?:하세요|히 계세요)?|감사합니다|고마워요?|고맙습니다"
    "|만나서 반갑습니다|สวัสดี(?:ครับ|ค่ะ)?|ขอบคุณ(?:ครับ|ค่ะ)?"
)
_CJK_FILLERS: Final = re.compile(r"[\s\W啊呀吧呢哦了啦嗯的]+")

# What may stand beside an anchor without making it a question of substance.
_POLITE_WORDS: Final = word_set("""ok okay alright well yes yep no nope great perfect awesome cool nice good fine
    super excellent wonderful brilliant amazing lovely fantastic helpful helped help exactly what needed wanted
    looking works worked now day today friend mate bot assistant dear sir madam team folks guys all everyone got
    understood clear sorry oh ah wow haha lol job done that's all bye genau gebraucht gesucht wollte super klasse toll
    prima perfekt sehr hilfreich geholfen gut schön alles klar vielen dank hat habe war wars genug nett lieb
    exactement parfait super fallait cherchais aide aidé besoin utile bien génial c'était c'est d'accord voulais
    exactamente perfecto necesitaba buscaba útil genial ayuda ayudado muy bien vale esattamente perfetto cercavo utile
    ottimo bene exatamente perfeito precisava ótimo precies geweldig fijn""")


def is_small_talk(text: str) -> bool:
    """Whether `text` is only a greeting, thanks, a farewell or about the assistant: nothing in it to search for."""
    plain = text.strip().replace("’", "'")
    if not plain:
        return False
    if is_unspaced(plain):
        rest, count = _CJK_PHRASES.subn(" ", plain)
        return count > 0 and not _CJK_FILLERS.sub("", rest)
    rest, count = _ANCHOR.subn(" ", plain)
    return count > 0 and _says_nothing(rest)


def _says_nothing(rest: str) -> bool:
    words = [word.lower for word in split_words(rest)]
    if any(character.isdigit() for character in rest):
        return False
    if rest.rstrip().endswith("?") and words:
        return False
    return all(word in _POLITE_WORDS or word in ALL_FUNCTION_WORDS or _is_elided(word) for word in words)


def _is_elided(word: str) -> bool:
    head, apostrophe, tail = word.partition("'")
    return (
        bool(apostrophe) and head + "'" in ALL_FUNCTION_WORDS and (tail in _POLITE_WORDS or tail in ALL_FUNCTION_WORDS)
    )


def strip_small_talk(text: str) -> str:
    """`text` without the sentences of small talk at its start, where something is left: "Thanks! And for managers?"."""
    sentences = split_sentences(text)
    while len(sentences) > 1 and is_small_talk(sentences[0]):
        sentences = sentences[1:]
    return " ".join(sentences) if len(sentences) < len(split_sentences(text)) else text
