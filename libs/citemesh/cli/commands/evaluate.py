"""`citemesh eval`: question sets against a mesh."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from google.protobuf import json_format
from rich.table import Table

from citemesh.cli.commands.evaluate_retrieval import retrieval
from citemesh.cli.connection import connect
from citemesh.cli.exits import CommandError
from citemesh.cli.options import Common, JsonOption, StateDirOption, TargetOption, read_common
from citemesh.cli.output import Output
from citemesh.cli.running import run
from citemesh.cli.steps import show_steps
from citemesh.evaluation.judge import Judgement
from citemesh.evaluation.question_set import Question, read_question_set
from citemesh.evaluation.report import describe_rows, summarize, summarize_by
from citemesh.evaluation.run import ask_all, ingest_stores
from citemesh.v1 import dispatcher_pb2

app = typer.Typer(no_args_is_help=True, help="Measure answers and stages against question sets.")

app.command()(retrieval)

_RATES = {
    "right": "right",
    "outcome_right": "outcome right",
    "gold_cited": "gold cited",
    "gold_quoted": "gold quoted",
    "count_right": "count right",
}


@app.command()
def answers(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Question sets as JSON lines.", show_default=False)
    ],
    target: TargetOption = None,
    as_json: JsonOption = False,
    timeout_s: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", min=0.05, help="The longest that one answer may take.")
    ] = 30.0,
    state_dir: StateDirOption = None,
    rows: Annotated[
        Path | None, typer.Option("--rows", metavar="OUT", help="Write one JSON line a question to this file.")
    ] = None,
    responses: Annotated[
        Path | None, typer.Option("--responses", metavar="OUT", help="Write each AnswerResponse as a JSON line here.")
    ] = None,
) -> None:
    """Ask whole question sets: outcome, gold passages cited, required and forbidden strings, per set and type.

    The mesh must run with open auth: each set is asked by the users that it names, in a tenant of its own.
    """
    run(_measure(files, read_common(target, as_json, None, timeout_s, state_dir), rows, responses))


async def _measure(files: list[Path], common: Common, rows: Path | None, responses: Path | None) -> None:
    output = Output(common.as_json)
    try:
        questions = [question for file in files for question in read_question_set(file)]
    except (OSError, ValueError) as error:
        # ValueError: a QuestionSetError, or a file that is no JSON or no UTF-8.
        raise CommandError(f"The question sets cannot be read: {error}") from error
    answered: list[dict[str, Any]] = []

    def keep(question: Question, response: dispatcher_pb2.AnswerResponse) -> None:
        answered.append({"id": question.question_id, "response": json_format.MessageToDict(response)})

    async with connect(common, output) as connection:
        with show_steps(output) as show:
            problems = await ingest_stores(questions, connection.channel, show)
            judgements = await ask_all(
                questions,
                connection.channel,
                show,
                timeout_s=common.timeout_s,
                on_response=keep if responses is not None else None,
            )
    for store, texts in sorted(problems.items()):
        for text in texts:
            output.note(f"not ingested in {store}: {text}")
    if rows is not None:
        _write_lines(rows, describe_rows(judgements))
    if responses is not None:
        _write_lines(responses, answered)
    _report(output, judgements)


def _report(output: Output, judgements: list[Judgement]) -> None:
    per_set = summarize_by(judgements, lambda j: j.question.set_name)
    per_type = summarize_by(judgements, lambda j: j.question.kind)
    overall = summarize(judgements)
    output.json_line({"overall": overall, "sets": per_set, "types": per_type})
    output.result(_make_table("set", per_set | {"all": overall}), _make_table("type", per_type))


def _make_table(name: str, summaries: dict[str, dict[str, Any]]) -> Table:
    table = Table(name, "questions", *_RATES.values(), "leaks", "p50 s", "max s")
    for key, summary in summaries.items():
        rates = ["-" if summary[rate] is None else f"{summary[rate]:.2f}" for rate in _RATES]
        times = [f"{summary['duration_p50_s']:.2f}", f"{summary['duration_max_s']:.2f}"]
        table.add_row(key, str(summary["question_count"]), *rates, str(summary["leak_count"]), *times)
    return table


def _write_lines(path: Path, items: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items), encoding="utf-8")
