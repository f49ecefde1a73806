"""A small corpus in which every word of a document tells whose it is, and the callers who may read parts of it."""

from __future__ import annotations

import dataclasses
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import grpc
from google.protobuf.message import Message
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from citemesh.auth.principal import Metadata, Principal, open_metadata
from citemesh.v1 import activation_pb2, documents_pb2, documents_pb2_grpc, retrieval_pb2, retrieval_pb2_grpc
from citemesh.v1.document_pb2 import AccessPolicy, AllowedPrincipals, Document, Everyone
from citemesh.v1.evidence_pb2 import Passage
from tests.mesh.calling import TIMEOUT_S
from tests.mesh.hosting import Mesh

TENANT: Final = "matrix"
RIVALS: Final = "rivals"
QUESTION: Final = "What is the oil allowance of the keeper?"


@dataclass(frozen=True)
class Paper:
    """One document: who may read it (None: everyone of its tenant), and the words that occur in no other."""

    name: str
    tenant_id: str
    users: tuple[str, ...] | None = None
    groups: tuple[str, ...] = ()

    @property
    def document_id(self) -> str:
        return f"paper-{self.name}"

    @property
    def title(self) -> str:
        return f"Orders titled{self.name}word"

    @property
    def marks(self) -> tuple[str, ...]:
        """Words of its title, headings, text, list and table: where one of them shows, the document does."""
        return tuple(f"{part}{self.name}word" for part in ("titled", "headed", "written", "listed", "tabled"))

    @property
    def access(self) -> AccessPolicy:
        if self.users is None:
            return AccessPolicy(everyone=Everyone())
        return AccessPolicy(only=AllowedPrincipals(users=self.users, groups=self.groups))

    def readable_by(self, principal: Principal) -> bool:
        if principal.tenant_id != self.tenant_id:
            return False
        named = self.users is not None and principal.user_id in self.users
        return self.users is None or named or bool(principal.groups & set(self.groups))


PAPERS: Final = (
    Paper("open", TENANT),
    Paper("staff", TENANT, (), ("staff",)),
    Paper("hr", TENANT, (), ("hr",)),
    Paper("ana", TENANT, ("ana",)),
    Paper("nobody", TENANT, (), ()),
    Paper("rival", RIVALS),
)
CALLERS: Final = (
    Principal(TENANT, "guest", frozenset()),
    Principal(TENANT, "sam", frozenset({"staff"})),
    Principal(TENANT, "hel", frozenset({"hr", "staff"})),
    Principal(TENANT, "ana", frozenset()),
    Principal(TENANT, "staff", frozenset()),  # a user named like a group
    Principal(RIVALS, "ana", frozenset({"staff", "hr"})),
)


def draw_paper(paper: Paper) -> bytes:
    """A PDF of one page with an outline, a list, a table and a reference to a table."""
    _, heading, text, item, cell = paper.marks
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=A4)
    canvas.bookmarkPage("one")
    canvas.addOutlineEntry(f"1 Allowance {heading}", "one", 0)
    lines = [
        f"1 Allowance {heading}", "",
        f"The oil allowance of the keeper is {text}, as Table 1 shows. The keeper has two duties:",
        f"(a) to light the lamp {item} at dusk;", f"(b) to keep the log of oil {item} in order.", "",
        f"Table 1: oil of the keeper {cell}", "Lamp        Oil", "north       12", "south       15",
    ]  # fmt: skip
    for number, line in enumerate(lines):
        canvas.setFont("Helvetica-Bold" if number == 0 else "Helvetica", 14 if number == 0 else 10)
        canvas.drawString(72, 750 - 14 * number, line)
    canvas.save()
    return stream.getvalue()


@dataclass
class Corpus:
    """What was stored: documents and their passages by the paper's name."""

    documents: dict[str, Document] = dataclasses.field(default_factory=dict)
    passages: dict[str, list[Passage]] = dataclasses.field(default_factory=dict)


def ingest_papers(mesh: Mesh) -> Corpus:
    """Stores every paper and reads its passages back as one who may, before it is closed to them."""
    corpus = Corpus()
    with grpc.insecure_channel(mesh.targets["documents"]) as documents:
        stub = documents_pb2_grpc.DocumentsServiceStub(documents)
        with grpc.insecure_channel(mesh.targets["retrieval"]) as retrieval:
            for paper in PAPERS:
                opened = dataclasses.replace(paper, users=("opener",))
                opener = open_metadata(Principal(paper.tenant_id, "opener", frozenset()))
                stored = stub.Ingest(_send(opened), timeout=TIMEOUT_S * 4, metadata=opener)
                corpus.documents[paper.name] = stored.document
                corpus.passages[paper.name] = _read_passages(retrieval, paper, opener)
                set_access(stub, paper, paper.access, opener)
    return corpus


def set_access(
    stub: documents_pb2_grpc.DocumentsServiceStub, paper: Paper, access: AccessPolicy, metadata: Metadata
) -> None:
    """Says who may read a paper."""
    request = documents_pb2.SetAccessRequest(document_id=paper.document_id, access=access)
    stub.SetAccess(request, timeout=TIMEOUT_S, metadata=metadata)


def find_marks(message: Message | str, papers: list[Paper]) -> set[str]:
    """The words of these papers that a message holds, in any field, and their ids."""
    text = message if isinstance(message, str) else str(message)
    marks = {mark for paper in papers for mark in (*paper.marks, paper.document_id)}
    return {mark for mark in marks if re.search(rf"\b{mark}\b", text)}


def _send(paper: Paper) -> Iterator[documents_pb2.IngestRequest]:
    header = documents_pb2.IngestHeader(
        document_id=paper.document_id, file_name="paper.pdf", title=paper.title, access=paper.access
    )
    yield documents_pb2.IngestRequest(header=header)
    yield documents_pb2.IngestRequest(chunk=draw_paper(paper))


def _read_passages(channel: grpc.Channel, paper: Paper, metadata: Metadata) -> list[Passage]:
    request = retrieval_pb2.RetrieveRequest(max_candidates=50)
    request.queries.add(leg=activation_pb2.PATTERN_DENSE, text=QUESTION)
    request.scope.documents.document_ids.append(paper.document_id)
    found = retrieval_pb2_grpc.RetrievalServiceStub(channel).Retrieve(request, timeout=TIMEOUT_S, metadata=metadata)
    return [candidate.passage for candidate in found.candidates]
