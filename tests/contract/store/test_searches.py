"""What words, titles, numbers and labels find."""

from __future__ import annotations

from pathlib import Path

import pytest

from citemesh.store.contract import StoreReader, StoreWriter
from citemesh.v1 import document_pb2
from tests.contract.store.library import ANNA, embed, found, make_passage, put


def test_words_match_in_their_forms_and_identifiers_as_written(
    writer: StoreWriter, reader: StoreReader, tmp_path: Path
) -> None:
    texts = ["Regularization of deep networks.", "Set --snapshot-count to 5000.", "Set the count of a snapshot."]
    put(writer, tmp_path, "notes", texts)
    versions = reader.allowed_versions(ANNA)
    assert found(reader, ANNA, "regularizing a network") == {texts[0]}
    hits = reader.keyword_search("what does --snapshot-count do?", versions, 10)
    best = reader.passages_by_key([hits[0].passage_key], versions)
    assert next(iter(best.values())).text == texts[1]
    assert found(reader, ANNA, "What regularizes zebras?") == {texts[0]}
    assert not found(reader, ANNA, "What zebras?")


@pytest.mark.parametrize("language", ["", "und"])
def test_words_of_an_undetermined_language_are_found(
    writer: StoreWriter, reader: StoreReader, tmp_path: Path, language: str
) -> None:
    text = "The company issues parking permits on Mondays."
    passage = make_passage(text)
    passage.language = language
    # Questions are stemmed by the languages that are known.
    known = make_passage("Die Anträge liegen im Rathaus.")
    known.language = "de"
    put(writer, tmp_path, "short", [passage, known], title="Rules")
    for word in ("permits", "permit", "parking", "company", "companies", "issues", "Mondays"):
        assert found(reader, ANNA, word) == {text}, word
    assert found(reader, ANNA, "Antrag") == {known.text}


def test_hostile_queries_are_just_words(writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
    put(writer, tmp_path, "notes", ["Plain text."])
    versions = reader.allowed_versions(ANNA)
    for text in ('"', "text:* OR 1=1 --", "'; DROP TABLE documents", "\x00", "", "   ", "(((", "word " * 5000):
        reader.keyword_search(text, versions, 10)
        reader.toc_search(text, versions, 10)
        reader.documents_by_title(text, versions, 3)
    assert found(reader, ANNA, "plain") == {"Plain text."}


def test_sections_are_found_by_title_number_and_label(writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
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
    put(writer, tmp_path, "paper", passages, sections=sections)
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


def test_documents_are_found_by_what_they_are_called(writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
    put(writer, tmp_path, "docker-sheet", ["A."], title="Docker Security Cheat Sheet")
    put(writer, tmp_path, "sql-sheet", ["B."], title="SQL Injection Prevention Cheat Sheet")
    versions = reader.allowed_versions(ANNA)
    assert reader.documents_by_title("the Docker cheat sheet", versions, 3) == ["docker-sheet"]
    assert reader.documents_by_title("the Kubernetes cheat sheet", versions, 3) == []


def test_the_dense_leg_measures_the_cosine(writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
    texts = ["One.", "Two.", "Three."]
    put(writer, tmp_path, "notes", texts)
    versions = reader.allowed_versions(ANNA)
    hits = reader.dense_search(embed("One."), versions, 3)
    passages = reader.passages_by_key([hit.passage_key for hit in hits], versions)
    measured = [hit.leg_score for hit in hits]
    assert measured == pytest.approx(
        [float(embed("One.") @ embed(passages[hit.passage_key].text)) for hit in hits], abs=1e-4
    )
    assert measured[0] == pytest.approx(1.0, abs=1e-4)
