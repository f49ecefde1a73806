"""What the retrieval service adds to a bare search of its OpenSearch cluster, for the same queries in the same run.

A bare search is one request that brings the texts of as many passages as Retrieve gives: `_search` for one leg,
`_msearch` for two. The vectors of the questions are known to both. CITEMESH_BENCH_OPENSEARCH_PASSAGES sets the size,
CITEMESH_TEST_OPENSEARCH_URL names a server that runs already.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import grpc
import opensearchpy
import pytest

from citemesh.auth.principal import Principal, open_metadata
from citemesh.config.paths import STORE_URL_VARIABLE, socket_path
from citemesh.models import load_encoder
from citemesh.models.encoder import Encoder
from citemesh.models.paths import models_dir
from citemesh.store.encoder_match import describe_encoder
from citemesh.store.open import open_reader, open_writer
from citemesh.store.opensearch.connection import columns
from citemesh.v1 import activation_pb2, retrieval_pb2, retrieval_pb2_grpc
from citemesh.v1.document_pb2 import Document
from citemesh.v1.evidence_pb2 import Passage
from tests.bench.filled_store import TENANT, MadeText
from tests.bench.processes import started
from tests.bench.report import Figure, p50
from tests.opensearch_server.install import CannotInstallError
from tests.opensearch_server.server import running_server

MAX_ADDED_MS: Final = 2.5
_QUESTION_COUNT: Final = 60
_WARM_UP_COUNT: Final = 10
_RESULT_COUNT: Final = 50
_PASSAGES_PER_DOCUMENT: Final = 200
_ANA: Final = Principal(TENANT, "ana", frozenset())
_KEYWORD, _DENSE = activation_pb2.PATTERN_KEYWORD, activation_pb2.PATTERN_DENSE
_WAYS: Final = {"keyword": (_KEYWORD,), "dense": (_DENSE,), "hybrid": (_KEYWORD, _DENSE)}

Body = dict[str, Any]
Leg: TypeAlias = activation_pb2.Pattern.ValueType


@dataclass(frozen=True)
class Question:
    """One question, and what the store sends to the cluster for its two legs."""

    text: str
    bodies: dict[Leg, Body]
    index: str


def run() -> list[Figure]:
    """Fill, search both ways in turn, compare. Nothing where there is no server."""
    passage_count = int(os.environ.get("CITEMESH_BENCH_OPENSEARCH_PASSAGES", "20000"))
    with tempfile.TemporaryDirectory(prefix="bench-") as name, contextlib.ExitStack() as stack:
        try:
            address = find_server(stack, Path(name))
        except CannotInstallError as error:
            return [Figure(f"left out: {error}", 0.0, "")]
        environ = {STORE_URL_VARIABLE: f"{address}/bench-{uuid.uuid4().hex[:8]}"}
        encoder, text = load_encoder(models_dir(os.environ)), MadeText()
        begun = time.perf_counter()
        _fill(Path(name), environ, text, encoder, passage_count)
        filled_s = time.perf_counter() - begun
        questions = _prepare(Path(name), environ, text, encoder)
        settings = environ | {"CITEMESH_STATE_DIR": name, "CITEMESH_RETRIEVAL_RANKING_CACHE_ENTRY_COUNT": "0"}
        with started("services", "retrieval", log=Path(name) / "log", **settings):
            target = f"unix:{socket_path(Path(name), 'retrieval')}"
            figures = _measure(address, target, questions, passage_count)
    return [*figures, Figure(f"filling the store with {passage_count:,} passages", filled_s, "s")]


def find_server(stack: contextlib.ExitStack, folder: Path) -> str:
    """The address of the server that is named, or of one that runs until `stack` ends. Raises CannotInstallError."""
    given = os.environ.get("CITEMESH_TEST_OPENSEARCH_URL")
    return given or stack.enter_context(running_server(folder / "server", heap="1g"))


def _fill(folder: Path, environ: dict[str, str], text: MadeText, encoder: Encoder, passage_count: int) -> None:
    """Documents as the documents service stores them, of made text; the vectors are made, too, whatever the texts."""
    writer = open_writer(folder, environ)
    writer.set_encoder(describe_encoder(encoder))
    file = folder / "original"
    file.write_text("made", encoding="utf-8")
    for start in range(0, passage_count, _PASSAGES_PER_DOCUMENT):
        name = f"d{start // _PASSAGES_PER_DOCUMENT:06d}"
        texts = text.make_texts(start, _PASSAGES_PER_DOCUMENT)
        passages = [
            Passage(text=each, language="und", content_hash=hashlib.sha256(each.encode()).hexdigest()) for each in texts
        ]
        document = Document(document_id=name, title=name, content_hash=name)
        vectors = text.make_vectors(start, _PASSAGES_PER_DOCUMENT)
        writer.put_version(TENANT, document, sections=[], passages=passages, vectors=vectors, file=file)
    writer.close()


def _prepare(folder: Path, environ: dict[str, str], text: MadeText, encoder: Encoder) -> list[Question]:
    """The questions, with the requests that the store's reader sends for each leg."""
    reader = open_reader(folder, environ)
    sent: list[tuple[str, Body]] = []
    search = opensearchpy.OpenSearch.search

    def record(client: opensearchpy.OpenSearch, *, index: str, body: Body, **rest: Any) -> Any:
        sent.append((index, body))
        return search(client, index=index, body=body, **rest)

    questions = []
    versions = reader.allowed_versions(_ANA)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(opensearchpy.OpenSearch, "search", record)
        for number in range(len(_WAYS) * (_QUESTION_COUNT + _WARM_UP_COUNT)):
            words, _ = text.ask(number)
            sent.clear()
            reader.keyword_search(words, versions, _RESULT_COUNT)
            reader.dense_search(encoder.encode_queries([words])[0], versions, _RESULT_COUNT)
            (index, keyword), (_, dense) = sent
            bodies = {leg: _bare_body(body["query"]) for leg, body in ((_KEYWORD, keyword), (_DENSE, dense))}
            questions.append(Question(words, bodies, index))
    reader.close()
    return questions


def _bare_body(query: Body) -> Body:
    """As the reader asks for passages: columns are what entries are read by, so that either side brings texts."""
    return {"size": _RESULT_COUNT, "query": query, "track_total_hits": False, **columns(["passage_key", "passage"])}


def _measure(address: str, target: str, questions: list[Question], passage_count: int) -> list[Figure]:
    figures = []
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
    with grpc.insecure_channel(target) as channel:
        stub = retrieval_pb2_grpc.RetrievalServiceStub(channel)
        for at, (way, legs) in enumerate(_WAYS.items()):
            bare, through = [], []
            # Each way has questions of its own: nothing that one of them brings is known to the next.
            for question in questions[at :: len(_WAYS)]:
                bare.append(_time(partial(_search_barely, connection, question, legs)))
                # Its vector is made beforehand, as it is for the bare search.
                _retrieve(stub, _make_request(question.text, (_DENSE,), 1))
                request = _make_request(question.text, legs, _RESULT_COUNT)
                through.append(_time(partial(_retrieve, stub, request)))
            ours, theirs = p50(through[_WARM_UP_COUNT:]), p50(bare[_WARM_UP_COUNT:])
            details = {"passages": passage_count, "service_ms": round(ours, 2), "bare_ms": round(theirs, 2)}
            figures.append(Figure(f"{way}: Retrieve p50 - bare p50", ours - theirs, "ms", MAX_ADDED_MS, details))
    connection.close()
    return figures


def _time(action: Callable[[], None]) -> float:
    """How long it takes, in ms."""
    begun = time.perf_counter()
    action()
    return (time.perf_counter() - begun) * 1e3


def _search_barely(connection: http.client.HTTPConnection, question: Question, legs: tuple[Leg, ...]) -> None:
    if len(legs) == 1:
        path, content = f"/{question.index}/_search", json.dumps(question.bodies[legs[0]])
    else:
        lines: Iterator[Body] = (line for leg in legs for line in ({}, question.bodies[leg]))
        path, content = f"/{question.index}/_msearch", "\n".join(map(json.dumps, lines)) + "\n"
    kind = "application/json" if len(legs) == 1 else "application/x-ndjson"
    connection.request("POST", path, content, {"Content-Type": kind})
    answer = json.loads(connection.getresponse().read())
    for each in answer.get("responses", [answer]):
        assert each["hits"]["hits"], "nothing was found"
        assert all(hit["fields"]["passage"] for hit in each["hits"]["hits"]), "no texts came"


def _retrieve(stub: Any, request: retrieval_pb2.RetrieveRequest) -> None:
    response = stub.Retrieve(request, timeout=30.0, metadata=open_metadata(_ANA))
    assert response.candidates, "nothing was found"
    assert not any(report.error_reason for report in response.leg_reports)


def _make_request(text: str, legs: tuple[Leg, ...], count: int) -> retrieval_pb2.RetrieveRequest:
    request = retrieval_pb2.RetrieveRequest(max_candidates=count)
    for leg in legs:
        request.queries.add(leg=leg, text=text)
    return request
