"""What an ingest's header says, checked: id, name, title, dates, access."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import PurePosixPath

from google.protobuf.timestamp_pb2 import Timestamp

from citemesh.auth.ids import MAX_ID_CHARACTERS, is_id
from citemesh.files.ids import derive_id
from citemesh.rpc.errors import invalid_fields
from citemesh.v1.document_pb2 import AccessPolicy
from citemesh.v1.documents_pb2 import IngestHeader

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9\-_.:/@]{0,199}")
_MAX_NAME_LENGTH = 255
_MAX_TITLE_LENGTH = 300


def check_header(header: IngestHeader) -> IngestHeader:
    """A copy of the header with its document_id filled in. Raises INVALID_FIELD with every field that is wrong."""
    checked = IngestHeader()
    checked.CopyFrom(header)
    wrong: list[tuple[str, str]] = []
    checked.file_name = PurePosixPath(header.file_name.replace("\\", "/")).name
    if not checked.file_name or len(checked.file_name) > _MAX_NAME_LENGTH:
        wrong.append(("header.file_name", f"must be a file's name of 1 to {_MAX_NAME_LENGTH} characters"))
    if not header.document_id:
        checked.document_id = derive_id(checked.file_name)
    elif not is_document_id(header.document_id):
        wrong.append(("header.document_id", 'must be 1 to 200 letters, digits and "-_.:/@", a letter or digit first'))
    if len(header.title) > _MAX_TITLE_LENGTH:
        wrong.append(("header.title", f"must have at most {_MAX_TITLE_LENGTH} characters"))
    wrong.extend(_check_dates(header))
    if header.HasField("access"):
        wrong.extend(check_access(header.access, "header.access"))
    if wrong:
        raise invalid_fields(wrong)
    return checked


def check_access(access: AccessPolicy, field: str) -> list[tuple[str, str]]:
    """What is wrong with an access policy; an empty set of principals is allowed and reaches nobody."""
    if access.WhichOneof("access") is None:
        return [(field, "must say everyone, or only whom")]
    names = [*access.only.users, *access.only.groups]
    if not all(is_id(name) for name in names):
        return [(f"{field}.only", f"must hold names of 1 to {MAX_ID_CHARACTERS} characters, none a control character")]
    return []


def is_document_id(document_id: str) -> bool:
    """Whether a document may have this id."""
    return _ID.fullmatch(document_id) is not None


def read_time(timestamp: Timestamp, field: str) -> datetime:
    """A timestamp as a datetime in UTC. Raises INVALID_FIELD where it is out of range."""
    try:
        return timestamp.ToDatetime(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise invalid_fields([(field, "must be between the years 1 and 9999")]) from None


def title_from_name(file_name: str) -> str:
    """A title for a file that has none: its name without ending, hyphens and underscores as spaces."""
    return re.sub(r"[-_\s]+", " ", PurePosixPath(file_name).stem).strip()[:_MAX_TITLE_LENGTH] or file_name


def _check_dates(header: IngestHeader) -> list[tuple[str, str]]:
    start = read_time(header.effective_from_time, "header.effective_from_time")
    end = read_time(header.effective_to_time, "header.effective_to_time")
    both = header.HasField("effective_from_time") and header.HasField("effective_to_time")
    if both and start >= end:
        return [("header.effective_to_time", "must be after effective_from_time")]
    return []
