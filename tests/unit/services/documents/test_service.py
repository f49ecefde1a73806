"""The service over its real store, parsers and handler; only the encoder is a small one made for tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from google.protobuf.timestamp_pb2 import Timestamp
from prometheus_client import CollectorRegistry

from citemesh.auth.principal import Principal, acting_as
from citemesh.rpc.errors import ServiceError, reason_name
from citemesh.rpc.spec import StartContext
from citemesh.telemetry.metrics import MetricFactory
from citemesh.v1 import documents_pb2 as pb
from citemesh.v1.document_pb2 import AccessPolicy, AllowedPrincipals, Everyone, ParsingStrategy
from citemesh.v1.question_pb2 import DocumentIds, Scope
from services.documents import service as service_module
from services.documents.reading import DocumentReader
from tests.unit.services.documents.conftest import NewPdf, WordEncoder

ADA = Principal("acme", "ada", frozenset({"staff"}))
BO = Principal("acme", "bo", frozenset({"hr"}))
STRANGER = Principal("other", "ada", frozenset({"staff", "hr"}))
EVERYONE = AccessPolicy(everyone=Everyone())
NEW_YEAR = Timestamp(seconds=1_767_225_600)
ONLY_HR = AccessPolicy(only=AllowedPrincipals(groups=["hr"]))


class Unhurried:
    """A call without a deadline."""

    def time_remaining(self) -> float | None:
        return None


@dataclass
class Mesh:
    """The running service, called through its handler."""

    service: service_module.DocumentsService
    registry: CollectorRegistry
    state_dir: Path

    @property
    def handler(self) -> Any:
        return self.service._handler

    async def ingest(
        self, content: bytes | str, file_name: str = "rules.md", principal: Principal = ADA, **header: Any
    ) -> pb.IngestResponse:
        data = content.encode() if isinstance(content, str) else content
        with acting_as(principal):
            stored: pb.IngestResponse = await self.handler.Ingest(pieces(data, file_name, **header), Unhurried())
        return stored

    async def call(self, method: str, request: object, principal: Principal = ADA) -> Any:
        with acting_as(principal):
            return await getattr(self.handler, method)(request, Unhurried())

    def ingested(self, result: str) -> float:
        return self.registry.get_sample_value("citemesh_ingested_documents_total", {"result": result}) or 0.0


async def pieces(data: bytes, file_name: str, size: int = 1000, **header: Any) -> AsyncIterator[pb.IngestRequest]:
    yield pb.IngestRequest(header=pb.IngestHeader(file_name=file_name, **header))
    for start in range(0, len(data), size):
        yield pb.IngestRequest(chunk=data[start : start + size])


async def start(monkeypatch: pytest.MonkeyPatch, state_dir: Path, revision: str = "1", **environ: str) -> Mesh:
    monkeypatch.setattr(service_module, "load_encoder", lambda *_: WordEncoder(revision))
    registry = CollectorRegistry()
    context = StartContext(
        environ={"CITEMESH_DOCUMENTS_PARSE_WALL_S": "60", "CITEMESH_DOCUMENTS_PARSE_CPU_S": "20", **environ},
        state_dir=state_dir,
        registry=registry,
        metrics=MetricFactory(registry),
        open_channel=lambda name: pytest.fail(f"documents calls nobody, and called {name}"),
    )
    return Mesh(await service_module.start(context), registry, state_dir)


@pytest_asyncio.fixture
async def mesh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[Mesh]:
    started = await start(monkeypatch, tmp_path)
    yield started
    await started.service.close()


async def reason_of(awaited: Awaitable[object]) -> str:
    with pytest.raises(ServiceError) as refused:
        await awaited
    return reason_name(refused.value.reason)


RULES = "# Rules\n\n## 1 Lamp\n\nThe lamp burns all night.\n"


async def test_an_ingested_document_is_there_with_sections_and_passages(mesh: Mesh) -> None:
    response = await mesh.ingest(RULES)
    assert response.result == pb.INGEST_RESULT_CREATED
    document = response.document
    assert (document.document_id, document.document_version, document.title) == ("rules", 1, "Rules")
    assert (document.media_type, document.passage_count) == ("text/markdown", 1)
    got = await mesh.call("Get", pb.GetRequest(document_id="rules"))
    assert [section.title for section in got.sections] == ["Rules", "Lamp"]
    assert await mesh.service.check() is None
    assert mesh.ingested("ok") == 1


async def test_the_same_content_again_changes_nothing(mesh: Mesh) -> None:
    await mesh.ingest(RULES)
    again = await mesh.ingest(RULES)
    assert again.result == pb.INGEST_RESULT_UNCHANGED
    assert again.document.document_version == 1


async def test_what_is_stored_already_is_not_read_again(mesh: Mesh, monkeypatch: pytest.MonkeyPatch) -> None:
    await mesh.ingest(RULES, access=EVERYONE, effective_from_time=NEW_YEAR)
    await mesh.ingest(RULES + "\nAnd by day.\n", access=EVERYONE)

    async def refuse(*_: object) -> None:
        raise AssertionError("the file was read again")

    monkeypatch.setattr(DocumentReader, "read", refuse)
    headers: list[dict[str, Any]] = [{"effective_from_time": NEW_YEAR}, {}]
    for content, header in zip((RULES, RULES + "\nAnd by day.\n"), headers, strict=True):
        again = await mesh.ingest(content, access=EVERYONE, **header)
        assert again.result == pb.INGEST_RESULT_UNCHANGED


async def test_content_that_was_corrected_since_is_a_correction_again(mesh: Mesh) -> None:
    for content, version in ((RULES, 1), (RULES + "\nAnd by day.\n", 2), (RULES, 3)):
        assert (await mesh.ingest(content)).document.document_version == version


async def test_content_that_another_end_replaced_is_a_correction_again(mesh: Mesh) -> None:
    await mesh.ingest(RULES, effective_from_time=NEW_YEAR)
    later = Timestamp(seconds=NEW_YEAR.seconds + 86400)
    await mesh.ingest(RULES + "\nAnd by day.\n", effective_from_time=NEW_YEAR, effective_to_time=later)
    again = await mesh.ingest(RULES, effective_from_time=NEW_YEAR)
    assert (again.result, again.document.document_version) == (pb.INGEST_RESULT_NEW_VERSION, 3)


async def test_an_older_period_sent_again_stays_as_it_is(mesh: Mesh, monkeypatch: pytest.MonkeyPatch) -> None:
    last_year: dict[str, Any] = {
        "effective_from_time": Timestamp(seconds=NEW_YEAR.seconds - 365 * 86400),
        "effective_to_time": NEW_YEAR,
    }
    await mesh.ingest(RULES, **last_year)
    await mesh.ingest(RULES + "\nAnd by day.\n", effective_from_time=NEW_YEAR)
    monkeypatch.setattr(DocumentReader, "read", lambda *_: pytest.fail("the file was read again"))
    again = await mesh.ingest(RULES, **last_year)
    assert (again.result, again.document.document_version) == (pb.INGEST_RESULT_UNCHANGED, 1)


async def test_another_title_is_a_new_version_and_none_keeps_the_title(mesh: Mesh) -> None:
    await mesh.ingest(RULES)
    renamed = await mesh.ingest(RULES, title="Lamp rules")
    assert (renamed.result, renamed.document.title) == (pb.INGEST_RESULT_NEW_VERSION, "Lamp rules")
    again = await mesh.ingest(RULES, access=ONLY_HR)
    assert (again.result, again.document.title) == (pb.INGEST_RESULT_UNCHANGED, "Lamp rules")
    assert again.document.access == ONLY_HR


async def test_the_same_content_with_an_access_policy_changes_access_only(mesh: Mesh) -> None:
    await mesh.ingest(RULES)
    again = await mesh.ingest(RULES, access=ONLY_HR)
    assert again.result == pb.INGEST_RESULT_UNCHANGED
    assert await reason_of(mesh.call("Get", pb.GetRequest(document_id="rules"))) == "DOCUMENT_NOT_FOUND"
    assert (await mesh.call("Get", pb.GetRequest(document_id="rules"), BO)).document.document_version == 1


async def test_new_content_or_dates_are_a_new_version(mesh: Mesh) -> None:
    await mesh.ingest(RULES)
    changed = await mesh.ingest(RULES + "\nAnd by day.\n")
    assert (changed.result, changed.document.document_version) == (pb.INGEST_RESULT_NEW_VERSION, 2)
    dated = await mesh.ingest(RULES + "\nAnd by day.\n", effective_from_time=Timestamp(seconds=1893456000))
    assert dated.document.document_version == 3
    got = await mesh.call("Get", pb.GetRequest(document_id="rules"))
    assert got.document.document_version == 2
    assert [version.document_version for version in got.versions] == [3, 2, 1]


async def test_lists_and_profiles_follow_the_time_asked_for(mesh: Mesh) -> None:
    await mesh.ingest(RULES, effective_to_time=Timestamp(seconds=1577836800))
    listed = await mesh.call("List", pb.ListRequest())
    assert not listed.documents
    before = pb.ListRequest(as_of_time=Timestamp(seconds=1546300800))
    assert len((await mesh.call("List", before)).documents) == 1
    profile = await mesh.call("Profile", pb.ProfileRequest(as_of_time=Timestamp(seconds=1546300800)))
    assert profile.scope_profile.document_count == 1
    assert profile.scope_profile.profiles[0].has_usable_toc


async def test_what_may_not_be_read_is_not_there(mesh: Mesh) -> None:
    await mesh.ingest(RULES, principal=BO, access=ONLY_HR)
    scope = Scope(documents=DocumentIds(document_ids=["rules"]))
    for principal in (ADA, STRANGER):
        assert not (await mesh.call("List", pb.ListRequest(), principal)).documents
        profile = await mesh.call("Profile", pb.ProfileRequest(scope=scope), principal)
        assert profile.scope_profile.document_count == 0
        for method, request in (
            ("Get", pb.GetRequest(document_id="rules")),
            ("Delete", pb.DeleteRequest(document_id="rules")),
            ("SetAccess", pb.SetAccessRequest(document_id="rules", access=EVERYONE)),
            ("RenderPage", pb.RenderPageRequest(document_id="rules", page_number=1)),
            ("Reparse", pb.ReparseRequest(document_id="rules", page_numbers=[1])),
        ):
            assert await reason_of(mesh.call(method, request, principal)) == "DOCUMENT_NOT_FOUND", method
    assert (await mesh.call("Get", pb.GetRequest(document_id="rules"), BO)).document.title == "Rules"


async def test_nobody_overwrites_or_opens_a_document_that_he_may_not_read(mesh: Mesh) -> None:
    await mesh.ingest(RULES, principal=BO, access=ONLY_HR)
    assert await reason_of(mesh.ingest("# Mine\n\nAll mine.\n", access=EVERYONE)) == "PERMISSION_DENIED"
    assert await reason_of(mesh.ingest(RULES, access=EVERYONE)) == "PERMISSION_DENIED"
    assert (await mesh.ingest("# Mine\n\nAll mine.\n", principal=STRANGER)).result == pb.INGEST_RESULT_CREATED
    got = await mesh.call("Get", pb.GetRequest(document_id="rules"), BO)
    assert (got.document.title, len(got.versions)) == ("Rules", 1)


async def test_a_revoke_holds_from_the_next_request_on(mesh: Mesh) -> None:
    await mesh.ingest(RULES)
    first = await mesh.call("SetAccess", pb.SetAccessRequest(document_id="rules", access=ONLY_HR))
    assert await reason_of(mesh.call("Get", pb.GetRequest(document_id="rules"))) == "DOCUMENT_NOT_FOUND"
    second = await mesh.call("SetAccess", pb.SetAccessRequest(document_id="rules", access=EVERYONE), BO)
    assert second.permission_version > first.permission_version
    assert (await mesh.call("Get", pb.GetRequest(document_id="rules"))).document.document_id == "rules"


async def test_a_deleted_document_is_gone_with_all_versions(mesh: Mesh) -> None:
    await mesh.ingest(RULES)
    await mesh.ingest(RULES + "More.\n")
    assert (await mesh.call("Delete", pb.DeleteRequest(document_id="rules"))).version_count == 2
    assert await reason_of(mesh.call("Get", pb.GetRequest(document_id="rules"))) == "DOCUMENT_NOT_FOUND"
    assert (await mesh.ingest(RULES)).document.document_version == 1


@pytest.mark.parametrize(
    ("messages", "field"),
    [
        ([], "header"),
        ([pb.IngestRequest(chunk=b"x")], "header"),
        ([pb.IngestRequest(header=pb.IngestHeader(file_name="a.txt"))] * 2, "part"),
        (
            [pb.IngestRequest(header=pb.IngestHeader(file_name="a.txt")), pb.IngestRequest(chunk=bytes(1 << 21))],
            "chunk",
        ),
        ([pb.IngestRequest(header=pb.IngestHeader(file_name="a.txt", document_id="a b"))], "header.document_id"),
    ],
)
async def test_streams_out_of_order_are_refused_by_field(
    mesh: Mesh, messages: list[pb.IngestRequest], field: str
) -> None:
    async def send() -> AsyncIterator[pb.IngestRequest]:
        for message in messages:
            yield message

    with pytest.raises(ServiceError) as refused, acting_as(ADA):
        await mesh.handler.Ingest(send(), Unhurried())
    assert refused.value.field_violations[0][0] == field


@pytest.mark.parametrize(
    ("content", "name", "reason"),
    [
        (b"", "a.txt", "FILE_EMPTY"),
        (b"   \n", "a.txt", "FILE_EMPTY"),
        (b"%PDF-1.7 nothing more", "a.pdf", "FILE_CORRUPT"),
        (b"\x89PNG\r\n" + bytes(50), "a.png", "FILE_TYPE_UNSUPPORTED"),
        (bytes(2 << 20), "a.txt", "FILE_TOO_LARGE"),
    ],
)
async def test_bad_files_are_refused_with_their_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes, name: str, reason: str
) -> None:
    mesh = await start(monkeypatch, tmp_path, CITEMESH_DOCUMENTS_MAX_FILE_SIZE_MIB="1")
    assert await reason_of(mesh.ingest(content, name)) == reason
    assert mesh.ingested(reason) == 1
    assert not (await mesh.call("List", pb.ListRequest())).documents
    assert list((tmp_path / "uploads").iterdir()) == []
    await mesh.service.close()


async def test_a_cancelled_ingest_leaves_nothing(mesh: Mesh) -> None:
    async def endless() -> AsyncIterator[pb.IngestRequest]:
        yield pb.IngestRequest(header=pb.IngestHeader(file_name="a.txt"))
        yield pb.IngestRequest(chunk=b"Some text.")
        await asyncio.sleep(60)

    async def ingest() -> None:
        with acting_as(ADA):
            await mesh.handler.Ingest(endless(), Unhurried())

    task = asyncio.create_task(ingest())
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert list((mesh.state_dir / "uploads").iterdir()) == []
    assert not (await mesh.call("List", pb.ListRequest())).documents


async def test_too_many_at_once_are_refused_as_overload(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mesh = await start(monkeypatch, tmp_path, CITEMESH_DOCUMENTS_MAX_PENDING_INGESTS="1")
    results = await asyncio.gather(mesh.ingest(RULES, "a.md"), mesh.ingest(RULES, "b.md"), return_exceptions=True)
    assert sorted(type(result).__name__ for result in results) == ["IngestResponse", "ServiceError"]
    assert (await mesh.ingest(RULES, "b.md")).document.document_id == "b"
    await mesh.service.close()


async def test_too_many_files_waiting_for_a_parser_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pdf: NewPdf
) -> None:
    limits = {"CITEMESH_DOCUMENTS_PARSER_COUNT": "1", "CITEMESH_DOCUMENTS_MAX_WAITING_PARSES": "0"}
    mesh = await start(monkeypatch, tmp_path / "state", **limits)
    page = pdf("a.pdf")
    page.line("The lamp shall burn from the setting of the sun.")
    await mesh.ingest(page.save().read_bytes(), "a.pdf")
    request = pb.RenderPageRequest(document_id="a", page_number=1)
    both = asyncio.gather(*(mesh.call("RenderPage", request) for _ in range(2)), return_exceptions=True)
    (refused,) = (result for result in await both if isinstance(result, ServiceError))
    assert reason_name(refused.reason) == "OVERLOADED"
    assert (await mesh.call("RenderPage", request)).png
    await mesh.service.close()


async def test_forty_at_once_with_three_bad_ones_lose_nothing(mesh: Mesh, pdf: NewPdf) -> None:
    async def one(number: int) -> str:
        if number in (5, 17, 33):
            return await reason_of(mesh.ingest(b"%PDF-1.4 broken" + bytes([number]), f"d{number}.pdf"))
        page = pdf(f"d{number}.pdf")
        page.line(f"Document {number} says that the lamp burns {number} hours each night.")
        response = await mesh.ingest(page.save().read_bytes(), f"d{number}.pdf")
        return response.document.document_id

    results = await asyncio.gather(*(one(number) for number in range(40)))
    assert sum(result == "FILE_CORRUPT" for result in results) == 3
    listed = await mesh.call("List", pb.ListRequest())
    assert len(listed.documents) == 37
    assert {document.passage_count for document in listed.documents} == {1}


async def test_a_page_is_drawn_with_its_quotes(mesh: Mesh, pdf: NewPdf) -> None:
    page = pdf("a.pdf")
    page.line("The lamp shall burn from the setting of the sun.")
    await mesh.ingest(page.save().read_bytes(), "a.pdf")
    request = pb.RenderPageRequest(
        document_id="a", page_number=1, highlights=[pb.Highlight(quote="not there"), pb.Highlight(quote="lamp shall")]
    )
    drawn = await mesh.call("RenderPage", request)
    assert drawn.png.startswith(b"\x89PNG")
    assert list(drawn.highlighted_indices) == [1]
    request.page_number = 2
    assert await reason_of(mesh.call("RenderPage", request)) == "PAGE_NOT_FOUND"
    request.resolution_dpi = 1000
    assert await reason_of(mesh.call("RenderPage", request)) == "INVALID_FIELD"


async def test_an_encrypted_file_is_read_with_its_password_and_drawn_never(mesh: Mesh, shared_data: Path) -> None:
    data = (shared_data / "pdfs" / "encrypted" / "password-example.pdf").read_bytes()
    assert await reason_of(mesh.ingest(data, "p.pdf")) == "FILE_ENCRYPTED"
    assert await reason_of(mesh.ingest(data, "p.pdf", password="no")) == "FILE_PASSWORD_WRONG"
    assert (await mesh.ingest(data, "p.pdf", password="test")).document.profile.page_count == 4
    drawn = mesh.call("RenderPage", pb.RenderPageRequest(document_id="p", page_number=1))
    assert await reason_of(drawn) == "FILE_ENCRYPTED"


async def test_without_ocr_a_page_without_text_is_refused_and_the_others_are_read(
    mesh: Mesh, pdf: NewPdf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.documents.reparse.ocr_is_installed", lambda: False)
    page = pdf("a.pdf")
    page.line("The first page has nothing but this sentence on it, and that is enough for it.")
    page.next_page()
    page.next_page()
    page.line("The second page is empty.")
    await mesh.ingest(page.save().read_bytes(), "a.pdf")
    empty = mesh.call("Reparse", pb.ReparseRequest(document_id="a", page_numbers=[2]))
    assert await reason_of(empty) == "NOT_CONFIGURED"
    both = await mesh.call("Reparse", pb.ReparseRequest(document_id="a", page_numbers=[1, 2]))
    assert both.passage_count == 1


async def test_reparsed_pages_get_the_tables_that_the_first_reading_missed(mesh: Mesh, pdf: NewPdf) -> None:
    page = pdf("a.pdf")
    page.line("The first page has nothing but this sentence on it, and that is enough for it.")
    page.next_page()
    top = page.y
    for x, cells in (
        (72, ("Keeper", "Ada", "Bo", "Cy")),
        (200, ("Shift", "night", "day", "night")),
        (300, ("Hours", "8", "9", "7")),
    ):
        page.y = top
        for text in cells:
            page.line(text, x=x, gap=16)
    await mesh.ingest(page.save().read_bytes(), "a.pdf")
    first = await mesh.call("Reparse", pb.ReparseRequest(document_id="a", page_numbers=[2]))
    assert first.changed
    assert first.passage_count == 1
    again = await mesh.call("Reparse", pb.ReparseRequest(document_id="a", page_numbers=[2]))
    assert not again.changed
    assert await reason_of(mesh.call("Reparse", pb.ReparseRequest(document_id="a"))) == "INVALID_FIELD"
    assert (
        await reason_of(mesh.call("Reparse", pb.ReparseRequest(document_id="a", page_numbers=[3]))) == "PAGE_NOT_FOUND"
    )


async def test_ocr_that_is_not_installed_is_refused_in_plain_words(
    mesh: Mesh, pdf: NewPdf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.documents.reparse.ocr_is_installed", lambda: False)
    page = pdf("a.pdf")
    page.line("The first page has nothing but this sentence on it, and that is enough for it.")
    await mesh.ingest(page.save().read_bytes(), "a.pdf")
    request = pb.ReparseRequest(document_id="a", page_numbers=[1], strategy=ParsingStrategy.PARSING_STRATEGY_OCR)
    with pytest.raises(ServiceError, match="OCR is not installed") as raised:
        await mesh.call("Reparse", request)
    assert reason_name(raised.value.reason) == "NOT_CONFIGURED"
    assert not raised.value.metadata


async def test_another_encoder_is_told_and_reindexed_only_when_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mesh = await start(monkeypatch, tmp_path)
    await mesh.ingest(RULES)
    await mesh.service.close()
    mesh = await start(monkeypatch, tmp_path, revision="2")
    reason = await mesh.service.check()
    assert reason is not None
    assert reason.count("CITEMESH_DOCUMENTS_REINDEX_AT_START=true") == 1
    await mesh.service.close()
    mesh = await start(monkeypatch, tmp_path, revision="2", CITEMESH_DOCUMENTS_REINDEX_AT_START="true")
    assert await mesh.service.check() is None
    assert (await mesh.call("Get", pb.GetRequest(document_id="rules"))).document.passage_count == 1
    await mesh.service.close()


async def test_documents_survive_a_restart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mesh = await start(monkeypatch, tmp_path)
    await mesh.ingest(RULES)
    await mesh.service.close()
    mesh = await start(monkeypatch, tmp_path)
    assert len((await mesh.call("List", pb.ListRequest())).documents) == 1
    await mesh.service.close()
