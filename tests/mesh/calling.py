"""Calls a mesh as another team's service would: generated stubs, a channel, metadata. Nothing of the services."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any

import grpc

from citemesh.auth.principal import Metadata, Principal, open_metadata
from citemesh.v1 import dispatcher_pb2, document_pb2, documents_pb2, documents_pb2_grpc, question_pb2
from tests.conftest import REPO
from tests.mesh.hosting import Mesh

DEMO = REPO / "demo"
TIMEOUT_S = 30.0
WRITER = open_metadata(Principal("default", "librarian", frozenset()))


def as_user(text: str) -> Metadata:
    """`ana:staff,hr` as the metadata of open auth."""
    user, _, groups = text.partition(":")
    return open_metadata(Principal("default", user, frozenset(filter(None, groups.split(",")))))


def ingest_corpus(mesh: Mesh) -> list[documents_pb2.IngestResponse]:
    """The demo's documents, in order."""
    with grpc.insecure_channel(mesh.targets["documents"]) as channel:
        stub = documents_pb2_grpc.DocumentsServiceStub(channel)
        items = json.loads((DEMO / "corpus.json").read_text(encoding="utf-8"))
        return [stub.Ingest(read_parts(item), timeout=120.0, metadata=WRITER) for item in items]


def read_parts(item: Mapping[str, Any]) -> Iterator[documents_pb2.IngestRequest]:
    """The messages that carry one file of corpus.json."""
    path = DEMO / item["path"]
    header = documents_pb2.IngestHeader(document_id=item["document_id"], file_name=path.name, title=item["title"])
    for key in ("effective_from", "effective_to"):
        if key in item:
            getattr(header, f"{key}_time").FromJsonString(f"{item[key]}T00:00:00Z")
    if "allow" in item:
        header.access.only.CopyFrom(document_pb2.AllowedPrincipals(groups=item["allow"]))
    yield documents_pb2.IngestRequest(header=header)
    content = path.read_bytes()
    for start in range(0, len(content), 65536):
        yield documents_pb2.IngestRequest(chunk=content[start : start + 65536])


def demo_questions() -> dict[str, dict[str, Any]]:
    """The demo's questions by id."""
    return {row["id"]: row for row in json.loads((DEMO / "questions.json").read_text(encoding="utf-8"))}


def make_request(
    row: Mapping[str, Any], earlier: dispatcher_pb2.AnswerResponse | None = None
) -> dispatcher_pb2.AnswerRequest:
    """The request of one demo question; a follow-up carries the turn before it."""
    request = dispatcher_pb2.AnswerRequest(question=row["question"])
    if "as_of" in row:
        request.as_of_time.FromJsonString(f"{row['as_of']}T00:00:00Z")
    if "document_ids" in row:
        request.scope.documents.document_ids.extend(row["document_ids"])
    if earlier is not None:
        asked = earlier.parsed_question.original_question
        request.history.add(role=question_pb2.ROLE_USER, text=asked)
        request.history.add(role=question_pb2.ROLE_ASSISTANT, text=earlier.answer.text)
    return request


def fetch_metrics(address: str) -> str:
    """The page that a process serves for Prometheus."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=5) as page:
        text: str = page.read().decode()
        return text
