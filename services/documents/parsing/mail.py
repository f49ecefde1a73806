"""Mail (EML) as blocks: who wrote to whom, when and about what, the body, and the names of what is attached."""

from __future__ import annotations

import email
import email.policy
from email.errors import MessageError
from email.message import Message
from pathlib import Path
from typing import Final

from services.documents.parsing.blocks import Block, BlockKind, Line, ParsedDocument
from services.documents.parsing.html import read_markup
from services.documents.parsing.html_text import squeeze
from services.documents.parsing.plain import MAX_TEXT_BYTES, decode, read_plain
from services.documents.parsing.refusal import ParseRefused, RefusalReason

_HEADERS: Final = ("From", "To", "Cc", "Date", "Subject")
_MAX_DEPTH: Final = 3
_MAX_PARTS: Final = 1_000
_MAX_BOUNDARIES: Final = 20_000  # a quarter of a millisecond each
_MAX_ATTACHMENTS: Final = 50  # named as facts of the document; its text names all
_MAX_HEADER_CHARS: Final = 2_000


def parse_mail(path: Path) -> ParsedDocument:
    """A message as blocks. Raises ParseRefused where it holds nothing to read."""
    data = path.read_bytes()
    if data.count(b"\n--") > _MAX_BOUNDARIES:
        raise ParseRefused(
            RefusalReason.TOO_LARGE, f"The message has more than {_MAX_BOUNDARIES:,} marks between parts."
        )
    message = email.message_from_bytes(data, policy=email.policy.default)
    document = ParsedDocument("mail", title=_header(message, "Subject")[:300])
    _read_message(message, document, 0)
    if not document.blocks:
        raise ParseRefused(RefusalReason.EMPTY, "The message holds no text.")
    return document


def _read_message(message: Message, document: ParsedDocument, depth: int) -> None:
    """Adds a message's headers, body and attachments; a message attached to it becomes a section of its own."""
    subject = _header(message, "Subject")
    if subject:
        document.blocks.append(Block(BlockKind.HEADING, [Line(subject)], level=depth + 1))
    heads = [Line(f"{name}: {text}") for name in _HEADERS if (text := _header(message, name))]
    if heads:
        document.blocks.append(Block(BlockKind.PARAGRAPH, heads))
    attached: list[str] = []
    inner: list[Message] = []
    body = _find_body(message)
    if body is not None:
        document.blocks.extend(_read_body(body))
    for part in _leaves(message):
        if part is body or _is_other_body(part):
            continue
        content = part.get_payload()
        if part.get_content_type() == "message/rfc822" and isinstance(content, list) and depth < _MAX_DEPTH:
            inner.extend(each for each in content if isinstance(each, Message))
        else:
            attached.append(_describe(part))
            if len(document.attachments) < _MAX_ATTACHMENTS:
                document.attachments.append(_name(part))
    if attached:
        lines = [Line(name) for name in attached]
        document.blocks.append(Block(BlockKind.PARAGRAPH, [Line("Attachments:")]))
        document.blocks.append(
            Block(BlockKind.LIST, lines, items=list(range(len(lines))), levels=[0] * len(lines), attached=True)
        )
        document.notes.append(f"attached to the message and not read: {', '.join(attached[:20])}")
    for each in inner:
        _read_message(each, document, depth + 1)


def _leaves(message: Message) -> list[Message]:
    """The parts that are no containers; an attached message is one part."""
    found: list[Message] = []
    waiting = [message]
    while waiting and len(found) < _MAX_PARTS:
        part = waiting.pop(0)
        content = part.get_payload()
        if part.get_content_maintype() == "multipart" and isinstance(content, list):
            waiting = [each for each in content if isinstance(each, Message)] + waiting
        elif part is not message or part.get_content_maintype() != "message":
            found.append(part)
    return found


def _find_body(message: Message) -> Message | None:
    """The text as its writer meant it to be read: plain, else HTML."""
    texts = [part for part in _leaves(message) if part.get_content_maintype() == "text" and not _is_file(part)]
    plain = [part for part in texts if part.get_content_subtype() == "plain" and part.get_payload(decode=True)]
    return next(iter(plain), next((part for part in texts if part.get_content_subtype() == "html"), None))


def _is_file(part: Message) -> bool:
    return part.get_content_disposition() == "attachment" or bool(part.get_filename())


def _is_other_body(part: Message) -> bool:
    """The same text in another form, and pictures shown inside it."""
    if part.get_content_maintype() == "text":
        return not _is_file(part)
    return bool(part.get("Content-ID")) and part.get_content_disposition() != "attachment"


def _read_body(part: Message) -> list[Block]:
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return []
    if len(data) > MAX_TEXT_BYTES:
        raise ParseRefused(
            RefusalReason.TOO_LARGE,
            f"The message holds more than the {MAX_TEXT_BYTES >> 20} MiB of text that are read.",
        )
    text = decode(data, part.get_content_charset() or "").replace("\r\n", "\n")
    if part.get_content_subtype() != "html":
        return read_plain(text)
    try:
        return read_markup(text, "mail").blocks
    except ParseRefused as refusal:
        if refusal.reason is not RefusalReason.EMPTY:
            raise
        return []


def _describe(part: Message) -> str:
    data = part.get_payload(decode=True)
    size = f", {(len(data) + 1023) // 1024} KiB" if isinstance(data, bytes) else ""
    return f"{_name(part)} ({part.get_content_type()}{size})"


def _name(part: Message) -> str:
    return squeeze(part.get_filename() or "without a name")[:200]


def _header(message: Message, name: str) -> str:
    """A header's text decoded; empty where there is none or where it cannot be read."""
    try:
        return squeeze(str(message.get(name) or ""))[:_MAX_HEADER_CHARS]
    except (MessageError, ValueError, IndexError, AttributeError, TypeError):
        # The standard library trips over misshapen addresses and dates in these ways.
        return ""
