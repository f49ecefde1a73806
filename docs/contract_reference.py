"""Writes docs/contract.md from the comments of the protos; `--check` only says whether it is up to date."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from google.protobuf import descriptor_pb2
from grpc_tools import protoc

REPO = Path(__file__).resolve().parent.parent
PAGE = REPO / "docs" / "contract.md"
HEADER = """# The contract

Generated from the comments in [protos/citemesh/v1](../protos/citemesh/v1) by `make generate`; do not edit.
Package `citemesh.v1`. Errors travel as `google.rpc.Status`; see [ErrorReason](#errorreason).
"""
_FIELD = descriptor_pb2.FieldDescriptorProto
_SCALARS = {number: name.removeprefix("TYPE_").lower() for name, number in _FIELD.Type.items() if name != "TYPE_GROUP"}
# Field numbers of descriptor.proto, of which source paths are made.
_FILE_MESSAGE, _FILE_ENUM, _FILE_SERVICE = 4, 5, 6
_MESSAGE_FIELD, _ENUM_VALUE, _SERVICE_METHOD = 2, 2, 2

Comments = dict[tuple[int, ...], str]


def main(arguments: list[str]) -> int:
    """Write the page, or with `--check` compare it; 1 where it differs."""
    text = render(read_files())
    if "--check" not in arguments:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write("docs/contract.md differs from the protos: run 'make generate'\n")
    return 1


def read_files() -> list[descriptor_pb2.FileDescriptorProto]:
    """The protos of the package with their comments, services first."""
    sources = sorted(str(path) for path in (REPO / "protos" / "citemesh" / "v1").glob("*.proto"))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "set.pb"
        includes = [REPO / "protos", Path(protoc.__file__).parent / "_proto"]
        flags = [f"--descriptor_set_out={out}", "--include_source_info", *(f"--proto_path={path}" for path in includes)]
        code = protoc.main(["protoc", *flags, *sources])
        if code:
            raise SystemExit(code)
        files = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file
    return sorted(files, key=lambda file: (not file.service, file.name))


def render(files: list[descriptor_pb2.FileDescriptorProto]) -> str:
    """The whole page as Markdown."""
    lines = [HEADER]
    for file in files:
        comments: Comments = {
            tuple(location.path): " ".join(location.leading_comments.split())
            for location in file.source_code_info.location
        }
        lines.append(f"## {Path(file.name).name}\n")
        for index, service in enumerate(file.service):
            lines += render_service(service, comments, (_FILE_SERVICE, index))
        for index, message in enumerate(file.message_type):
            lines += render_message(message, comments, (_FILE_MESSAGE, index))
        for index, enum in enumerate(file.enum_type):
            lines += render_enum(enum, comments, (_FILE_ENUM, index))
    return "\n".join(lines).rstrip() + "\n"


def render_service(
    service: descriptor_pb2.ServiceDescriptorProto, comments: Comments, path: tuple[int, ...]
) -> Iterator[str]:
    """A service and its methods."""
    yield f"### {service.name}\n\n{comments[path]}\n\n| RPC | request | response | what it does |\n|---|---|---|---|"
    for index, method in enumerate(service.method):
        request = ("stream " if method.client_streaming else "") + link(method.input_type)
        response = ("stream " if method.server_streaming else "") + link(method.output_type)
        yield f"| {method.name} | {request} | {response} | {comments[(*path, _SERVICE_METHOD, index)]} |"
    yield ""


def render_message(message: descriptor_pb2.DescriptorProto, comments: Comments, path: tuple[int, ...]) -> Iterator[str]:
    """A message and its fields."""
    yield f"### {message.name}\n\n{comments[path]}\n"
    if message.field:
        yield "| field | type | meaning |\n|---|---|---|"
    for index, field in enumerate(message.field):
        label = "repeated " if field.label == _FIELD.LABEL_REPEATED else "optional " if field.proto3_optional else ""
        if field.HasField("oneof_index") and not field.proto3_optional:
            label = f"one of {message.oneof_decl[field.oneof_index].name}: "
        kind = link(field.type_name) if field.type_name else _SCALARS[field.type]
        yield f"| {field.name} = {field.number} | {label}{kind} | {comments[(*path, _MESSAGE_FIELD, index)]} |"
    yield ""


def render_enum(enum: descriptor_pb2.EnumDescriptorProto, comments: Comments, path: tuple[int, ...]) -> Iterator[str]:
    """An enum and its values."""
    yield f"### {enum.name}\n\n{comments[path]}\n\n| value | meaning |\n|---|---|"
    for index, value in enumerate(enum.value):
        yield f"| {value.name} = {value.number} | {comments[(*path, _ENUM_VALUE, index)]} |"
    yield ""


def link(type_name: str) -> str:
    """A type as a link within the page, or as its full name where it is not ours."""
    short = type_name.rsplit(".", 1)[-1]
    return f"[{short}](#{short.lower()})" if type_name.startswith(".citemesh.v1.") else type_name.lstrip(".")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
