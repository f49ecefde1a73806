"""The answer with numbered citations, its verdicts, and what to say where there is none."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from citemesh.cli.narration.words import describe_date, describe_place, heading, name_value
from citemesh.cli.output import make_printable
from citemesh.v1 import answer_pb2, dispatcher_pb2, evidence_pb2

_OUTCOME = answer_pb2.AnswerOutcome
_GOOD_OUTCOMES = (answer_pb2.ANSWER_OUTCOME_ANSWERED, answer_pb2.ANSWER_OUTCOME_ANSWERED_WITH_CORRECTIONS)
_MAX_QUOTE_CHARACTERS = 240


def list_citations(answer: answer_pb2.AnswerWithEvidence) -> list[evidence_pb2.Citation]:
    """The citations of an answer in the order of its claims; the n-th is the one that the text marks as [n]."""
    return [citation for claim in answer.claims for citation in claim.citations]


def narrate_answer(response: dispatcher_pb2.AnswerResponse) -> Iterator[RenderableType]:
    """The answer as people read it: text, sources, caveats; or the message where there is no answer."""
    answer = response.answer
    if answer.text:
        yield Text(make_printable(answer.text))
    if response.message and response.message != answer.text:
        yield Text(make_printable(response.message))
    yield from _narrate_sources(response)
    for conflict in answer.conflicts:
        yield Text(f"Sources disagree: {make_printable(conflict.description)}", style="yellow")
    for caveat in answer.caveats:
        yield Text(f"Note: {make_printable(caveat)}", style="yellow")


def _narrate_sources(response: dispatcher_pb2.AnswerResponse) -> Iterator[RenderableType]:
    evidence = {unit.evidence_id: unit for unit in response.evidence}
    citations = list_citations(response.answer)
    if citations:
        yield Text("")
    for number, citation in enumerate(citations, start=1):
        yield _describe_citation(number, citation, evidence.get(citation.evidence_id))
    if response.outcome == answer_pb2.ANSWER_OUTCOME_SOURCES_ONLY:
        for unit in response.evidence:
            place = describe_place(unit.title or unit.document_id, unit.section_path, unit.page_first)
            yield Text(f"{unit.evidence_id}  {place}", style="dim")
            yield Padding(Text(shorten(unit.text)), (0, 0, 0, 4))


def _describe_citation(number: int, citation: evidence_pb2.Citation, unit: evidence_pb2.Evidence | None) -> Text:
    place = describe_place(citation.title or citation.document_id, citation.section_path, citation.page_number)
    title, _, rest = place.partition(", ")
    line = Text(f"[{number}] ", style="bold")
    line.append(f"{title}, version {citation.document_version}{', ' + rest if rest else ''}", style="default not bold")
    if unit is not None and unit.HasField("effective_from_time"):
        line.append(f", in force from {describe_date(unit.effective_from_time)}", style="dim not bold")
    line.append(f"\n    “{shorten(citation.quote)}”", style="italic not bold")
    return line


def narrate_verdicts(response: dispatcher_pb2.AnswerResponse) -> Iterator[RenderableType]:
    """One line for each verdict on a claim."""
    if not response.verdicts:
        return
    yield heading("Verdicts")
    yield from (describe_verdict(verdict) for verdict in response.verdicts)


def describe_verdict(verdict: answer_pb2.ClaimVerdict, name: str = "") -> Text:
    """A verdict in one line: claim (by `name` if given), verdict, support, reason."""
    supported = verdict.verdict == answer_pb2.VERDICT_SUPPORTED
    line = Text(f"  {make_printable(name or verdict.claim_id or '-')}  ")
    line.append(name_value(answer_pb2.Verdict, verdict.verdict, "VERDICT_"), style="green" if supported else "red")
    if verdict.HasField("support"):
        line.append(f" {verdict.support:.2f}")
    if verdict.reason:
        line.append(f"  {make_printable(verdict.reason)}", style="dim")
    return line


def describe_outcome(response: dispatcher_pb2.AnswerResponse) -> Text:
    """How the request ended, in colour."""
    name = name_value(_OUTCOME, response.outcome, "ANSWER_OUTCOME_")
    return Text(name, style="bold green" if response.outcome in _GOOD_OUTCOMES else "bold yellow")


def shorten(text: str) -> str:
    """Text of a document on one line, cut at what a glance takes in."""
    flat = " ".join(make_printable(text).split())
    return flat if len(flat) <= _MAX_QUOTE_CHARACTERS else flat[: _MAX_QUOTE_CHARACTERS - 1] + "…"
