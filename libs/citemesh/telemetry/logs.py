"""Log lines: one JSON object each on stderr, without the text of questions, documents or exceptions."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal, TextIO

import structlog
from pydantic_settings import BaseSettings, SettingsConfigDict
from structlog.typing import EventDict, Processor, WrappedLogger

# Keys under which code might carry text that belongs to a caller. Their values are replaced by their length.
TEXT_KEYS = frozenset(
    {
        "question",
        "original_question",
        "main_query",
        "query",
        "text",
        "quote",
        "answer",
        "passage",
        "content",
        "prompt",
        "history",
    }
)


class LogSettings(BaseSettings):
    """Variables CITEMESH_LOG_*."""

    model_config = SettingsConfigDict(env_prefix="CITEMESH_LOG_", use_attribute_docstrings=True)

    level: Literal["debug", "info", "warning", "error"] = "info"
    """The least level that is written; every call writes one line at `info`."""

    text: bool = False
    """Whether texts of questions, documents and exceptions may be logged: for debugging on one's own data."""

    console: bool = False
    """Lines for a person at a terminal instead of JSON."""


def configure_logging(
    *,
    level: str = "info",
    with_text: bool = False,
    console: bool = False,
    stream: TextIO | None = None,
    request_id: Callable[[], str] = str,
) -> None:
    """Set up structlog and the standard library's logging for this process; called once, by what starts it.

    `with_text` lets questions, documents and exception texts into the log: for debugging on one's own data only.
    `request_id` gives the running call's id, empty outside a call; lines carry it.
    """
    threshold = logging.getLevelNamesMapping().get(level.upper(), logging.INFO)
    output = stream or sys.stderr
    renderer: Processor = structlog.dev.ConsoleRenderer(colors=output.isatty()) if console else _render_json
    shared: list[Processor] = [_Completion(request_id, with_text=with_text)]
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.WriteLoggerFactory(file=output),
        cache_logger_on_first_use=True,
    )
    # Libraries log through the standard library. Their lines pass the same processors, and only from warnings up:
    # below that they describe payloads.
    handler = logging.StreamHandler(output)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    logging.basicConfig(level=max(threshold, logging.WARNING), handlers=[handler], force=True)


def describe_exception(error: BaseException, *, with_text: bool = False) -> dict[str, object]:
    """An exception as log fields: its type, where it came from, its causes' types; its text only if asked for."""
    fields: dict[str, object] = {"error_type": _type_name(error), "error_at": _locations(error)}
    causes = _causes(error)
    if causes:
        fields["error_causes"] = [{"type": _type_name(cause), "at": _locations(cause)} for cause in causes]
    if with_text:
        fields["error_text"] = str(error)
    return fields


# Made once: json.dumps with a default of its own makes an encoder per line.
_ENCODER = json.JSONEncoder(default=str, ensure_ascii=False, check_circular=False)


def _render_json(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    return _ENCODER.encode(event)


def _type_name(error: BaseException) -> str:
    return f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins.")


def _locations(error: BaseException, limit: int = 8) -> list[str]:
    """The innermost `limit` frames as file:line function, the last one being where it was raised."""
    frames: list[str] = []
    traceback = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        frames.append(f"{'/'.join(code.co_filename.split('/')[-3:])}:{traceback.tb_lineno} {code.co_name}")
        traceback = traceback.tb_next
    return frames[-limit:]


def _causes(error: BaseException, limit: int = 4) -> list[BaseException]:
    causes: list[BaseException] = []
    seen = {id(error)}
    cause = error.__cause__ or error.__context__
    while cause is not None and id(cause) not in seen and len(causes) < limit:
        causes.append(cause)
        seen.add(id(cause))
        cause = cause.__cause__ or cause.__context__
    return causes


class _Completion:
    """Adds level, time and request id to a line, describes its exception, drops text.

    One processor instead of five, because every call writes a line.
    """

    def __init__(self, request_id: Callable[[], str], *, with_text: bool) -> None:
        self._request_id = request_id
        self._with_text = with_text

    def __call__(self, _logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        event["level"] = "error" if method == "exception" else method
        event["timestamp"] = datetime.now(UTC).isoformat()
        if "request_id" not in event and (request_id := self._request_id()):
            event["request_id"] = request_id
        if "exc_info" in event:
            _replace_exc_info(event, with_text=self._with_text)
        if not self._with_text and not TEXT_KEYS.isdisjoint(event):
            _drop_text(event)
        return event


def _replace_exc_info(event: EventDict, *, with_text: bool) -> None:
    exc_info = event.pop("exc_info")
    if exc_info is True:
        exc_info = sys.exc_info()
    error = exc_info[1] if isinstance(exc_info, tuple) else exc_info
    if isinstance(error, BaseException):
        event.update(describe_exception(error, with_text=with_text))


def _drop_text(event: EventDict) -> None:
    """The last line of defence: code should not log text in the first place."""
    for key in TEXT_KEYS & event.keys():
        value = event[key]
        if isinstance(value, str):
            event[key] = f"<{len(value)} characters>"
        elif isinstance(value, list | tuple | dict):
            event[key] = f"<{len(value)} entries>"
