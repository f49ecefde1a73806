"""What was understood of a question, and which patterns run for it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from citemesh.cli.narration.words import count, heading, name_value, quiet
from citemesh.cli.output import make_printable
from citemesh.v1 import activation_pb2, document_pb2, question_pb2


def narrate_question(parsed: question_pb2.ParsedQuestion) -> Iterator[RenderableType]:
    """The parsed question as a list of named lines; lines without content are left out."""
    yield heading("Question")
    lines = Table.grid(padding=(0, 2))
    lines.add_column(style="dim", no_wrap=True)
    lines.add_column(overflow="fold")
    for name, value in _lines_of_question(parsed):
        if value:
            lines.add_row(f"  {name}", make_printable(value))
    yield lines


def _lines_of_question(parsed: question_pb2.ParsedQuestion) -> Iterator[tuple[str, str]]:
    plan = parsed.retrieval
    yield "asked", parsed.original_question
    intent = name_value(question_pb2.Intent, parsed.intent, "INTENT_")
    answer_type = name_value(question_pb2.AnswerType, parsed.answer_type, "ANSWER_TYPE_")
    expected = f", answered by: {answer_type}" if parsed.answer_type else ""
    language = f", language {parsed.language}" if parsed.language else ""
    yield "kind", f"{intent}{expected}{language}"
    need = name_value(question_pb2.RetrievalNeed, parsed.need, "RETRIEVAL_NEED_")
    yield "search", f"{need}: {parsed.need_reason}" if parsed.need_reason else need
    for reference in parsed.resolved_references:
        yield "stands for", f"“{reference.surface}” is “{reference.antecedent}” of turn {reference.turn_index + 1}"
    if parsed.standalone_question != parsed.original_question:
        yield "in full", parsed.standalone_question
    for number, part in enumerate(parsed.sub_questions, start=1):
        yield f"part {number}", part
    if plan.main_query not in (parsed.original_question, parsed.standalone_question):
        yield "searched as", plan.main_query
    yield "also as", "; ".join(plan.rewrites)
    yield "keywords", ", ".join(plan.anchor_keywords or parsed.keywords)
    yield "section", plan.section_hint
    if plan.layout_hint:
        yield "layout", name_value(question_pb2.LayoutHint, plan.layout_hint, "LAYOUT_HINT_")
    yield "places", ", ".join(reference.label for reference in plan.references)
    if parsed.HasField("requested_count"):
        yield "asks for", count(parsed.requested_count, "item")


def narrate_activations(activations: activation_pb2.Activations) -> Iterator[RenderableType]:
    """The patterns that run, each with rule and reason; those that do not, in one line."""
    yield heading("What runs, and why")
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    off = []
    for activation in activations.activations:
        name = name_value(activation_pb2.Pattern, activation.pattern, "PATTERN_")
        if activation.active:
            table.add_row(Text(f"  {name}", style="green"), activation.rule_id, make_printable(activation.reason))
        else:
            off.append(f"{name} ({activation.rule_id})")
    yield table
    if off:
        yield quiet(f"  off: {', '.join(off)}")


def narrate_every_activation(activations: activation_pb2.Activations) -> Iterator[RenderableType]:
    """All seven decisions with rule and reason, for `citemesh explain`."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("pattern", "", "rule", "reason"):
        table.add_column(column, overflow="fold", no_wrap=column in ("pattern", ""))
    for activation in activations.activations:
        state = Text("on", style="green") if activation.active else Text("off", style="dim")
        name = name_value(activation_pb2.Pattern, activation.pattern, "PATTERN_")
        table.add_row(name, state, activation.rule_id, make_printable(activation.reason))
    yield table


def narrate_scope(scope: document_pb2.ScopeProfile) -> Iterator[RenderableType]:
    """The documents that a question may look at, in one line."""
    parts = [count(scope.document_count, "document") + " in scope"]
    if scope.usable_toc_count:
        parts.append(f"{scope.usable_toc_count} with a usable table of contents")
    if scope.likely_scanned_count:
        parts.append(f"{scope.likely_scanned_count} likely scanned")
    yield quiet("  " + ", ".join(parts))
