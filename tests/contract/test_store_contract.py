"""What every document store must do: a class of tests that each implementation inherits."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from citemesh.auth.principal import Principal
from citemesh.rpc.errors import ServiceError
from citemesh.store.contract import StoredVersion, StoreReader, StoreWriter, Vectors
from citemesh.store.embedded.open import open_reader, open_writer
from citemesh.v1 import document_pb2, documents_pb2, errors_pb2, evidence_pb2, question_pb2, retrieval_pb2

DIMENSION_COUNT = 16
ENCODER = retrieval_pb2.EncoderContract(
    model="test", revision="1", dimension_count=DIMENSION_COUNT, normalized=True, metric="cosine"
)
ANNA = Principal("acme", "anna", frozenset({"staff"}))
HANNA = Principal("acme", "hanna", frozenset({"staff", "hr"}))
OTHER_TENANT = Principal("umbrella", "anna", frozenset({"staff", "hr"}))


def embed(text: str) -> Vectors:
    """A vector of length 1 that only equal texts share."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    vector = np.random.default_rng(seed).standard_normal(DIMENSION_COUNT).astype(np.float32)
    return vector / np.linalg.norm(vector)


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def only(*groups: str, users: Sequence[str] = ()) -> document_pb2.AccessPolicy:
    return document_pb2.AccessPolicy(only=document_pb2.AllowedPrincipals(groups=groups, users=users))


def everyone() -> document_pb2.AccessPolicy:
    return document_pb2.AccessPolicy(everyone=document_pb2.Everyone())


def documents(*ids: str) -> question_pb2.Scope:
    return question_pb2.Scope(documents=question_pb2.DocumentIds(document_ids=ids))


def make_passage(text: str, *, page: int = 1, section: str = "", label: str = "") -> evidence_pb2.Passage:
    return evidence_pb2.Passage(
        text=text,
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
        page_first=page,
        page_last=page,
        parent_id=section,
        label=label,
        kind=evidence_pb2.PASSAGE_KIND_TEXT,
        language="en",
    )


class StoreContract:
    """Inherit it, and give the two fixtures."""

    @pytest.fixture
    def writer(self, tmp_path: Path) -> Iterator[StoreWriter]:
        raise pytest.UsageError("the implementation's test class gives a writer")

    @pytest.fixture
    def reader(self, tmp_path: Path, writer: StoreWriter) -> Iterator[StoreReader]:
        raise pytest.UsageError("the implementation's test class gives a reader")

    def put(
        self,
        writer: StoreWriter,
        tmp_path: Path,
        document_id: str,
        texts: Sequence[str | evidence_pb2.Passage],
        *,
        tenant_id: str = "acme",
        title: str = "",
        start: str = "",
        end: str = "",
        access: document_pb2.AccessPolicy | None = None,
        sections: Sequence[document_pb2.Section] = (),
    ) -> StoredVersion:
        passages = [make_passage(each) if isinstance(each, str) else each for each in texts]
        content = "\n".join(passage.text for passage in passages)
        file = tmp_path / "original.txt"
        file.write_text(content)
        document = document_pb2.Document(
            document_id=document_id,
            title=title or document_id,
            media_type="text/plain",
            content_hash=hashlib.sha256(content.encode()).hexdigest(),
            size_bytes=len(content),
            access=access,
        )
        document.profile.language = "en"
        document.profile.has_usable_toc = bool(sections)
        if start:
            document.effective_from_time.FromDatetime(day(start))
        if end:
            document.effective_to_time.FromDatetime(day(end))
        vectors = np.stack([embed(passage.text) for passage in passages])
        return writer.put_version(tenant_id, document, sections=sections, passages=passages, vectors=vectors, file=file)

    @staticmethod
    def found(reader: StoreReader, principal: Principal, text: str, as_of: datetime | None = None) -> set[str]:
        """Texts that the keyword leg finds."""
        versions = reader.allowed_versions(principal, as_of=as_of)
        hits = reader.keyword_search(text, versions, 50)
        passages = reader.passages_by_key([hit.passage_key for hit in hits], versions)
        assert len(passages) == len(hits)
        return {passage.text for passage in passages.values()}

    @staticmethod
    def nearest(reader: StoreReader, principal: Principal, text: str, as_of: datetime | None = None) -> list[str]:
        """Texts that the dense leg finds, nearest first."""
        versions = reader.allowed_versions(principal, as_of=as_of)
        hits = reader.dense_search(embed(text), versions, 50)
        passages = reader.passages_by_key([hit.passage_key for hit in hits], versions)
        return [passages[hit.passage_key].text for hit in hits]

    # Storing

    def test_a_document_is_found_right_after_it_was_stored(
        self, writer: StoreWriter, reader: StoreReader, tmp_path: Path
    ) -> None:
        assert self.found(reader, ANNA, "travel") == set()
        stored = self.put(writer, tmp_path, "policy", ["Travel needs approval.", "Meals are paid."])
        assert stored.result == documents_pb2.INGEST_RESULT_CREATED
        assert stored.document.document_version == 1
        assert stored.document.passage_count == 2
        assert stored.document.access.HasField("everyone")
        assert self.found(reader, ANNA, "travel") == {"Travel needs approval."}
        assert self.nearest(reader, ANNA, "Meals are paid.")[0] == "Meals are paid."

    def test_passages_get_ids_places_and_dates(self, writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
        self.put(writer, tmp_path, "policy", ["First.", "Second."], title="The Policy", start="2024-01-01")
        versions = reader.allowed_versions(ANNA)
        passages = reader.document_passages(versions, "policy")
        assert [passage.ordinal for passage in passages] == [0, 1]
        assert len({passage.passage_id for passage in passages}) == 2
        assert {passage.title for passage in passages} == {"The Policy"}
        assert passages[0].effective_from_time.ToDatetime(UTC) == day("2024-01-01")
        assert not passages[0].HasField("effective_to_time")
        assert reader.passages_by_id([passages[1].passage_id, "nothing"], versions).keys() == {passages[1].passage_id}
        (place,) = reader.places([], [passages[1].passage_id, "nothing"], versions)
        assert reader.places([place.passage_key], [], versions) == [place]
        assert (place.passage_id, place.document_id, place.section_id) == (passages[1].passage_id, "policy", "")
        assert reader.places([place.passage_key], [place.passage_id], reader.allowed_versions(OTHER_TENANT)) == []
        assert [profile.title for profile in reader.profiles(versions, 5)] == ["The Policy"]

    def test_the_same_content_again_changes_nothing(
        self, writer: StoreWriter, reader: StoreReader, tmp_path: Path
    ) -> None:
        self.put(writer, tmp_path, "policy", ["Old rule."], start="2024-01-01")
        self.put(writer, tmp_path, "policy", ["New rule."], start="2025-01-01")
        again = self.put(writer, tmp_path, "policy", ["Old rule."], start="2024-01-01")
        assert again.result == documents_pb2.INGEST_RESULT_UNCHANGED
        assert again.document.document_version == 1
        assert len(reader.document_versions(ANNA, "policy")) == 2

    def test_going_back_to_corrected_content_is_a_new_version(
        self, writer: StoreWriter, reader: StoreReader, tmp_path: Path
    ) -> None:
        for text in ("Right.", "Wrong.", "Right."):
            self.put(writer, tmp_path, "policy", [text])
        assert [each.document_version for each in reader.document_versions(ANNA, "policy")] == [3, 2, 1]
        assert self.found(reader, ANNA, "right wrong") == {"Right."}

    def test_access_given_with_unchanged_content_holds(
        self, writer: StoreWriter, reader: StoreReader, tmp_path: Path
    ) -> None:
        self.put(writer, tmp_path, "pay", ["Salary bands."])
        again = self.put(writer, tmp_path, "pay", ["Salary bands."], access=only("hr"))
        assert again.result == documents_pb2.INGEST_RESULT_UNCHANGED
        assert self.found(reader, ANNA, "salary") == set()
        assert self.found(reader, HANNA, "salary") == {"Salary bands."}

    def test_a_new_version_keeps_the_access(self, writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
        self.put(writer, tmp_path, "pay", ["Salary bands."], access=only("hr"))
        stored = self.put(writer, tmp_path, "pay", ["Salary bands, revised."])
        assert list(stored.document.access.only.groups) == ["hr"]
        assert self.found(reader, ANNA, "salary") == set()

    def test_the_original_file_is_kept(self, writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
        self.put(writer, tmp_path, "pay", ["Salary bands."], access=only("hr"))
        (tmp_path / "original.txt").unlink()
        path = reader.original_file(HANNA, "pay", 1)
        assert path is not None
        assert path.read_text() == "Salary bands."
        assert reader.original_file(ANNA, "pay", 1) is None
        assert reader.original_file(HANNA, "pay", 2) is None

    def test_delete_removes_every_version_and_file(
        self, writer: StoreWriter, reader: StoreReader, tmp_path: Path
    ) -> None:
        self.put(writer, tmp_path, "policy", ["Old rule."], start="2024-01-01")
        self.put(writer, tmp_path, "policy", ["New rule."], start="2025-01-01")
        path = reader.original_file(ANNA, "policy", 1)
        assert writer.exists("acme", "policy")
        assert not writer.exists("umbrella", "policy")
        assert writer.delete("acme", "policy") == 2
        assert not writer.exists("acme", "policy")
        assert writer.delete("acme", "policy") == 0
        assert self.found(reader, ANNA, "rule") == set()
        assert self.nearest(reader, ANNA, "New rule.") == []
        assert reader.document_versions(ANNA, "policy") == []
        assert path is not None
        assert not path.exists()

    def test_a_file_that_another_document_shares_is_kept(
        self, writer: StoreWriter, reader: StoreReader, tmp_path: Path
    ) -> None:
        self.put(writer, tmp_path, "one", ["Same text."])
        self.put(writer, tmp_path, "two", ["Same text."])
        writer.delete("acme", "one")
        assert reader.original_file(ANNA, "two", 1) is not None

    def test_vectors_of_another_encoder_are_refused(self, writer: StoreWriter, tmp_path: Path) -> None:
        self.put(writer, tmp_path, "policy", ["Text."])
        other = retrieval_pb2.EncoderContract()
        other.CopyFrom(ENCODER)
        other.revision = "2"
        with pytest.raises(ServiceError) as raised:
            writer.set_encoder(other)
        assert raised.value.reason == errors_pb2.ERROR_REASON_ENCODER_MISMATCH

    def test_replacing_vectors_switches_the_encoder(
        self, writer: StoreWriter, reader: StoreReader, tmp_path: Path
    ) -> None:
        self.put(writer, tmp_path, "policy", ["One.", "Two."])
        assert self.nearest(reader, ANNA, "One.")[0] == "One."
        other = retrieval_pb2.EncoderContract(model="test", revision="2", dimension_count=4, normalized=True)
        axes = {"One.": 0, "Two.": 1}
        count = writer.replace_vectors(
            other, lambda passages: np.eye(4, dtype=np.float32)[[axes[passage.text] for passage in passages]]
        )
        assert count == 2
        contract = reader.encoder_contract()
        assert contract is not None
        assert contract.revision == "2"
        versions = reader.allowed_versions(ANNA)
        hits = reader.dense_search(np.eye(4, dtype=np.float32)[1], versions, 1)
        assert [each.text for each in reader.passages_by_key([hits[0].passage_key], versions).values()] == ["Two."]
        with pytest.raises(ServiceError) as raised:
            reader.dense_search(embed("One."), versions, 1)
        assert raised.value.reason == errors_pb2.ERROR_REASON_ENCODER_MISMATCH

    # Pages

    def test_replacing_a_page_leaves_the_others_alone(
        self, writer: StoreWriter, reader: StoreReader, tmp_path: Path
    ) -> None:
        pages = [make_passage(text, page=page) for page, text in enumerate(("Alpha.", "Blurred.", "Gamma."), 1)]
        self.put(writer, tmp_path, "scan", [*pages, make_passage("Delta.", page=2)])
        before = {each.text: each for each in reader.document_passages(reader.allowed_versions(ANNA), "scan")}
        new = [make_passage("Beta one.", page=2), make_passage("Delta.", page=2)]
        vectors = np.stack([embed(each.text) for each in new])
        assert writer.replace_pages("acme", "scan", 1, [2], passages=new, vectors=vectors, warnings=["read by OCR"])
        after = reader.document_passages(reader.allowed_versions(ANNA), "scan")
        assert [each.text for each in after] == ["Alpha.", "Beta one.", "Delta.", "Gamma."]
        assert [each.ordinal for each in after] == [0, 1, 2, 3]
        for passage in after:
            if passage.text in before:
                assert passage.passage_id == before[passage.text].passage_id
            else:
                assert passage.passage_id not in {each.passage_id for each in before.values()}
        assert self.found(reader, ANNA, "blurred") == set()
        assert self.found(reader, ANNA, "beta") == {"Beta one."}
        assert self.nearest(reader, ANNA, "Beta one.")[0] == "Beta one."
        document = reader.get_document(ANNA, "scan")
        assert document is not None
        assert document.passage_count == 4
        assert list(document.warnings) == ["read by OCR"]
        assert not writer.replace_pages("acme", "scan", 1, [2], passages=new, vectors=vectors)

    def test_replacing_pages_of_an_unknown_version_fails(self, writer: StoreWriter, tmp_path: Path) -> None:
        with pytest.raises(ServiceError) as raised:
            writer.replace_pages(
                "acme", "none", 1, [1], passages=[], vectors=np.zeros((0, DIMENSION_COUNT), dtype=np.float32)
            )
        assert raised.value.reason == errors_pb2.ERROR_REASON_DOCUMENT_NOT_FOUND

    # Access

    def test_tenants_do_not_see_each_other(self, writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
        self.put(writer, tmp_path, "policy", ["Travel of acme."])
        self.put(writer, tmp_path, "policy", ["Travel of umbrella."], tenant_id="umbrella")
        assert self.found(reader, ANNA, "travel") == {"Travel of acme."}
        assert self.nearest(reader, OTHER_TENANT, "Travel of acme.") == ["Travel of umbrella."]
        (mine,) = reader.document_passages(reader.allowed_versions(ANNA), "policy")
        theirs = reader.allowed_versions(OTHER_TENANT)
        assert reader.passages_by_id([mine.passage_id], theirs)[mine.passage_id].text == "Travel of umbrella."
        assert reader.count(theirs).passage_count == 1

    @pytest.mark.parametrize(
        ("access", "principal", "readable"),
        [
            (everyone(), ANNA, True),
            (everyone(), Principal("acme", "", frozenset()), True),
            (only("hr"), ANNA, False),
            (only("hr"), HANNA, True),
            (only(users=["anna"]), ANNA, True),
            (only(users=["anna"]), HANNA, False),
            (only("anna"), ANNA, False),  # a group of the same name is not the user
            (only(users=["hr"]), HANNA, False),
            (only(), HANNA, False),
            (only("", users=[""]), Principal("acme", "", frozenset({""})), False),
        ],
    )
    def test_access_holds_in_every_way_to_read(
        self,
        writer: StoreWriter,
        reader: StoreReader,
        tmp_path: Path,
        access: document_pb2.AccessPolicy,
        principal: Principal,
        readable: bool,
    ) -> None:
        section = document_pb2.Section(section_id="s1", level=1, number="1", title="Salary")
        passage = make_passage("Salary bands.", section="s1", label="table 1")
        self.put(writer, tmp_path, "pay", [passage], access=access, sections=[section], title="Salary bands")
        versions = reader.allowed_versions(principal)
        assert versions.is_empty != readable
        assert bool(self.found(reader, principal, "salary")) == readable
        assert bool(self.nearest(reader, principal, "Salary bands.")) == readable
        assert bool(reader.toc_search("salary", versions, 5)) == readable
        assert bool(reader.passages_by_id(["pay@1#0"], versions)) == readable
        assert bool(reader.passages_by_label(["table 1", "section 1"], versions)) == readable
        assert bool(reader.section_passages(versions, "pay", ["s1"])) == readable
        assert bool(reader.document_passages(versions, "pay")) == readable
        assert bool(reader.documents_by_title("salary bands", versions, 5)) == readable
        assert bool(reader.passages_not_in_force(["pay@1#0"], principal)) == readable
        assert reader.matching_words("salary", versions) == {"salary": readable}
        assert reader.count(versions).document_count == int(readable)
        assert reader.profile_counts(versions).document_count == int(readable)
        assert bool(reader.list_documents(principal)[0]) == readable
        assert (reader.get_document(principal, "pay") is not None) == readable
        assert bool(reader.sections(principal, "pay", 1)) == readable
        assert (reader.original_file(principal, "pay", 1) is not None) == readable

    def test_a_revoke_holds_in_the_next_request(self, writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
        self.put(writer, tmp_path, "pay", ["Salary bands."])
        before = reader.allowed_versions(ANNA)
        assert self.found(reader, ANNA, "salary")
        permission_version = writer.set_access("acme", "pay", only("hr"))
        after = reader.allowed_versions(ANNA)
        assert after.is_empty
        assert after.key != before.key
        assert after.permission_version == permission_version == reader.permission_version("acme")
        assert permission_version > before.permission_version
        assert self.found(reader, ANNA, "salary") == set()
        assert self.nearest(reader, ANNA, "Salary bands.") == []
        writer.set_access("acme", "pay", everyone())
        assert self.found(reader, ANNA, "salary")

    def test_access_must_be_said(self, writer: StoreWriter, tmp_path: Path) -> None:
        self.put(writer, tmp_path, "pay", ["Salary bands."])
        with pytest.raises(ServiceError) as raised:
            writer.set_access("acme", "pay", document_pb2.AccessPolicy())
        assert raised.value.reason == errors_pb2.ERROR_REASON_INVALID_FIELD
        with pytest.raises(ServiceError) as raised:
            writer.set_access("acme", "unknown", everyone())
        assert raised.value.reason == errors_pb2.ERROR_REASON_DOCUMENT_NOT_FOUND

    def test_a_scope_narrows_and_an_empty_one_is_refused(
        self, writer: StoreWriter, reader: StoreReader, tmp_path: Path
    ) -> None:
        for name in ("one", "two", "three"):
            self.put(writer, tmp_path, name, [f"Shared word, {name}."])
        versions = reader.allowed_versions(ANNA, documents("one", "two", "unknown"))
        hits = reader.keyword_search("shared", versions, 10)
        assert {
            each.document_id for each in reader.passages_by_key([h.passage_key for h in hits], versions).values()
        } == {
            "one",
            "two",
        }
        assert reader.allowed_versions(ANNA, documents("unknown")).is_empty
        for wrong in (question_pb2.Scope(), documents()):
            with pytest.raises(ServiceError) as raised:
                reader.allowed_versions(ANNA, wrong)
            assert raised.value.reason == errors_pb2.ERROR_REASON_INVALID_FIELD

    # Versions

    def test_the_version_in_force_answers(self, writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
        self.put(writer, tmp_path, "policy", ["Rule of 2024."], start="2024-01-01")
        self.put(writer, tmp_path, "policy", ["Rule of 2025."], start="2025-01-01", end="2026-01-01")
        expected = {
            "2023-12-31": set(),
            "2024-01-01": {"Rule of 2024."},
            "2024-12-31": {"Rule of 2024."},
            "2025-01-01": {"Rule of 2025."},
            "2026-01-01": set(),
        }
        for moment, texts in expected.items():
            assert self.found(reader, ANNA, "rule", day(moment)) == texts
            assert set(self.nearest(reader, ANNA, "Rule of 2024.", day(moment))) == texts
            document = reader.get_document(ANNA, "policy", as_of=day(moment))
            assert (document is not None) == bool(texts)
        first, second = reversed(reader.document_versions(ANNA, "policy"))
        assert first.superseded
        assert not second.superseded
        old = reader.get_document(ANNA, "policy", 1)
        assert old is not None
        assert old.document_version == 1

    def test_a_later_correction_of_the_same_start_wins(
        self, writer: StoreWriter, reader: StoreReader, tmp_path: Path
    ) -> None:
        self.put(writer, tmp_path, "policy", ["Rule, misprinted."], start="2024-01-01")
        self.put(writer, tmp_path, "policy", ["Rule, corrected."], start="2024-01-01")
        assert self.found(reader, ANNA, "rule", day("2024-06-01")) == {"Rule, corrected."}

    def test_a_superseded_passage_is_known_as_such(
        self, writer: StoreWriter, reader: StoreReader, tmp_path: Path
    ) -> None:
        self.put(writer, tmp_path, "policy", ["Rule of 2024."], start="2024-01-01")
        self.put(writer, tmp_path, "policy", ["Rule of 2025."], start="2025-01-01")
        assert reader.passages_by_id(["policy@1#0"], reader.allowed_versions(ANNA)) == {}
        assert reader.passages_not_in_force(["policy@1#0"], ANNA).keys() == {"policy@1#0"}
        assert reader.passages_not_in_force(["policy@1#0"], OTHER_TENANT) == {}

    def test_lists_come_in_pages(self, writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
        for number in range(5):
            self.put(writer, tmp_path, f"doc{number}", [f"Text {number}."], access=only("hr") if number == 2 else None)
        self.put(writer, tmp_path, "doc1", ["Text 1, revised."])
        seen: list[tuple[str, int]] = []
        after = ""
        while True:
            page, after = reader.list_documents(ANNA, include_superseded=True, after=after, limit=2)
            assert len(page) <= 2
            seen += [(each.document_id, each.document_version) for each in page]
            if not after:
                break
        assert seen == [("doc0", 1), ("doc1", 2), ("doc1", 1), ("doc3", 1), ("doc4", 1)]
        page, after = reader.list_documents(ANNA)
        assert [each.document_id for each in page] == ["doc0", "doc1", "doc3", "doc4"]
        assert after == ""
        with pytest.raises(ServiceError) as raised:
            reader.list_documents(ANNA, after="nonsense")
        assert raised.value.reason == errors_pb2.ERROR_REASON_INVALID_FIELD

    # Searching

    def test_words_match_in_their_forms_and_identifiers_as_written(
        self, writer: StoreWriter, reader: StoreReader, tmp_path: Path
    ) -> None:
        texts = ["Regularization of deep networks.", "Set --snapshot-count to 5000.", "Set the count of a snapshot."]
        self.put(writer, tmp_path, "notes", texts)
        versions = reader.allowed_versions(ANNA)
        assert self.found(reader, ANNA, "regularizing a network") == {texts[0]}
        hits = reader.keyword_search("what does --snapshot-count do?", versions, 10)
        best = reader.passages_by_key([hits[0].passage_key], versions)
        assert next(iter(best.values())).text == texts[1]
        words = reader.matching_words("What regularizes zebras?", versions)
        assert words == {"regularizes": True, "zebras": False}

    def test_hostile_queries_are_just_words(self, writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
        self.put(writer, tmp_path, "notes", ["Plain text."])
        versions = reader.allowed_versions(ANNA)
        for text in ('"', "text:* OR 1=1 --", "'; DROP TABLE documents", "\x00", "", "   ", "(((", "word " * 5000):
            reader.keyword_search(text, versions, 10)
            reader.toc_search(text, versions, 10)
            reader.matching_words(text, versions)
            reader.documents_by_title(text, versions, 3)
        assert self.found(reader, ANNA, "plain") == {"Plain text."}

    def test_sections_are_found_by_title_number_and_label(
        self, writer: StoreWriter, reader: StoreReader, tmp_path: Path
    ) -> None:
        sections = [
            document_pb2.Section(section_id="s5", level=1, number="5", title="Training"),
            document_pb2.Section(section_id="s54", parent_id="s5", level=2, number="5.4", title="Regularization"),
            document_pb2.Section(section_id="sb", level=1, title="Appendix B: Forms"),
        ]
        passages = [
            make_passage("How it was trained.", section="s5"),
            make_passage("Dropout is used.", section="s54"),
            make_passage("Figures by size.", section="s54", label="Table 3"),
            make_passage("The forms.", section="sb"),
        ]
        self.put(writer, tmp_path, "paper", passages, sections=sections)
        versions = reader.allowed_versions(ANNA)
        assert reader.toc_search("how was it regularized?", versions, 3)[0].section.section_id == "s54"
        assert reader.toc_search("what does section 5.4 say?", versions, 3)[0].section.section_id == "s54"
        found = reader.passages_by_label(["table 3", "§ 5", "appendix b", "figure 9"], versions)
        texts = {label: [each.text for each in places] for label, places in found.items()}
        assert texts == {
            "table 3": ["Figures by size."],
            "§ 5": ["How it was trained.", "Dropout is used.", "Figures by size."],
            "appendix b": ["The forms."],
        }
        assert [each.section_id for each in reader.version_sections(versions, "paper")] == ["s5", "s54", "sb"]
        alone = reader.section_passages(versions, "paper", ["s5"], with_subsections=False)
        assert [each.text for each in alone] == ["How it was trained."]
        counts = reader.profile_counts(versions)
        assert (counts.usable_toc_count, counts.languages) == (1, ("en",))

    def test_documents_are_found_by_what_they_are_called(
        self, writer: StoreWriter, reader: StoreReader, tmp_path: Path
    ) -> None:
        self.put(writer, tmp_path, "docker-sheet", ["A."], title="Docker Security Cheat Sheet")
        self.put(writer, tmp_path, "sql-sheet", ["B."], title="SQL Injection Prevention Cheat Sheet")
        versions = reader.allowed_versions(ANNA)
        assert reader.documents_by_title("the Docker cheat sheet", versions, 3) == ["docker-sheet"]
        assert reader.documents_by_title("the Kubernetes cheat sheet", versions, 3) == []

    # Many at once

    def test_many_writers_and_readers_lose_nothing(
        self, writer: StoreWriter, reader: StoreReader, tmp_path: Path
    ) -> None:
        failures: list[BaseException] = []

        def work(number: int) -> None:
            try:
                folder = tmp_path / f"w{number}"
                folder.mkdir()
                for turn in range(4):
                    text = f"Document alpha {number} turn {turn}."
                    self.put(writer, folder, f"d{number}-{turn}", [text])
                    assert text in self.found(reader, ANNA, f"alpha {number} turn {turn}")
                    assert self.nearest(reader, ANNA, text)[0] == text
            except BaseException as error:  # noqa: BLE001  # reported by the test itself
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert reader.count(reader.allowed_versions(ANNA)).document_count == 24

    def test_it_says_whether_it_works(self, writer: StoreWriter, reader: StoreReader) -> None:
        assert writer.check() is None
        assert reader.check() is None
        reader.close()
        writer.close()
        assert writer.check()
        assert reader.check()


class TestEmbeddedStore(StoreContract):
    """The store of one machine, writer and reader in one process."""

    @pytest.fixture
    def writer(self, tmp_path: Path) -> Iterator[StoreWriter]:
        writer = open_writer(tmp_path / "state")
        writer.set_encoder(ENCODER)
        yield writer
        writer.close()

    @pytest.fixture
    def reader(self, tmp_path: Path, writer: StoreWriter) -> Iterator[StoreReader]:
        reader = open_reader(tmp_path / "state")
        yield reader
        reader.close()
