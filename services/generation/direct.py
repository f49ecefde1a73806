"""Replies that need no documents: small talk, what the assistant is, and wishes about earlier turns."""

from __future__ import annotations

import re

from citemesh.v1 import answer_pb2, question_pb2

_GREETING, _THANKS, _FAREWELL, _ABOUT, _TRANSFORM, _NO_TURN = (
    "greeting", "thanks", "farewell", "about", "transform", "no_turn",
)  # fmt: skip

_REPLIES: dict[str, dict[str, str]] = {
    "en": {
        _GREETING: "Hello! Ask me something about your documents; I answer with citations.",
        _THANKS: "You're welcome. Ask away if there is anything else.",
        _FAREWELL: "Goodbye!",
        _ABOUT: "I answer questions over your organisation's documents, and quote the passages that carry each answer. "
        "Where the documents don't confirm an answer, I say so.",
        _TRANSFORM: "I quote documents word for word and cannot reword or translate an earlier answer here. "
        "This was the answer:",
        _NO_TURN: "There is no earlier answer in this conversation.",
    },
    "de": {
        _GREETING: "Hallo! Fragen Sie mich etwas zu Ihren Dokumenten; ich antworte mit Belegen.",
        _THANKS: "Gern geschehen. Fragen Sie einfach weiter.",
        _FAREWELL: "Auf Wiedersehen!",
        _ABOUT: "Ich beantworte Fragen zu den Dokumenten Ihrer Organisation und zitiere die Stellen, die jede Antwort "
        "tragen. Wo die Dokumente keine Antwort bestätigen, sage ich das.",
        _TRANSFORM: "Ich zitiere Dokumente wörtlich und kann eine frühere Antwort hier nicht umformulieren oder "
        "übersetzen. Die Antwort lautete:",
        _NO_TURN: "In diesem Gespräch gibt es noch keine Antwort.",
    },
    "fr": {
        _GREETING: "Bonjour ! Posez-moi une question sur vos documents ; je réponds avec des citations.",
        _THANKS: "Avec plaisir. N'hésitez pas à poser d'autres questions.",
        _FAREWELL: "Au revoir !",
        _ABOUT: "Je réponds aux questions sur les documents de votre organisation et je cite les passages qui portent "
        "chaque réponse. Si les documents ne confirment pas de réponse, je le dis.",
        _TRANSFORM: "Je cite les documents mot pour mot et ne peux pas reformuler ou traduire ici une réponse "
        "précédente. La réponse était :",
        _NO_TURN: "Il n'y a pas encore de réponse dans cette conversation.",
    },
    "es": {
        _GREETING: "¡Hola! Pregúnteme algo sobre sus documentos; respondo con citas.",
        _THANKS: "De nada. Pregunte cuando quiera.",
        _FAREWELL: "¡Adiós!",
        _ABOUT: "Respondo preguntas sobre los documentos de su organización y cito los pasajes que sostienen cada "
        "respuesta. Si los documentos no confirman una respuesta, lo digo.",
        _TRANSFORM: "Cito los documentos palabra por palabra y aquí no puedo reformular ni traducir una respuesta "
        "anterior. La respuesta fue:",
        _NO_TURN: "Todavía no hay ninguna respuesta en esta conversación.",
    },
    "it": {
        _GREETING: "Ciao! Mi chieda qualcosa sui suoi documenti; rispondo con citazioni.",
        _THANKS: "Prego. Chieda pure altro.",
        _FAREWELL: "Arrivederci!",
        _ABOUT: "Rispondo a domande sui documenti della sua organizzazione e cito i passaggi che sostengono ogni "
        "risposta. Se i documenti non confermano una risposta, lo dico.",
        _TRANSFORM: "Cito i documenti parola per parola e qui non posso riformulare o tradurre una risposta "
        "precedente. La risposta era:",
        _NO_TURN: "In questa conversazione non c'è ancora una risposta.",
    },
    "pt": {
        _GREETING: "Olá! Pergunte-me algo sobre os seus documentos; respondo com citações.",
        _THANKS: "De nada. Pergunte sempre que quiser.",
        _FAREWELL: "Até logo!",
        _ABOUT: "Respondo a perguntas sobre os documentos da sua organização e cito os trechos que sustentam cada "
        "resposta. Se os documentos não confirmam uma resposta, digo-o.",
        _TRANSFORM: "Cito os documentos palavra por palavra e não posso reformular ou traduzir aqui uma resposta "
        "anterior. A resposta foi:",
        _NO_TURN: "Ainda não há nenhuma resposta nesta conversa.",
    },
    "zh": {
        _GREETING: "您好！请就您的文档提问，我会附上引文作答。",
        _THANKS: "不客气，欢迎继续提问。",
        _FAREWELL: "再见！",
        _ABOUT: "我根据贵组织的文档回答问题，并引用支持每个答案的原文；文档无法证实时，我会如实说明。",
        _TRANSFORM: "我逐字引用文档，无法在此改写或翻译之前的回答。之前的回答是：",
        _NO_TURN: "本次对话中还没有回答。",
    },
    "ja": {
        _GREETING: "こんにちは。文書についてご質問ください。引用を添えてお答えします。",
        _THANKS: "どういたしまして。ほかにもご質問があればどうぞ。",
        _FAREWELL: "さようなら。",
        _ABOUT: "組織の文書に関する質問にお答えし、"
        "根拠となる箇所を引用します。文書で確認できない場合は、その旨をお伝えします。",
        _TRANSFORM: "文書を原文のまま引用するため、"
        "以前の回答の言い換えや翻訳はできません。以前の回答は次のとおりです：",
        _NO_TURN: "この会話にはまだ回答がありません。",
    },
}

_THANK_WORDS = re.compile(
    r"\b(?:thanks?|thank you|thx|cheers|great|perfect|danke\w*|vielen dank|merci|gracias|grazie|obrigad[oa])\b"
    r"|谢|感谢|ありがとう",
    re.IGNORECASE,
)
_FAREWELL_WORDS = re.compile(
    r"\b(?:bye|goodbye|see you|farewell|good night|tschüss|auf wiedersehen|ciao ciao"
    r"|au revoir|adi[óo]s|hasta luego|arrivederci|até logo)\b"
    r"|再见|さようなら",
    re.IGNORECASE,
)
_ABOUT_WORDS = re.compile(
    r"\b(?:who|what|how) (?:are|do|can|is) (?:you|this)\b|\bwhat can i ask\b"
    r"|\bare you (?:a|an|human|real)\b|\byour name\b"
    r"|\bwer bist du\b|\bwer sind sie\b|\bwas kannst du\b|\bwas können sie\b"
    r"|\bqui (?:es|êtes)[- ](?:tu|vous)\b|\bque (?:peux|pouvez)\b"
    r"|\bqui[ée]n eres\b|\bqu[ée] puedes\b|\bchi sei\b|\bquem é você\b|你是谁|你能|あなたは",
    re.IGNORECASE,
)
# "How are you?" greets; "what are you?" asks what this is.
_GREETS_ANYWAY = re.compile(
    r"\bhow (?:are|do) you(?: do(?:ing)?)?\b|\bhow is (?:it|this) going\b|\bwie geht\b", re.IGNORECASE
)


def answer_directly(
    question: question_pb2.ParsedQuestion, history: list[question_pb2.Turn]
) -> answer_pb2.AnswerWithEvidence:
    """A short reply without claims, in the asker's language where it is one of ours, else in English."""
    language = question.language if question.language in _REPLIES else "en"
    replies = _REPLIES[language]
    if question.need == question_pb2.RETRIEVAL_NEED_TRANSFORM_TURN:
        text = _repeat_last(replies, history)
    else:
        text = replies[_read_kind(question.original_question)]
    return answer_pb2.AnswerWithEvidence(
        text=text, complete_answer_found=True, confidence=1.0, context_structured=True, language=language
    )


def _read_kind(text: str) -> str:
    if _ABOUT_WORDS.search(text) and not _GREETS_ANYWAY.search(text):
        return _ABOUT
    if _THANK_WORDS.search(text):
        return _THANKS
    return _FAREWELL if _FAREWELL_WORDS.search(text) else _GREETING


def _repeat_last(replies: dict[str, str], history: list[question_pb2.Turn]) -> str:
    earlier = [turn.text for turn in history if turn.role == question_pb2.ROLE_ASSISTANT and turn.text.strip()]
    return f"{replies[_TRANSFORM]}\n\n{earlier[-1].strip()}" if earlier else replies[_NO_TURN]
