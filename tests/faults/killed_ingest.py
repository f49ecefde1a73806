"""Rounds of `kill -9` to the documents service in the middle of an ingest, and what the store holds afterwards."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import grpc

from citemesh.auth.principal import Principal
from citemesh.store.embedded.open import open_reader, open_writer
from citemesh.v1 import documents_pb2, documents_pb2_grpc
from tests.mesh.calling import WRITER
from tests.mesh.hosting import Mesh

_SENDER_COUNT: Final = 4
_WRITER: Final = Principal("default", "librarian", frozenset())
_WORDS: Final = ("harbour", "ledger", "granite", "meadow", "signal", "copper", "orchard", "lantern")


@dataclass
class Tally:
    """What all rounds have come to."""

    round_count: int = 0
    sent_count: int = 0
    acknowledged: dict[str, int] = field(default_factory=dict)
    """Documents whose ingest was answered, and how many paragraphs each has."""
    lost: list[str] = field(default_factory=list)
    half: list[str] = field(default_factory=list)
    unfindable: list[str] = field(default_factory=list)
    unacknowledged_count: int = 0
    """Documents that are whole in the store although the answer did not arrive."""


def run_rounds(folder: Path, round_count: int, seed: int = 1) -> Tally:
    """Each round: start the service, send documents from four threads, kill it at some moment, look at the store."""
    mesh = Mesh("split", folder, {})
    folder.mkdir(parents=True, exist_ok=True)
    dice = random.Random(seed)
    tally = Tally()
    for number in range(round_count):
        mesh.start("documents")
        _send_until_killed(mesh, number, tally, dice)
        _examine(mesh.state_dir, tally)
        tally.round_count += 1
    return tally


def _send_until_killed(mesh: Mesh, round_number: int, tally: Tally, dice: random.Random) -> None:
    killed, first = threading.Event(), threading.Event()
    with grpc.insecure_channel(mesh.targets["documents"]) as channel, ThreadPoolExecutor(_SENDER_COUNT) as pool:
        stub = documents_pb2_grpc.DocumentsServiceStub(channel)

        def send(sender: int) -> None:
            for count in range(10_000):
                if killed.is_set():
                    return
                name = f"r{round_number}-{sender}-{count}"
                paragraphs = 3 + (7 * sender + count) % 20
                tally.sent_count += 1
                try:
                    stub.Ingest(_make_parts(name, paragraphs), timeout=30.0, metadata=WRITER)
                except grpc.RpcError:
                    return
                tally.acknowledged[name] = paragraphs
                first.set()

        senders = [pool.submit(send, sender) for sender in range(_SENDER_COUNT)]
        # The first answer says that the service is at work; from then on any moment may be the last.
        first.wait(20)
        time.sleep(dice.uniform(0.0, 0.5))
        mesh.kill("documents")
        killed.set()
        for sender in senders:
            sender.result()


def _make_parts(name: str, paragraph_count: int) -> Iterator[documents_pb2.IngestRequest]:
    header = documents_pb2.IngestHeader(document_id=name, file_name=f"{name}.md")
    yield documents_pb2.IngestRequest(header=header)
    yield documents_pb2.IngestRequest(chunk=make_text(name, paragraph_count).encode())


def make_text(name: str, paragraph_count: int) -> str:
    """A document in which each paragraph says its number, the last one too."""
    dice = random.Random(name)
    paragraphs = []
    for number in range(paragraph_count):
        words = " ".join(dice.choices(_WORDS, k=60))
        paragraphs.append(f"Paragraph {number} of {paragraph_count} in {name} speaks of {words}.")
    return f"# Notes {name}\n\n" + "\n\n".join(paragraphs)


def _examine(state_dir: Path, tally: Tally) -> None:
    """Open the store as the next start of the service does, and read everything in it."""
    open_writer(state_dir).close()
    reader = open_reader(state_dir)
    try:
        versions = reader.allowed_versions(_WRITER)
        documents = {}
        after = ""
        while True:
            page, after = reader.list_documents(_WRITER, after=after, limit=1000)
            documents.update({each.document_id: each for each in page})
            if not after:
                break
        tally.lost = sorted(set(tally.acknowledged) - set(documents))
        tally.half, tally.unfindable = [], []
        for name, document in documents.items():
            passages = reader.document_passages(versions, name)
            text = " ".join(passage.text for passage in passages)
            total = int(text.partition(" of ")[2].split()[0]) if " of " in text else 0
            whole = total > 0 and all(f"Paragraph {number} of {total} in {name} " in text for number in range(total))
            file = reader.original_file(_WRITER, name, document.document_version)
            if not whole or len(passages) != document.passage_count or file is None:
                tally.half.append(name)
        passage_count = sum(document.passage_count for document in documents.values())
        found = {hit.passage_key for hit in reader.keyword_search("paragraph", versions, passage_count + 10)}
        if len(found) != passage_count:
            tally.unfindable.append(f"{passage_count - len(found)} passages by keyword")
        tally.unacknowledged_count = len(documents) - len(tally.acknowledged)
    finally:
        reader.close()
