"""Log lines: JSON, and without anybody's text."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from citemesh.telemetry.logs import configure_logging, describe_exception

SECRET_TEXT = "the salary of Ms Example is 12345"


@pytest.fixture
def lines() -> Iterator[Any]:
    stream = io.StringIO()
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    before = structlog.get_config()

    def configure(**options: Any) -> Any:
        configure_logging(stream=stream, **options)
        return lambda: [json.loads(line) for line in stream.getvalue().splitlines()]

    yield configure
    structlog.configure(**before)
    root.handlers[:] = handlers
    root.setLevel(level)


def test_lines_are_json_with_level_and_time(lines: Any) -> None:
    read = lines()
    structlog.get_logger().info("ready", services=("a", "b"))
    structlog.get_logger().debug("hidden")
    (line,) = read()
    assert (line["event"], line["level"], line["services"]) == ("ready", "info", ["a", "b"])
    assert line["timestamp"].endswith("+00:00")


def test_lines_of_a_call_carry_its_request_id(lines: Any) -> None:
    running = ["r-1", ""]
    read = lines(request_id=lambda: running.pop(0))
    structlog.get_logger().info("inside")
    structlog.get_logger().info("outside")
    inside, outside = read()
    assert inside["request_id"] == "r-1"
    assert "request_id" not in outside


def test_text_is_dropped_unless_asked_for(lines: Any) -> None:
    read = lines()
    structlog.get_logger().info("x", question=SECRET_TEXT, history=[SECRET_TEXT], claim_count=3)
    (line,) = read()
    assert SECRET_TEXT not in json.dumps(line)
    assert (line["question"], line["history"], line["claim_count"]) == ("<33 characters>", "<1 entries>", 3)
    read = lines(with_text=True)
    structlog.get_logger().info("x", question=SECRET_TEXT)
    assert read()[-1]["question"] == SECRET_TEXT


def test_exceptions_are_told_by_type_and_place(lines: Any) -> None:
    read = lines()
    try:
        try:
            raise KeyError(SECRET_TEXT)
        except KeyError as error:
            raise ValueError(SECRET_TEXT) from error
    except ValueError:
        structlog.get_logger().exception("failed")
        logging.getLogger("library").exception("library failed")
    ours, theirs = read()
    for line in (ours, theirs):
        assert SECRET_TEXT not in json.dumps(line)
        assert line["error_type"] == "ValueError"
        assert "test_logs.py" in line["error_at"][-1]
        assert line["error_causes"][0]["type"] == "KeyError"
    assert theirs["event"] == "library failed"


def test_libraries_are_heard_from_warnings_up(lines: Any) -> None:
    read = lines(level="debug")
    logging.getLogger("library").info("payload")
    logging.getLogger("library").warning("careful")
    assert [line["event"] for line in read()] == ["careful"]


def test_the_text_of_an_exception_only_on_request() -> None:
    error = ValueError(SECRET_TEXT)
    assert SECRET_TEXT not in repr(describe_exception(error))
    assert describe_exception(error, with_text=True)["error_text"] == SECRET_TEXT
