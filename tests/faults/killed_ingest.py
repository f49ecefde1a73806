"""Rounds of `kill -9` to the documents service in the middle of an ingest, and what the store holds afterwards."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import grpc

from citemesh.auth.principal import Principal
from citemesh.rpc.errors import ServiceError
from citemesh.store.contract import StoreReader, StoreWriter, VersionFilter
from citemesh.store.open import open_reader, open_writer
from citemesh.v1 import documents_pb2, documents_pb2_grpc
from citemesh.v1.document_pb2 import Document
from tests.mesh.calling import WRITER
from tests.mesh.hosting import Mesh

_SENDER_COUNT: Final = 4
_LOOK_EVERY_S: Final = 0.05
_RESTART_S: Final = 5.0
_DEFAULTS: Final[Mapping[str, str]] = {}
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
    seen_half: list[str] = field(default_factory=list)
    """Documents that were not whole when a reader first saw them, while the service was at work."""
    seen_count: int = 0
    unfindable: list[str] = field(default_factory=list)
    unacknowledged_count: int = 0
    """Documents that are whole in the store although the answer did not arrive."""


def run_rounds(folder: Path, round_count: int, settings: Mapping[str, str] = _DEFAULTS, seed: int = 1) -> Tally:
    """Each round: start the service, send documents from four threads, kill it at some moment, look at the store.

    `settings` are variables of the service, the address of a store among them. A reader looks on all the while.
    """
    mesh = Mesh("split", folder, settings)
    folder.mkdir(parents=True, exist_ok=True)
    dice = random.Random(seed)
    tally = Tally()
    for number in range(round_count):
        mesh.start("documents")
        over = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            watching = pool.submit(_watch, mesh.state_dir, settings, over, tally)
            _send_until_killed(mesh, number, tally, dice)
            over.set()
            watching.result()
        _examine(mesh.state_dir, settings, tally)
        tally.round_count += 1
    return tally


def _watch(state_dir: Path, settings: Mapping[str, str], over: threading.Event, tally: Tally) -> None:
    """Look at each document as soon as it is to be seen."""
    reader = open_reader(state_dir, settings)
    seen = set(_list_documents(reader))
    try:
        while not over.is_set():
            versions = reader.allowed_versions(_WRITER)
            documents = _list_documents(reader)
            for name in documents.keys() - seen:
                # Listed after the filter was made: one that was stored in between is looked at the next time.
                if reader.document_passages(versions, name):
                    seen.add(name)
                    tally.seen_count += 1
                    if not _is_whole(reader, versions, documents[name]):
                        tally.seen_half.append(name)
            over.wait(_LOOK_EVERY_S)
    finally:
        reader.close()


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


def _examine(state_dir: Path, settings: Mapping[str, str], tally: Tally) -> None:
    """Open the store as the next start of the service does, and read everything in it."""
    _open_writer(state_dir, settings).close()
    reader = open_reader(state_dir, settings)
    try:
        versions = reader.allowed_versions(_WRITER)
        documents = _list_documents(reader)
        tally.lost = sorted(set(tally.acknowledged) - set(documents))
        tally.half = [name for name, each in documents.items() if not _is_whole(reader, versions, each)]
        tally.unfindable = []
        passage_count = sum(document.passage_count for document in documents.values())
        found = {hit.passage_key for hit in reader.keyword_search("paragraph", versions, passage_count + 10)}
        if len(found) != passage_count:
            tally.unfindable.append(f"{passage_count - len(found)} passages by keyword")
        tally.unacknowledged_count = len(documents) - len(tally.acknowledged)
    finally:
        reader.close()


def _open_writer(state_dir: Path, settings: Mapping[str, str]) -> StoreWriter:
    """The writing side, as soon as the killed service is gone: a parser that it was starting holds its files open."""
    ends_at = time.monotonic() + _RESTART_S
    while True:
        try:
            return open_writer(state_dir, settings)
        except ServiceError:
            if time.monotonic() > ends_at:
                raise
            time.sleep(_LOOK_EVERY_S)


def _list_documents(reader: StoreReader) -> dict[str, Document]:
    documents: dict[str, Document] = {}
    after = ""
    while True:
        page, after = reader.list_documents(_WRITER, after=after, limit=1000)
        documents.update({each.document_id: each for each in page})
        if not after:
            return documents


def _is_whole(reader: StoreReader, versions: VersionFilter, document: Document) -> bool:
    """Whether every paragraph is there, as many passages as the document says, and the file."""
    name = document.document_id
    passages = reader.document_passages(versions, name)
    text = " ".join(passage.text for passage in passages)
    total = int(text.partition(" of ")[2].split()[0]) if " of " in text else 0
    whole = total > 0 and all(f"Paragraph {number} of {total} in {name} " in text for number in range(total))
    file = reader.original_file(_WRITER, name, document.document_version)
    return whole and len(passages) == document.passage_count and file is not None
