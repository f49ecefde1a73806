"""A document's versions as they are told to callers, the places of a list's pages, and sums over profiles; pure."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from citemesh.rpc.errors import invalid_argument
from citemesh.store.contract import ProfileCounts
from citemesh.store.versions import VersionSpan, choose_in_force
from citemesh.v1.document_pb2 import AccessPolicy, Document, DocumentProfile


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """One version as a store holds it."""

    span: VersionSpan
    document: Document
    access: AccessPolicy

    def describe(self, *, superseded: bool = False) -> Document:
        """A copy of the version's document, complete."""
        document = Document()
        document.CopyFrom(self.document)
        document.access.CopyFrom(self.access)
        document.superseded = superseded
        return document


def describe_versions(versions: Sequence[StoredDocument], at_us: int, *, in_force_only: bool = False) -> list[Document]:
    """Versions of any documents in their order, `superseded` as of `at_us`; or only those in force then."""
    spans = [each.span for each in versions]
    in_force = {span.version_key for span in choose_in_force(spans, at_us)}
    latest: dict[int, tuple[int, int]] = {}
    for span in spans:
        if span.from_us <= at_us:
            place = (span.from_us, span.document_version)
            latest[span.document_key] = max(latest.get(span.document_key, place), place)
    described = []
    for each in versions:
        if in_force_only and each.span.version_key not in in_force:
            continue
        place = (each.span.from_us, each.span.document_version)
        described.append(each.describe(superseded=place < latest.get(each.span.document_key, place)))
    return described


def write_place(document: Document) -> str:
    """Where a page ended, for the next one."""
    return urlsafe_b64encode(f"{document.document_version}:{document.document_id}".encode()).decode()


def read_place(after: str) -> tuple[str, int]:
    """Document and version (0: all of it) after which a page begins. Raises INVALID_FIELD for anything else."""
    if not after:
        return "", 0
    try:
        version, document_id = urlsafe_b64decode(after.encode()).decode().split(":", 1)
        return document_id, int(version)
    except ValueError as error:
        raise invalid_argument("page_token", "must come from an earlier response") from error


def count_profiles(profiles: Iterable[DocumentProfile]) -> ProfileCounts:
    """Sums over the profiles."""
    document_count = toc_count = scanned_count = 0
    languages: Counter[str] = Counter()
    for profile in profiles:
        document_count += 1
        toc_count += profile.has_usable_toc
        scanned_count += profile.likely_scanned
        languages[profile.language or "und"] += 1
    ordered = tuple(language for language, _ in sorted(languages.items(), key=lambda item: (-item[1], item[0])))
    return ProfileCounts(document_count, toc_count, scanned_count, ordered)
