"""The text in force on a day is returned, the later or withdrawn never: regulations, manuals and questions with a day.

    python -m tests.quality versions [--state-dir DIR] [--opensearch]

Each text that changed between two versions is asked for by its own words, on a day of the old version and on one of
the new. Counted are the texts found among the first 50 passages, and passages of any version not in force that day.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import gzip
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import grpc.aio

from citemesh.auth.principal import Principal, acting_as
from citemesh.config.paths import STORE_URL_VARIABLE
from citemesh.evaluation.question_set import Question, StoredFile, read_question_set
from citemesh.evaluation.run import ingest_stores
from citemesh.rpc.calls import call
from citemesh.rpc.channels import open_channel
from citemesh.rpc.host import hosted
from citemesh.v1 import documents_pb2, documents_pb2_grpc, retrieval_pb2, retrieval_pb2_grpc
from citemesh.v1.evidence_pb2 import Passage
from services.documents.service import SPEC as DOCUMENTS
from services.retrieval.service import SPEC as RETRIEVAL
from tests.conftest import REPO
from tests.opensearch_server.server import running_server
from tests.quality.retrieval_recall import LEGS, find_ranks, fold, with_plain_ids

DATA: Final = REPO.parent / "shared" / "data"
DEPTH: Final = 50
QUESTION_CHARACTERS: Final = 300
COMPARED_CHARACTERS: Final = 60
# In force at the same time the later ingested corrects the earlier: the two of 1003 have one date.
CLEAN_VERSIONS: Final = {
    "1002": ("2016-16301", "2017-20417_20180101", "2017-20417_20220101"),
    "1003": ("2015-26607_20180101", "2017-18284_20180101"),
}
ETCD_DAYS: Final = {"v3.4": "2019-08-30", "v3.5": "2021-06-15", "v3.6": "2025-05-15"}


@dataclass(frozen=True)
class Asked:
    """One question with its day, the document and its version that must answer, and words of the text in force."""

    store: str
    text: str
    day: datetime.datetime
    document_id: str
    document_version: int
    words: str


@dataclass
class Tally:
    """What one kind of rows came to."""

    asked_count: int = 0
    found_count: int = 0
    wrong_count: int = 0
    misses: list[str] = field(default_factory=list)


def day_of(text: str) -> datetime.datetime:
    """UTC midnight of an ISO date."""
    return datetime.datetime.fromisoformat(text[:10]).replace(tzinfo=datetime.UTC)


def read_lines(name: str) -> list[dict[str, Any]]:
    """The rows of a packed file of data/jsonl."""
    with gzip.open(DATA / "jsonl" / name, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def write_regulations(folder: Path) -> tuple[list[StoredFile], dict[tuple[str, str], datetime.datetime]]:
    """Each version of each part as a Markdown file, and the day on which each takes effect."""
    folder.mkdir(parents=True, exist_ok=True)
    texts: dict[tuple[str, str], list[str]] = {}
    days: dict[tuple[str, str], datetime.datetime] = {}
    for node in read_lines("regs.nodes.jsonl.gz"):
        key = (str(node["part"]), node["version"])
        if key[1] in CLEAN_VERSIONS.get(key[0], ()):
            heading = f"## {node['label']} {node.get('title') or ''}".strip()
            texts.setdefault(key, []).append(f"{heading}\n\n{node.get('text') or ''}".strip())
            days[key] = day_of(node["effective_on"])
    files = []
    for part, versions in CLEAN_VERSIONS.items():
        for version in versions:
            path = folder / f"{part}-{version}.md"
            path.write_text(f"# Regulation {part}\n\n" + "\n\n".join(texts[part, version]), encoding="utf-8")
            files.append(StoredFile(path, f"reg-{part}", f"Regulation {part}", days[part, version], None, ()))
    return files, days


def ask_regulations(days: Mapping[tuple[str, str], datetime.datetime], store: str) -> Iterator[Asked]:
    """The changed texts of the clean pairs, on the first day of each version that another does not correct."""
    for row in read_lines("regs.changes.jsonl.gz"):
        part, versions = str(row["part"]), CLEAN_VERSIONS.get(str(row["part"]), ())
        if row["old_version"] not in versions or row["new_version"] not in versions:
            continue
        for side in ("old", "new"):
            version, text = row[f"{side}_version"], row.get(f"{side}_text") or ""
            number = versions.index(version)
            corrected = number + 1 < len(versions) and days[part, versions[number + 1]] == days[part, version]
            if len(fold(text)) >= COMPARED_CHARACTERS and not corrected:
                day = days[part, version]
                yield Asked(store, text[:QUESTION_CHARACTERS], day, f"reg-{part}", number + 1, text)


def list_etcd(pairs: Iterable[Mapping[str, Any]]) -> tuple[list[StoredFile], dict[tuple[str, str], int]]:
    """The pages of the pairs in all their versions, and the number of each version."""
    files, numbers = [], {}
    for page in sorted({str(pair["page"]) for pair in pairs}):
        number = 0
        for version, day in ETCD_DAYS.items():
            path = DATA / "corpora" / "corpus_etcd" / version / page
            if path.is_file():
                number += 1
                numbers[page, version] = number
                files.append(StoredFile(path, etcd_id(page), "", day_of(day), None, ()))
    return files, numbers


def etcd_id(page: str) -> str:
    """A page's document id."""
    return page.removesuffix(".md").replace(" ", "-")


def ask_etcd(pairs: Iterable[Mapping[str, Any]], numbers: Mapping[tuple[str, str], int], store: str) -> Iterator[Asked]:
    """The longest line of prose that a pair takes out, on a day of the old version, and that it adds, of the new."""
    for pair in pairs:
        for side, sign in (("old", "-"), ("new", "+")):
            lines = [line[1:].strip() for line in pair["diff"] if line.startswith(sign)]
            # Definitions of links draw nothing to read.
            prose = [line for line in lines if len(fold(line)) >= COMPARED_CHARACTERS and line[0] not in "<|{#["]
            if prose:
                line = max(prose, key=len)
                day, page = day_of(ETCD_DAYS[pair[side]]), str(pair["page"])
                yield Asked(store, line, day, etcd_id(page), numbers[page, pair[side]], line)


async def retrieve(
    stub: retrieval_pb2_grpc.RetrievalServiceAsyncStub, asked: Asked, document_id: str = ""
) -> list[Passage]:
    """The passages found on the day, in all documents or in one."""
    request = retrieval_pb2.RetrieveRequest(max_candidates=DEPTH)
    request.queries.extend(retrieval_pb2.LegQuery(leg=leg, text=asked.text) for leg in LEGS["fused"])
    request.as_of_time.FromDatetime(asked.day)
    if document_id:
        request.scope.documents.document_ids.append(document_id)
    with acting_as(Principal(asked.store, "evaluator", frozenset())):
        response = await call(stub.Retrieve, request, timeout=20)
    return [candidate.passage for candidate in response.candidates]


def count_out_of_force(passages: Iterable[Passage], day: datetime.datetime) -> int:
    """Passages whose own dates do not hold on the day."""
    wrong = 0
    for passage in passages:
        late = passage.HasField("effective_from_time") and passage.effective_from_time.ToDatetime(datetime.UTC) > day
        over = passage.HasField("effective_to_time") and passage.effective_to_time.ToDatetime(datetime.UTC) <= day
        wrong += late or over
    return wrong


def judge(asked: Asked, passages: list[Passage], latest: Mapping[tuple[str, str], dict[int, datetime.datetime]]) -> int:
    """How many passages are of a version that another had replaced by that day, or of one not yet in force."""
    wrong = 0
    for passage in passages:
        versions = latest[asked.store, passage.document_id]
        begun = {number: day for number, day in versions.items() if day <= asked.day}
        in_force = max(begun, key=lambda number: (begun[number], number)) if begun else 0
        wrong += passage.document_version != in_force
    return wrong + count_out_of_force(passages, asked.day)


async def measure(rows: Iterable[Asked], files: Mapping[str, list[StoredFile]], channel: grpc.aio.Channel) -> Tally:
    """Asks every row; `files` are those of each store, whose order gives the numbers of versions."""
    latest: dict[tuple[str, str], dict[int, datetime.datetime]] = {}
    for store, listed in files.items():
        for file in listed:
            versions = latest.setdefault((store, file.document_id), {})
            assert file.effective_from is not None
            versions[len(versions) + 1] = file.effective_from
    stub = retrieval_pb2_grpc.RetrievalServiceStub(channel)
    tally = Tally()
    for asked in rows:
        passages = [*await retrieve(stub, asked), *await retrieve(stub, asked, asked.document_id)]
        tally.asked_count += 1
        tally.wrong_count += judge(asked, passages, latest)
        wanted = fold(asked.words)[:COMPARED_CHARACTERS]
        mine = [
            p for p in passages if (p.document_id, p.document_version) == (asked.document_id, asked.document_version)
        ]
        if any(wanted in fold(f"{p.heading_context} {p.text}") for p in mine):
            tally.found_count += 1
        else:
            tally.misses.append(f"{asked.document_id}@{asked.document_version} {asked.text[:90]}")
    return tally


async def measure_questions(questions: Iterable[Question], channel: grpc.aio.Channel) -> Tally:
    """The questions of kind as_of: gold found, and passages out of force on the question's day."""
    stub = retrieval_pb2_grpc.RetrievalServiceStub(channel)
    tally = Tally()
    for question in questions:
        day = question.as_of or datetime.datetime.now(datetime.UTC)
        asked = Asked(question.store_key, question.text, day, "", 0, "")
        passages = await retrieve(stub, asked)
        tally.asked_count += 1
        tally.wrong_count += count_out_of_force(passages, day)
        ranks = find_ranks(question, passages)
        if any(ranks) if question.any_gold else all(ranks):
            tally.found_count += 1
        else:
            tally.misses.append(f"{question.question_id} {question.text}")
    return tally


async def is_stored(question: Question, channel: grpc.aio.Channel) -> bool:
    """Whether an earlier run stored it all: a correction that is sent again would be corrected in turn."""
    stub = documents_pb2_grpc.DocumentsServiceStub(channel)
    with acting_as(Principal(question.store_key, "evaluator", frozenset(n for f in question.files for n in f.allow))):
        request = documents_pb2.ListRequest(include_superseded=True, page_size=1_000)
        listed = await call(stub.List, request, timeout=20)
    return len(listed.documents) == len(question.files)


def ingest_only(store: str, files: list[StoredFile]) -> Question:
    """A question that says what its store holds."""
    return Question(store, store, "", "", "", tuple(files))


async def run(state_dir: Path) -> int:
    """Ingest what is not there yet, ask, and print a line for each kind."""
    environ = {**os.environ, "CITEMESH_AUTH_MODE": "open", "CITEMESH_STATE_DIR": str(state_dir)}
    regulations, days = write_regulations(state_dir / "regulations")
    # The pages of folders ("_index.md") hold settings of the site alone.
    pairs = [pair for pair in read_lines("etcd.version_pairs.jsonl.gz") if not str(pair["page"]).startswith("_")]
    etcd, numbers = list_etcd(pairs)
    stores = {"regs.changes": ingest_only("changes", regulations), "etcd.version_pairs": ingest_only("pairs", etcd)}
    sets = [read_question_set(DATA / "qa" / f"{name}.jsonl") for name in ("etcd", "regs")]
    questions = [with_plain_ids(q) for each in sets for q in each if q.kind == "as_of" and q.gold and not q.history]
    async with (
        hosted([DOCUMENTS, RETRIEVAL], environ) as host,
        open_channel(host.target, environ, local=True) as channel,
    ):
        missing = [each for each in (*stores.values(), *questions) if not await is_stored(each, channel)]
        problems = await ingest_stores(missing, channel, lambda *_: None)
        for line in (line for lines in problems.values() for line in lines):
            sys.stderr.write(f"  not ingested: {line}\n")
        regs_key, pairs_key = (stores[name].store_key for name in ("regs.changes", "etcd.version_pairs"))
        tallies = {
            "regs.changes": await measure(ask_regulations(days, regs_key), {regs_key: regulations}, channel),
            "etcd.version_pairs": await measure(ask_etcd(pairs, numbers, pairs_key), {pairs_key: etcd}, channel),
            "qa as_of": await measure_questions(questions, channel),
        }
    for name, tally in tallies.items():
        sys.stdout.write(
            f"{name}: {tally.found_count} of {tally.asked_count} texts in force found in the first {DEPTH}, "
            f"{tally.wrong_count} passages of a version not in force\n"
        )
        sys.stdout.writelines(f"  not found: {miss}\n" for miss in tally.misses)
    return int(any(tally.wrong_count or tally.misses for tally in tallies.values()))


def main(arguments: list[str]) -> int:
    """Exit status 1 where a text in force is missed, or another is returned."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--state-dir", type=Path, default=REPO / "build" / "quality" / "versions")
    parser.add_argument(
        "--opensearch", action="store_true", help="over a server that is started for it, anew each time"
    )
    options = parser.parse_args(arguments)
    if not options.opensearch:
        return asyncio.run(run(options.state_dir))
    with tempfile.TemporaryDirectory(prefix="versions-") as folder, running_server(Path(folder) / "server") as address:
        os.environ[STORE_URL_VARIABLE] = address
        return asyncio.run(run(Path(folder)))
