"""The parser's own process: `python -m services.documents.parsing.child`.

One request as JSON on stdin, one reply as JSON on stdout, then it ends. Limits are set before the file is opened.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from services.documents.parsing import blocks, limits
from services.documents.parsing.refusal import ParseRefused, RefusalReason
from services.documents.parsing.request import ParseRequest, RenderRequest, Reply

_MAX_CHAR_COUNT = 20_000_000


def main() -> int:
    """Serves one request; the exit code is 0 whenever a reply was written."""
    request = json.loads(sys.stdin.buffer.read())
    # What native libraries print must not mix with the reply.
    reply_fd = os.dup(1)
    os.dup2(2, 1)
    limits.apply_limits(limits.Limits(**request["limits"]))
    limits.leave_network()
    try:
        reply = _serve(request)
    except ParseRefused as refusal:
        reply = {"reason": refusal.reason.value, "message": refusal.message}
    except MemoryError:
        reply = {"reason": RefusalReason.TOO_MUCH_MEMORY.value, "message": "Reading the file needs too much memory."}
    # Whatever it is: the service's log tells where. Not its text, which may be the file's.
    except Exception as error:  # noqa: BLE001  # the last frame of this process; see above
        reply = {"raised": _tell_place(error)}
    # Halves of characters, which some formats can write, are no text: nothing after this could store or send them.
    data = json.dumps(reply, ensure_ascii=False).encode("utf-8", "replace")
    with os.fdopen(reply_fd, "wb") as stream:
        stream.write(data)
    return 0


def _tell_place(error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"


def _serve(request: dict[str, Any]) -> Reply:
    if request["task"] == "render":
        from services.documents.parsing.render import render_page

        limits.forbid_side_effects()
        asked = request["request"]
        marks = tuple(tuple(mark) for mark in asked["marks"])
        picture = RenderRequest(**{**asked, "quotes": tuple(asked["quotes"]), "marks": marks})
        return render_page(picture)
    pages = {name: tuple(request["request"][name]) for name in ("layout_pages", "ocr_pages")}
    job = ParseRequest(**{**request["request"], **pages})
    parse = _choose_parser(job)
    limits.forbid_side_effects()
    document = parse(job)
    if sum(len(line.text) for block in document.blocks for line in block.lines) > _MAX_CHAR_COUNT:
        raise ParseRefused(RefusalReason.TOO_LARGE, f"The file holds more than {_MAX_CHAR_COUNT:,} characters of text.")
    return {"document": blocks.to_json(document)}


def _choose_parser(job: ParseRequest) -> Callable[[ParseRequest], blocks.ParsedDocument]:
    """Imports the one parser that the file needs, so that the others cost nothing."""
    from services.documents.parsing.formats import tell_format

    kind = tell_format(Path(job.path), job.file_name)
    if kind == "pdf":
        from services.documents.parsing.pdf import parse_pdf
        from services.documents.parsing.pdf_scans import begin_scans

        # Its libraries and models are loaded here, before loading is forbidden.
        scans = begin_scans(job.ocr_pages, job.ocr_s, job.ocr_thread_count)
        return lambda j: parse_pdf(Path(j.path), j.password, j.max_pages, frozenset(j.layout_pages), scans)
    from services.documents.parsing.choice import choose_parser

    return choose_parser(kind)


if __name__ == "__main__":
    sys.exit(main())
