"""Pipelines are checked whole: every problem at once, each with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.dispatcher.one_pass import STEPS
from services.dispatcher.pipelines import PROCESSORS, PipelineError, load_pipelines, read_pipeline
from services.dispatcher.settings import BUILT_IN_PIPELINES

GOOD = """\
name: small
steps:
  - {id: search, type: retriever, processor: hybrid}
  - {id: answer, type: answer_generator, processor: grounded}
"""


def problems(text: str) -> list[str]:
    with pytest.raises(PipelineError) as caught:
        read_pipeline(text)
    return [str(problem) for problem in caught.value.problems]


def test_the_built_in_pipeline_is_valid_and_named_default() -> None:
    pipelines = load_pipelines([BUILT_IN_PIPELINES])
    assert list(pipelines) == ["default"]
    assert not pipelines["default"].warnings


def test_every_processor_has_its_step_and_no_step_is_unknown() -> None:
    pairs = {(step_type, processor) for step_type, known in PROCESSORS.items() for processor in known}
    assert pairs == set(STEPS)


def test_a_failure_stops_unless_the_step_says_otherwise() -> None:
    assert [step.on_failure for step in read_pipeline(GOOD).message.steps] == ["stop", "stop"]


def test_a_pipeline_searches_first_where_nothing_before_the_search_reads_candidates() -> None:
    assert load_pipelines([BUILT_IN_PIPELINES])["default"].searches_first
    assert read_pipeline(GOOD).searches_first
    lists = "  - {id: list, type: retriever, processor: listing}\n"
    assert not read_pipeline(GOOD.replace("  - {id: search", lists + "  - {id: search")).searches_first


def test_the_legacy_word_is_read_as_continue_with_a_warning() -> None:
    loaded = read_pipeline(GOOD.replace("processor: hybrid", "processor: hybrid, on_failure: fallback"))
    assert loaded.message.steps[0].on_failure == "continue"
    assert [problem.line for problem in loaded.warnings] == [3]


def test_all_problems_come_at_once_each_with_its_line() -> None:
    text = """\
name: broken
colour: red
steps:
  - id: context
    type: context_optimizer
    processor: rerank
  - id: context
    type: retriever
    processor: magic
    on_failure: shrug
  - id: gate
    type: quality_gate
    processor: claims
    settings:
      max_corrections: many
"""
    assert problems(text) == [
        "line 2: colour: is not known here: use name, description, steps",
        "line 4: steps[0]: a context_optimizer needs a retriever or memory before it",
        "line 4: steps: no step answers: add an answer_generator",
        'line 7: steps[1].id: "context" is taken by the step in line 4',
        'line 9: steps[1].processor: "magic" is not known: use hybrid, references, listing',
        "line 10: steps[1].on_failure: must be stop or continue",
        "line 11: steps[2]: a quality_gate needs a answer_generator before it",
        "line 15: steps[2].settings.max_corrections: must be a whole number above 0",
    ]


def test_targets_must_be_retrievers_that_come_after() -> None:
    text = """\
name: follow
steps:
  - {id: search, type: retriever, processor: hybrid}
  - {id: decide, type: query_optimizer, processor: follow_up, settings: {targets: [detail, search]}}
  - {id: detail, type: retriever, processor: hybrid}
  - {id: answer, type: answer_generator, processor: grounded}
"""
    assert problems(text) == ['line 4: steps[1].settings.targets: "search" is no retriever after this step: use detail']


def test_only_the_final_answer_producing_step_may_stream() -> None:
    text = """\
name: stream
steps:
  - {id: search, type: retriever, processor: hybrid}
  - {id: answer, type: answer_generator, processor: grounded, settings: {stream: true}}
  - {id: gate, type: quality_gate, processor: claims}
"""
    assert problems(text) == [
        "line 4: steps[1].settings.stream: only the final answer-producing step may stream: "
        "a later step could replace what was shown"
    ]
    assert read_pipeline("\n".join(text.splitlines()[:-1]))


@pytest.mark.parametrize("text", ["", "- a", "name: x", "name: x\nsteps: []", "name: [", "steps:\n  - 3\nname: x"])
def test_what_is_no_pipeline_says_so(text: str) -> None:
    assert problems(text)


def test_tags_make_no_objects() -> None:
    assert problems("!!python/object/apply:os.system ['true']")


def test_a_later_folder_replaces_a_pipeline_of_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(GOOD.replace("small", "default"), encoding="utf-8")
    assert len(load_pipelines([BUILT_IN_PIPELINES, tmp_path])["default"].message.steps) == 2
