"""`citemesh check`: claims with their evidence, a verdict each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from google.protobuf import json_format

from citemesh.cli.connection import connect
from citemesh.cli.exits import CommandError, Exit
from citemesh.cli.narration.answer import describe_verdict
from citemesh.cli.options import (
    DEFAULT_TIMEOUT_S,
    AsOption,
    Common,
    JsonOption,
    StateDirOption,
    TargetOption,
    TimeoutOption,
    read_common,
)
from citemesh.cli.output import Output
from citemesh.cli.running import run
from citemesh.cli.text_input import read_text_input
from citemesh.rpc.calls import call
from citemesh.v1 import answer_pb2, evidence_pb2, question_pb2, retrieval_pb2, validation_pb2, validation_pb2_grpc


def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="JSON lines; - reads them from stdin.")],
    target: TargetOption = None,
    as_json: JsonOption = False,
    as_user: AsOption = None,
    timeout: TimeoutOption = DEFAULT_TIMEOUT_S,
    state_dir: StateDirOption = None,
) -> None:
    """Judge claims by their evidence. Exit code 0: every claim is supported, 3: some are not.

    Each line is {"claim": ..., "evidence": text or list of texts} with "id", "title" and "question" if you like,
    or a whole ValidateRequest. With --json: a ValidateResponse a line.
    """
    common = read_common(target, as_json, as_user, timeout, state_dir)
    run(_check(common, list(_read_requests(file))))


def _read_requests(file: str) -> Iterator[tuple[str, validation_pb2.ValidateRequest]]:
    for number, line in enumerate(read_text_input(file).splitlines(), start=1):
        if line.strip():
            yield read_request(line, number)


def read_request(line: str, number: int) -> tuple[str, validation_pb2.ValidateRequest]:
    """A line's name and what to validate for it. Raises CommandError that names the line."""
    try:
        row = json.loads(line)
        if not isinstance(row, dict):
            raise ValueError("it is not an object")
        if "claim" not in row:
            return f"line {number}", json_format.ParseDict(row, validation_pb2.ValidateRequest())
        return str(row.get("id", f"line {number}")), _make_request(row)
    except (ValueError, KeyError, TypeError, json_format.ParseError) as error:
        raise CommandError(f'line {number}: {error}; write {{"claim": "...", "evidence": "..."}}') from None


def _make_request(row: dict[str, Any]) -> validation_pb2.ValidateRequest:
    """One claim that cites its evidence whole."""
    given = row["evidence"]
    text = given if isinstance(given, str) else " ".join(given)
    content_hash = hashlib.sha256(text.encode()).hexdigest()
    unit = evidence_pb2.Evidence(
        evidence_id="E1",
        passage_id="check",
        document_id="check",
        document_version=1,
        title=row.get("title", ""),
        text=text,
        content_hash=content_hash,
        kind=evidence_pb2.PASSAGE_KIND_TEXT,
    )
    citation = evidence_pb2.Citation(
        evidence_id="E1",
        quote=text,
        start_offset=0,
        end_offset=len(text),
        content_hash=content_hash,
        document_id="check",
        document_version=1,
    )
    claim = answer_pb2.Claim(claim_id="C1", text=row["claim"], citations=[citation])
    question = row.get("question", row["claim"])
    return validation_pb2.ValidateRequest(
        parsed_question=question_pb2.ParsedQuestion(original_question=question, standalone_question=question),
        answer=answer_pb2.AnswerWithEvidence(text=row["claim"], claims=[claim], complete_answer_found=True),
        evidence=[unit],
        checks=[
            retrieval_pb2.PassageCheck(
                passage_id="check", status=retrieval_pb2.PASSAGE_STATUS_CURRENT, content_hash=content_hash
            )
        ],
    )


async def _check(common: Common, requests: list[tuple[str, validation_pb2.ValidateRequest]]) -> Exit:
    output = Output(common.as_json)
    unsupported = 0
    async with connect(common, output) as connection:
        stub = validation_pb2_grpc.ValidationServiceStub(connection.channel)
        for name, request in requests:
            response = await call(stub.Validate, request, timeout=connection.timeout_s, service="validation")
            output.json_line(response)
            for verdict in response.verdicts:
                unsupported += verdict.verdict != answer_pb2.VERDICT_SUPPORTED
                output.result(describe_verdict(verdict, name))
    return Exit.ABSTAINED if unsupported else Exit.ANSWERED
