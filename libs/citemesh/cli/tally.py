"""What an ingest has come to, and how it is told: results on stdout, failures on stderr."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from citemesh.cli.exits import Exit
from citemesh.cli.narration.words import count, describe_date, name_value
from citemesh.cli.output import Output, make_printable
from citemesh.v1 import documents_pb2


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that was not ingested, why, and the exit code that this is worth."""

    path: Path
    reason: str
    exit_code: Exit


@dataclass
class Tally:
    """What an ingest has come to so far."""

    responses: list[tuple[Path, documents_pb2.IngestResponse]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add_note(self, note: str) -> None:
        """Something to say on stderr after the results; nothing where it is empty."""
        if note:
            self.notes.append(note)

    @property
    def passage_count(self) -> int:
        """Passages of all documents."""
        return sum(response.document.passage_count for _, response in self.responses)

    @property
    def known_count(self) -> int:
        """Files whose content was in the mesh before."""
        return sum(response.result == documents_pb2.INGEST_RESULT_UNCHANGED for _, response in self.responses)

    @property
    def exit_code(self) -> Exit:
        """The worst that became of a file."""
        return max((failure.exit_code for failure in self.failures), default=Exit.ANSWERED)


def show_tally(output: Output, tally: Tally, order: list[Path]) -> None:
    """Say what became of each file, in the order of the files."""
    place = {path: index for index, path in enumerate(order)}
    for path, response in sorted(tally.responses, key=lambda pair: place[pair[0]]):
        output.json_line(response)
        output.result(_describe(path, response))
    note = f", {tally.known_count} of them known already" if tally.known_count else ""
    for each in sorted(tally.notes):
        output.note(make_printable(each))
    held = count(len(tally.responses), "file")
    output.note(f"{held} in the mesh{note}, {count(tally.passage_count, 'passage')}.")
    for failure in sorted(tally.failures, key=lambda failure: place[failure.path]):
        output.note(make_printable(f"{failure.path} was not ingested: {failure.reason}"))
    left = len(order) - len(tally.responses) - len(tally.failures)
    if left:
        output.note(f"{count(left, 'file')} not tried. The same command again goes on with what is missing.")


def _describe(path: Path, response: documents_pb2.IngestResponse) -> str:
    """What became of a file, in one line, with the document's warnings below it."""
    document = response.document
    result = name_value(documents_pb2.IngestResult, response.result, "INGEST_RESULT_")
    pages = f"{count(document.profile.page_count, 'page')}, " if document.profile.page_count else ""
    line = (
        f"{path.name} → {document.document_id}, version {document.document_version} ({result}): "
        f"{pages}{count(document.passage_count, 'passage')}"
    )
    if response.result == documents_pb2.INGEST_RESULT_NEW_VERSION and document.HasField("effective_from_time"):
        line += f", in force from {describe_date(document.effective_from_time)}"
    return make_printable("\n".join([line, *(f"  note: {warning}" for warning in document.warnings)]))
