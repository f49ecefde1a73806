"""What was searched and found: candidates with their origin, passes of the loop, time per stage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from citemesh.cli.narration.words import count, describe_duration, heading, name_value, quiet
from citemesh.cli.output import make_printable
from citemesh.v1 import activation_pb2, budget_pb2, dispatcher_pb2, evidence_pb2, history_pb2

MAX_CANDIDATES_SHOWN = 10
_TITLE_WIDTH = 20

_LEG_NAMES = {
    activation_pb2.PATTERN_TOC: "toc",
    activation_pb2.PATTERN_KEYWORD: "keyword",
    activation_pb2.PATTERN_DENSE: "dense",
    activation_pb2.PATTERN_TWO_HOP_REFERENCES: "reference",
    activation_pb2.PATTERN_LISTING_AGGREGATION: "listing",
}


def describe_legs(leg_ranks: Iterable[evidence_pb2.LegRank]) -> str:
    """Which legs found a candidate, each with the best rank it gave it: "keyword 1, dense 4"."""
    best: dict[str, int] = {}
    for leg_rank in leg_ranks:
        name = _LEG_NAMES.get(leg_rank.leg, "other")
        best[name] = min(leg_rank.rank, best.get(name, leg_rank.rank))
    return ", ".join(f"{name} {rank}" for name, rank in best.items())


def narrate_candidates(candidates: Sequence[dispatcher_pb2.CandidateTrace]) -> Iterator[RenderableType]:
    """Where each candidate came from: the leg with its rank, the pass, the relevance, the evidence made of it."""
    if not candidates:
        return
    yield heading("What was found, and by what")
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 1), expand=True)
    table.add_column("", no_wrap=True, min_width=5)
    # Titles and sections give way where the line is short, so that what follows them can always be read.
    table.add_column("document", no_wrap=True, overflow="ellipsis", max_width=_TITLE_WIDTH)
    table.add_column("section", no_wrap=True, overflow="ellipsis", ratio=1)
    table.add_column("page", no_wrap=True, min_width=4, justify="right")
    found_by = [describe_legs(candidate.leg_ranks) for candidate in candidates[:MAX_CANDIDATES_SHOWN]]
    table.add_column("found by", no_wrap=True, min_width=max(map(len, found_by), default=0))
    table.add_column("pass", no_wrap=True, min_width=4)
    table.add_column("relevance", no_wrap=True, min_width=9, justify="right")
    for candidate in candidates[:MAX_CANDIDATES_SHOWN]:
        innermost = candidate.section_path[-1] if candidate.section_path else ""
        relevance = f"{candidate.relevance:.2f}" if candidate.HasField("relevance") else "not scored"
        evidence = Text(candidate.evidence_id or "·", style="green" if candidate.evidence_id else "dim")
        table.add_row(
            Text("  ") + evidence,
            make_printable(candidate.title or candidate.document_id),
            make_printable(innermost),
            str(candidate.page_first or "-"),
            describe_legs(candidate.leg_ranks),
            str(candidate.first_iteration_number),
            relevance,
        )
    yield table
    if len(candidates) > MAX_CANDIDATES_SHOWN:
        yield quiet(f"  and {len(candidates) - MAX_CANDIDATES_SHOWN} more")


def narrate_passes(response: dispatcher_pb2.AnswerResponse) -> Iterator[RenderableType]:
    """One line for each pass of the loop, and why it ended."""
    yield heading("Passes")
    for record in response.history:
        yield _describe_pass(record)
    reason = name_value(history_pb2.StopReason, response.stop_reason, "STOP_REASON_")
    yield quiet(f"  stopped: {reason}{' (exhausted)' if response.exhausted else ''}")


def _describe_pass(record: history_pb2.IterationRecord) -> Text:
    trigger = name_value(history_pb2.Trigger, record.trigger, "TRIGGER_")
    line = Text(f"  {record.iteration_number}  {trigger}")
    if record.action_taken and record.trigger != history_pb2.TRIGGER_FIRST_PASS:
        line.append(f": {make_printable(record.action_taken)}")
    line.append(f" → {make_printable(record.result_summary)}")
    # From the second pass on, the summary itself says how confidence changed.
    confidence = "" if record.HasField("confidence_before") else f"confidence {record.confidence_after:.2f}, "
    line.append(f"  [{confidence}{describe_duration(record.duration)}]", style="dim")
    return line


def narrate_stages(response: dispatcher_pb2.AnswerResponse) -> Iterator[RenderableType]:
    """Time per stage: one line for each pass, stages in the order in which they ended."""
    yield heading("Time")
    by_pass: dict[int, list[budget_pb2.StageReport]] = {}
    for report in response.stage_reports:
        by_pass.setdefault(report.iteration_number, []).append(report)
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for iteration_number, reports in sorted(by_pass.items()):
        name = f"  pass {iteration_number}" if iteration_number else "  once"
        table.add_row(name, " · ".join(_describe_stage(report) for report in reports))
    yield table
    cost = response.cost
    spent = [f"total {describe_duration(response.timings.total_duration)}"]
    if cost.scored_pair_count:
        spent.append(f"{count(cost.scored_pair_count, 'pair')} scored")
    if cost.model_call_count:
        tokens = cost.prompt_token_count + cost.completion_token_count
        spent.append(f"{count(cost.model_call_count, 'model call')}, {count(tokens, 'token')}")
    yield quiet("  " + ", ".join(spent))


def _describe_stage(report: budget_pb2.StageReport) -> str:
    name = name_value(budget_pb2.Stage, report.stage, "STAGE_")
    notes = [note for note in (report.branch, "cached" if report.cached else "") if note]
    text = f"{name} {describe_duration(report.duration)}" + (f" ({', '.join(notes)})" if notes else "")
    if report.error_reason:
        text += f" failed: {report.error_reason}"
    if report.fallback_reason:
        text += f" instead, because {make_printable(report.fallback_reason)}"
    return text
