"""Some pages of a document read again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from citemesh.rpc.errors import ServiceError
from citemesh.store.contract import StoreReader, StoreWriter
from citemesh.v1 import errors_pb2
from tests.contract.store.library import ANNA, DIMENSION_COUNT, embed, found, make_passage, nearest, put


def test_replacing_a_page_leaves_the_others_alone(writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
    pages = [make_passage(text, page=page) for page, text in enumerate(("Alpha.", "Blurred.", "Gamma."), 1)]
    put(writer, tmp_path, "scan", [*pages, make_passage("Delta.", page=2)])
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
    assert found(reader, ANNA, "blurred") == set()
    assert found(reader, ANNA, "beta") == {"Beta one."}
    assert nearest(reader, ANNA, "Beta one.")[0] == "Beta one."
    document = reader.get_document(ANNA, "scan")
    assert document is not None
    assert document.passage_count == 4
    assert list(document.warnings) == ["read by OCR"]
    assert not writer.replace_pages("acme", "scan", 1, [2], passages=new, vectors=vectors)


def test_replacing_pages_of_an_unknown_version_fails(writer: StoreWriter, tmp_path: Path) -> None:
    with pytest.raises(ServiceError) as raised:
        writer.replace_pages(
            "acme", "none", 1, [1], passages=[], vectors=np.zeros((0, DIMENSION_COUNT), dtype=np.float32)
        )
    assert raised.value.reason == errors_pb2.ERROR_REASON_DOCUMENT_NOT_FOUND
