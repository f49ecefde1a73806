"""A server that speaks OpenAI's chat API and says what the test scripted."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(slots=True)
class Reply:
    """One answer of the server."""

    content: str | None = ""
    status: int = 200
    delay_s: float = 0.0
    finish_reason: str = "stop"
    refusal: str | None = None
    prompt_token_count: int = 100
    completion_token_count: int = 20


@dataclass(slots=True)
class Script:
    """Replies in order, the last one again and again; and the requests that came."""

    replies: list[Reply]
    requests: list[dict[str, Any]] = field(default_factory=list)
    base_url: str = ""

    def next_reply(self) -> Reply:
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@contextmanager
def serve(*replies: Reply | str) -> Iterator[Script]:
    """Run the server for a block."""
    script = Script([Reply(each) if isinstance(each, str) else each for each in replies])

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the library's name
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            script.requests.append(request)
            reply = script.next_reply()
            time.sleep(reply.delay_s)
            # The client stops waiting in some tests.
            with suppress(BrokenPipeError, ConnectionResetError):
                _send(self, request, reply)

        def log_message(self, format: str, *args: Any) -> None:  # the library's name
            """Keep the test's output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    script.base_url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _send(handler: BaseHTTPRequestHandler, request: dict[str, Any], reply: Reply) -> None:
    if reply.status != 200:
        body = json.dumps({"error": {"message": "secret text of the server"}}).encode()
        handler.send_response(reply.status)
    elif request.get("stream"):
        body = "".join(f"data: {json.dumps(each)}\n\n" for each in _chunks(reply)).encode() + b"data: [DONE]\n\n"
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
    else:
        body = json.dumps(_completion(reply)).encode()
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def _usage(reply: Reply) -> dict[str, int]:
    prompt, completion = reply.prompt_token_count, reply.completion_token_count
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _completion(reply: Reply) -> dict[str, Any]:
    message = {"role": "assistant", "content": reply.content, "refusal": reply.refusal}
    return {
        "id": "c", "object": "chat.completion", "created": 0, "model": "m", "usage": _usage(reply),
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish_reason}],
    }  # fmt: skip


def _chunks(reply: Reply) -> Iterator[dict[str, Any]]:
    content = reply.content or ""
    frame = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    for start in range(0, len(content), 7):
        delta = {"index": 0, "delta": {"content": content[start : start + 7]}, "finish_reason": None}
        yield {**frame, "choices": [delta]}
    yield {**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": reply.finish_reason}]}
    yield {**frame, "choices": [], "usage": _usage(reply)}
