"""Pipelines: which steps one pass has, read from YAML and checked whole before any step runs.

Every problem of a file is reported at once, each with its line. What a step does is in one_pass.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError

from citemesh.v1 import dispatcher_pb2

STOP: Final = "stop"
CONTINUE: Final = "continue"
_LEGACY_CONTINUE: Final = "fallback"

OPTIMIZER: Final = "query_optimizer"
MEMORY: Final = "memory"
RETRIEVER: Final = "retriever"
CONTEXT: Final = "context_optimizer"
GENERATOR: Final = "answer_generator"
QUALITY_GATE: Final = "quality_gate"

PROCESSORS: Final[Mapping[str, Mapping[str, Mapping[str, type]]]] = {
    OPTIMIZER: {"understand": {}, "follow_up": {"targets": list}},
    MEMORY: {"conversation": {"max_turns": int}},
    RETRIEVER: {"hybrid": {"max_candidates": int}, "references": {"max_passages": int}, "listing": {}},
    CONTEXT: {"rerank": {"max_candidates": int}, "assemble": {"max_token_count": int, "max_evidence_count": int}},
    GENERATOR: {"grounded": {"rules": str, "stream": bool}},
    QUALITY_GATE: {"claims": {"max_corrections": int}},
}
"""Step types, their processors, and the settings of each with their types."""

_NO_CANDIDATES_READ: Final = ((OPTIMIZER, "understand"), (MEMORY, "conversation"))
_PREDECESSORS: Final = {CONTEXT: (RETRIEVER, MEMORY), QUALITY_GATE: (GENERATOR,)}
_STEP_KEYS: Final = ("id", "type", "processor", "settings", "on_failure")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a pipeline, or, as a warning, one thing to change some day."""

    line: int
    """From 1."""

    path: str
    """Such as "steps[2].processor"."""

    text: str
    is_warning: bool = False

    def __str__(self) -> str:
        return f"line {self.line}: {self.path}: {self.text}"


@dataclass(frozen=True, slots=True)
class LoadedPipeline:
    """A pipeline that passed its checks, with what its message does not carry: each step's settings, by step id."""

    message: dispatcher_pb2.Pipeline
    settings: Mapping[str, Mapping[str, Any]]
    warnings: tuple[Problem, ...] = ()

    def find(self, step_type: str, processor: str) -> dispatcher_pb2.PipelineStep | None:
        """The first step of this type and processor."""
        return next(
            (step for step in self.message.steps if (step.type, step.processor) == (step_type, processor)), None
        )

    @property
    def searches_first(self) -> bool:
        """Whether the search comes before every step that reads candidates."""
        reading = (step for step in self.message.steps if (step.type, step.processor) not in _NO_CANDIDATES_READ)
        first = next(reading, None)
        return first is not None and (first.type, first.processor) == (RETRIEVER, "hybrid")


class PipelineError(Exception):
    """A pipeline that may not run; `problems` is all of them."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        super().__init__(f"{source} is no valid pipeline:\n" + "\n".join(f"  {problem}" for problem in problems))
        self.problems = tuple(problems)


def load_pipelines(folders: Sequence[Path]) -> dict[str, LoadedPipeline]:
    """All pipelines of the folders by name; a later folder's replaces an earlier one's. Raises PipelineError."""
    pipelines: dict[str, LoadedPipeline] = {}
    for folder in folders:
        for path in sorted(folder.glob("*.yaml")):
            pipeline = read_pipeline(path.read_text(encoding="utf-8"), path.name)
            pipelines[pipeline.message.name] = pipeline
    return pipelines


def read_pipeline(text: str, source: str = "pipeline") -> LoadedPipeline:
    """The pipeline written in `text`. Raises PipelineError with every problem found."""
    try:
        # The round-trip loader keeps line numbers; like the safe one, it makes no objects of tags.
        document = YAML(typ="rt").load(text)
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise PipelineError(source, [Problem(line, "", f"this is no YAML: {error.problem}")]) from None
    check = _Check()
    check.document(document)
    errors = [problem for problem in check.problems if not problem.is_warning]
    if errors:
        raise PipelineError(source, sorted(errors, key=lambda problem: problem.line))
    return _build(document, tuple(check.problems))


def _build(document: CommentedMap, warnings: tuple[Problem, ...]) -> LoadedPipeline:
    message = dispatcher_pb2.Pipeline(name=document["name"], description=document.get("description", ""))
    settings: dict[str, Mapping[str, Any]] = {}
    for step in document["steps"]:
        on_failure = step.get("on_failure", STOP)
        message.steps.add(
            id=step["id"],
            type=step["type"],
            processor=step["processor"],
            on_failure=CONTINUE if on_failure == _LEGACY_CONTINUE else on_failure,
        )
        settings[step["id"]] = dict(step.get("settings") or {})
    return LoadedPipeline(message, settings, warnings)


@dataclass(slots=True)
class _Check:
    """Collects the problems of one document."""

    problems: list[Problem] = field(default_factory=list)

    def document(self, document: object) -> None:
        if not isinstance(document, CommentedMap):
            self.add(1, "", "a pipeline has name, description and steps")
            return
        for key in document:
            if key not in ("name", "description", "steps"):
                self.add(_line(document, key), str(key), "is not known here: use name, description, steps")
        self._text(document, "name", "")
        steps = document.get("steps")
        if not isinstance(steps, CommentedSeq) or not steps:
            self.add(_line(document, "steps"), "steps", "must be a list of at least one step")
            return
        self._steps([(f"steps[{place}]", steps.lc.item(place)[0] + 1, step) for place, step in enumerate(steps)])

    def add(self, line: int, path: str, text: str, *, is_warning: bool = False) -> None:
        self.problems.append(Problem(line, path, text, is_warning))

    def _steps(self, steps: Sequence[tuple[str, int, Any]]) -> None:
        maps = []
        for path, line, step in steps:
            if isinstance(step, CommentedMap):
                maps.append((path, line, step))
                self._step(path, step)
            else:
                self.add(line, path, f"must be a step with {', '.join(_STEP_KEYS)}")
        for rule in (self._unique_ids, self._order, self._targets, self._streams, self._answers):
            rule(maps)

    def _step(self, path: str, step: CommentedMap) -> None:
        for key in step:
            if key not in _STEP_KEYS:
                self.add(_line(step, key), f"{path}.{key}", f"is not known: use {', '.join(_STEP_KEYS)}")
        for key in ("id", "type", "processor"):
            self._text(step, key, f"{path}.")
        self._one_of(step, "type", tuple(PROCESSORS), path)
        processors = PROCESSORS.get(str(step.get("type")), {})
        if processors:
            self._one_of(step, "processor", tuple(processors), path)
        self._on_failure(step, path)
        self._settings(step, processors.get(str(step.get("processor"))), path)

    def _text(self, where: CommentedMap, key: str, prefix: str) -> None:
        if not isinstance(where.get(key), str) or not where[key].strip():
            self.add(_line(where, key), f"{prefix}{key}", "must be set to a text")

    def _one_of(self, step: CommentedMap, key: str, known: tuple[str, ...], path: str) -> None:
        value = step.get(key)
        if isinstance(value, str) and value not in known:
            self.add(_line(step, key), f"{path}.{key}", f'"{value}" is not known: use {", ".join(known)}')

    def _on_failure(self, step: CommentedMap, path: str) -> None:
        value = step.get("on_failure", STOP)
        if value == _LEGACY_CONTINUE:
            text = '"fallback" is read as "continue": write "continue"'
            self.add(_line(step, "on_failure"), f"{path}.on_failure", text, is_warning=True)
        elif value not in (STOP, CONTINUE):
            self.add(_line(step, "on_failure"), f"{path}.on_failure", "must be stop or continue")

    def _settings(self, step: CommentedMap, known: Mapping[str, type] | None, path: str) -> None:
        settings = step.get("settings")
        if settings is None or known is None:
            return
        if not isinstance(settings, CommentedMap):
            self.add(_line(step, "settings"), f"{path}.settings", "must hold names with values")
            return
        for key, value in settings.items():
            line, where = _line(settings, key), f"{path}.settings.{key}"
            if key not in known:
                self.add(line, where, f"is not known: use {', '.join(known) or 'no settings'}")
            elif not _has_type(value, known[key]):
                self.add(line, where, f"must be {_TYPE_WORDS[known[key]]}")

    def _unique_ids(self, steps: Sequence[tuple[str, int, CommentedMap]]) -> None:
        first: dict[Any, int] = {}
        for path, line, step in steps:
            step_id = step.get("id")
            if isinstance(step_id, str) and first.setdefault(step_id, line) != line:
                self.add(_line(step, "id"), f"{path}.id", f'"{step_id}" is taken by the step in line {first[step_id]}')

    def _order(self, steps: Sequence[tuple[str, int, CommentedMap]]) -> None:
        seen: set[Any] = set()
        for path, line, step in steps:
            needed = _PREDECESSORS.get(step.get("type"), ())
            if needed and not seen.intersection(needed):
                self.add(line, path, f"a {step.get('type')} needs a {' or '.join(needed)} before it")
            if step.get("processor") == "follow_up" and RETRIEVER not in seen:
                self.add(line, path, f"a follow_up needs a {RETRIEVER} before it")
            seen.add(step.get("type"))

    def _targets(self, steps: Sequence[tuple[str, int, CommentedMap]]) -> None:
        for place, (path, _, step) in enumerate(steps):
            settings = step.get("settings")
            targets = settings.get("targets") if isinstance(settings, CommentedMap) else None
            later = {other.get("id") for _, _, other in steps[place + 1 :] if other.get("type") == RETRIEVER}
            for target in targets if isinstance(targets, list) else ():
                if target not in later:
                    known = ", ".join(sorted(str(other) for other in later)) or "none, as there is no such step"
                    text = f'"{target}" is no {RETRIEVER} after this step: use {known}'
                    self.add(_line(step, "settings"), f"{path}.settings.targets", text)

    def _streams(self, steps: Sequence[tuple[str, int, CommentedMap]]) -> None:
        producers = [item for item in steps if item[2].get("type") in (GENERATOR, QUALITY_GATE)]
        for path, _, step in producers[:-1]:
            settings = step.get("settings")
            if isinstance(settings, CommentedMap) and settings.get("stream") is True:
                text = "only the final answer-producing step may stream: a later step could replace what was shown"
                self.add(_line(settings, "stream"), f"{path}.settings.stream", text)

    def _answers(self, steps: Sequence[tuple[str, int, CommentedMap]]) -> None:
        if not any(step.get("type") == GENERATOR for _, _, step in steps):
            line = steps[0][1] if steps else 1
            self.add(line, "steps", f"no step answers: add an {GENERATOR}")


_TYPE_WORDS: Final = {int: "a whole number above 0", bool: "true or false", str: "a text", list: "a list of step ids"}


def _has_type(value: object, wanted: type) -> bool:
    if wanted is int:
        return isinstance(value, int) and not isinstance(value, bool) and value > 0
    return isinstance(value, wanted)


def _line(where: CommentedMap, key: Any) -> int:
    """The line of the key, from 1; of the map itself where the key is missing."""
    positions: dict[Any, Any] = where.lc.data or {}
    return int(positions[key][0] if key in positions else where.lc.line) + 1
