"""`citemesh documents`: what the mesh holds, and who may read it."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer
from rich.table import Table

from citemesh.cli.access import describe_access, read_access
from citemesh.cli.connection import connect
from citemesh.cli.exits import CommandError
from citemesh.cli.narration.words import count, describe_date
from citemesh.cli.options import (
    DEFAULT_TIMEOUT_S,
    AsOfOption,
    AsOption,
    Common,
    JsonOption,
    StateDirOption,
    TargetOption,
    TimeoutOption,
    make_scope,
    read_common,
    read_time,
)
from citemesh.cli.output import Output, make_printable
from citemesh.cli.running import run
from citemesh.rpc.calls import call
from citemesh.v1 import document_pb2, documents_pb2, documents_pb2_grpc

app = typer.Typer(no_args_is_help=True, help="What the mesh holds, and who may read it.")

_PAGE_SIZE = 1000
_ADMINS = "(CITEMESH_DOCUMENTS_ADMIN_GROUPS)"

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The document.")]


@app.command("list")
def list_documents(
    superseded: Annotated[bool, typer.Option("--superseded", help="Also list versions that are not in force.")] = False,
    as_of: AsOfOption = None,
    target: TargetOption = None,
    as_json: JsonOption = False,
    as_user: AsOption = None,
    timeout: TimeoutOption = DEFAULT_TIMEOUT_S,
    state_dir: StateDirOption = None,
) -> None:
    """List the documents that the caller may read."""
    common = read_common(target, as_json, as_user, timeout, state_dir)
    request = documents_pb2.ListRequest(
        page_size=_PAGE_SIZE, include_superseded=superseded, as_of_time=read_time(as_of, "--as-of")
    )
    run(_list(common, request))


async def _list(common: Common, request: documents_pb2.ListRequest) -> None:
    output = Output(common.as_json)
    whole = documents_pb2.ListResponse()
    async with connect(common, output) as connection:
        stub = documents_pb2_grpc.DocumentsServiceStub(connection.channel)
        while True:
            page = await call(stub.List, request, timeout=connection.timeout_s, service="documents")
            whole.documents.extend(page.documents)
            if not page.next_page_token:
                break
            request.page_token = page.next_page_token
    output.json(whole)
    if not whole.documents:
        output.note("No documents. `citemesh ingest PATH...` brings some in.")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("id", "version", "title", "pages", "passages", "in force", "may be read by"):
        justify: Literal["left", "right"] = "right" if column in ("version", "pages", "passages") else "left"
        table.add_column(column, overflow="fold", justify=justify, no_wrap=column == "id")
    for document in whole.documents:
        table.add_row(
            make_printable(document.document_id),
            str(document.document_version),
            make_printable(document.title),
            str(document.profile.page_count or "-"),
            str(document.passage_count),
            _describe_period(document),
            make_printable(describe_access(document.access)),
        )
    output.result(table)


def _describe_period(document: document_pb2.Document) -> str:
    begin = f"from {describe_date(document.effective_from_time)}" if document.HasField("effective_from_time") else ""
    end = f"until {describe_date(document.effective_to_time)}" if document.HasField("effective_to_time") else ""
    period = " ".join(part for part in (begin, end) if part) or "always"
    return f"{period}, superseded" if document.superseded else period


@app.command()
def show(
    document_id: IdArgument,
    version: Annotated[
        int, typer.Option("--version", metavar="N", min=0, help="The version; 0 is the one in force.")
    ] = 0,
    target: TargetOption = None,
    as_json: JsonOption = False,
    as_user: AsOption = None,
    timeout: TimeoutOption = DEFAULT_TIMEOUT_S,
    state_dir: StateDirOption = None,
) -> None:
    """Show a document: what is known of it, its sections, its versions."""
    common = read_common(target, as_json, as_user, timeout, state_dir)
    run(_show(common, documents_pb2.GetRequest(document_id=document_id, document_version=version)))


async def _show(common: Common, request: documents_pb2.GetRequest) -> None:
    output = Output(common.as_json)
    async with connect(common, output) as connection:
        stub = documents_pb2_grpc.DocumentsServiceStub(connection.channel)
        response = await call(stub.Get, request, timeout=connection.timeout_s, service="documents")
    output.json(response)
    document = response.document
    output.result(make_printable(f"{document.document_id}, version {document.document_version}: {document.title}"))
    size = f"{document.media_type}, {document.size_bytes:,} bytes"
    output.result(f"  {size}, {count(document.passage_count, 'passage')}, sha256 {document.content_hash[:16]}…")
    output.result(
        f"  in force {_describe_period(document)}; may be read by {make_printable(describe_access(document.access))}"
    )
    for line in _describe_profile(document.profile):
        output.result(make_printable(f"  {line}"))
    for warning in document.warnings:
        output.result(make_printable(f"  note: {warning}"))
    for section in response.sections:
        page = f" … {section.page_first}" if section.page_first else ""
        title = f"{section.number} {section.title}".strip()
        output.result(make_printable(f"  {'  ' * section.level}{title}{page}"))
    for other in response.versions:
        output.result(f"  version {other.document_version}: in force {_describe_period(other)}")


def _describe_profile(profile: document_pb2.DocumentProfile) -> list[str]:
    toc = f"table of contents with {count(profile.toc_entry_count, 'entry', 'entries')}"
    pages = count(profile.page_count, "page") if profile.page_count else "without pages"
    lines = [f"{pages}, language {profile.language or 'unknown'}"]
    lines.append(f"{toc}, {'usable' if profile.has_usable_toc else 'not usable'}")
    if profile.encrypted:
        lines.append("encrypted")
    if profile.attachment_names:
        lines.append(f"attached and not read: {', '.join(profile.attachment_names)}")
    if profile.likely_scanned:
        lines.append("likely scanned")
    if profile.pages_without_text:
        lines.append(f"no text on {count(len(profile.pages_without_text), 'page')}")
    return lines


@app.command()
def profile(
    document_ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID...]", help="The documents. Default: all.")
    ] = None,
    as_of: AsOfOption = None,
    target: TargetOption = None,
    as_json: JsonOption = False,
    as_user: AsOption = None,
    timeout: TimeoutOption = DEFAULT_TIMEOUT_S,
    state_dir: StateDirOption = None,
) -> None:
    """Sum up documents as the activation rules see them."""
    common = read_common(target, as_json, as_user, timeout, state_dir)
    request = documents_pb2.ProfileRequest(scope=make_scope(document_ids), as_of_time=read_time(as_of, "--as-of"))
    run(_profile(common, request))


async def _profile(common: Common, request: documents_pb2.ProfileRequest) -> None:
    output = Output(common.as_json)
    async with connect(common, output) as connection:
        stub = documents_pb2_grpc.DocumentsServiceStub(connection.channel)
        response = await call(stub.Profile, request, timeout=connection.timeout_s, service="documents")
    output.json(response)
    scope = response.scope_profile
    output.result(
        f"{count(scope.document_count, 'document')}: {scope.usable_toc_count} with a usable table of contents, "
        f"{scope.likely_scanned_count} likely scanned, languages {', '.join(scope.languages) or 'unknown'}"
    )
    for document in scope.profiles:
        described = "; ".join(_describe_profile(document))
        output.result(make_printable(f"  {document.document_id}, version {document.document_version}: {described}"))


@app.command()
def delete(
    document_id: IdArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    target: TargetOption = None,
    as_json: JsonOption = False,
    as_user: AsOption = None,
    timeout: TimeoutOption = DEFAULT_TIMEOUT_S,
    state_dir: StateDirOption = None,
) -> None:
    """Delete a document with all its versions. Asks first, unless --yes is given."""
    common = read_common(target, as_json, as_user, timeout, state_dir)
    if not yes:
        _confirm("Deleting cannot be undone.", f"Delete {document_id} with all its versions?", as_json)
    run(_delete(common, documents_pb2.DeleteRequest(document_id=document_id)))


def _confirm(warning: str, question: str, as_json: bool) -> None:
    """Ask on the terminal. Raises CommandError where nobody can be asked."""
    if as_json or not sys.stdin.isatty():
        raise CommandError(f"{warning} Nobody can be asked here: add --yes")
    typer.confirm(f"{warning} {question}", abort=True, err=True)


async def _delete(common: Common, request: documents_pb2.DeleteRequest) -> None:
    output = Output(common.as_json)
    async with connect(common, output) as connection:
        stub = documents_pb2_grpc.DocumentsServiceStub(connection.channel)
        response = await call(stub.Delete, request, timeout=connection.timeout_s, service="documents")
    output.json(response)
    output.result(f"Deleted {request.document_id}: {count(response.version_count, 'version')}.")


@app.command("set-access")
def set_access(
    document_id: IdArgument,
    allow: Annotated[
        list[str] | None, typer.Option("--allow", metavar="GROUP", help="This group may read it; may be repeated.")
    ] = None,
    allow_user: Annotated[
        list[str] | None, typer.Option("--allow-user", metavar="USER", help="This user may read it; may be repeated.")
    ] = None,
    everyone: Annotated[bool, typer.Option("--everyone", help="Everyone of the tenant may read it.")] = False,
    nobody: Annotated[bool, typer.Option("--nobody", help="Nobody may read it. Asks first.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    target: TargetOption = None,
    as_json: JsonOption = False,
    as_user: AsOption = None,
    timeout: TimeoutOption = DEFAULT_TIMEOUT_S,
    state_dir: StateDirOption = None,
) -> None:
    """Say who may read a document, from the next request on."""
    common = read_common(target, as_json, as_user, timeout, state_dir)
    access = read_access(allow or (), allow_user or (), everyone)
    if nobody:
        if access is not None:
            raise CommandError("--nobody contradicts --allow, --allow-user and --everyone: leave one of them out")
        access = document_pb2.AccessPolicy(only=document_pb2.AllowedPrincipals())
        if not yes:
            _confirm(f"Only administrators of the mesh {_ADMINS} can undo that.", "Close it to everyone?", as_json)
    if access is None:
        raise CommandError("Say who may read it: --allow GROUP, --allow-user USER, --everyone or --nobody")
    closes_out = as_user is not None and not _admits(access, as_user)
    run(_set_access(common, documents_pb2.SetAccessRequest(document_id=document_id, access=access), closes_out))


def _admits(access: document_pb2.AccessPolicy, caller: str) -> bool:
    """Whether USER[:GROUP,...] may read what has this policy."""
    user, _, groups = caller.partition(":")
    shared_groups = {*groups.split(",")} & {*access.only.groups}
    return access.HasField("everyone") or user in access.only.users or bool(shared_groups)


async def _set_access(common: Common, request: documents_pb2.SetAccessRequest, closes_out: bool) -> None:
    output = Output(common.as_json)
    async with connect(common, output) as connection:
        stub = documents_pb2_grpc.DocumentsServiceStub(connection.channel)
        response = await call(stub.SetAccess, request, timeout=connection.timeout_s, service="documents")
    output.json(response)
    output.result(f"{request.document_id} may now be read by {describe_access(request.access)}.")
    if closes_out:
        output.note(f"You are not among them: only they and administrators {_ADMINS} can change it from now on.")
