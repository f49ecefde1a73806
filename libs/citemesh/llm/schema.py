"""The model's output as a JSON object, or what is wrong with it in words that the model can act on."""

from __future__ import annotations

import json
from typing import Any

MAX_OUTPUT_CHARACTERS = 200_000


class SchemaError(Exception):
    """The output cannot be used; the text says why and holds nothing of the output."""


def parse_object(text: str, finish_reason: str = "") -> dict[str, Any]:
    """The one JSON object in `text`; a code fence or words around it are passed over. Raises SchemaError."""
    if finish_reason in ("refusal", "content_filter"):
        raise SchemaError("it was refused.")
    if len(text) > MAX_OUTPUT_CHARACTERS:
        raise SchemaError(f"it is longer than {MAX_OUTPUT_CHARACTERS} characters.")
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        raise SchemaError("it holds no JSON object.")
    try:
        value = json.loads(text[start : end + 1])
    except (json.JSONDecodeError, RecursionError) as error:
        cut = " It was cut off: be shorter." if finish_reason == "length" else ""
        raise SchemaError(f"it is not valid JSON.{cut}") from error
    if not isinstance(value, dict):
        raise SchemaError("it is not a JSON object.")
    return value


def take(source: dict[str, Any], key: str, kind: type, *, default: Any = None) -> Any:
    """source[key] where it is of `kind`; `default` where it is absent and a default is given. Raises SchemaError."""
    if key not in source:
        if default is not None:
            return default
        raise SchemaError(f'the field "{key}" is missing.')
    value = source[key]
    # In Python True is an int; in JSON it is not.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise SchemaError(f'the field "{key}" is not of the type {kind.__name__}.')
    return value
