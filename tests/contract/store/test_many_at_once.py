"""Several writers and readers, and the store's own state."""

from __future__ import annotations

import threading
from pathlib import Path

from citemesh.store.contract import StoreReader, StoreWriter
from tests.contract.store.library import ANNA, found, nearest, put


def test_many_writers_and_readers_lose_nothing(writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            folder = tmp_path / f"w{number}"
            folder.mkdir()
            for turn in range(4):
                text = f"Document alpha {number} turn {turn}."
                put(writer, folder, f"d{number}-{turn}", [text])
                assert text in found(reader, ANNA, f"alpha {number} turn {turn}")
                assert nearest(reader, ANNA, text)[0] == text
        except BaseException as error:  # noqa: BLE001  # reported by the test itself
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert reader.count(reader.allowed_versions(ANNA)).document_count == 24


def test_it_says_whether_it_works(writer: StoreWriter, reader: StoreReader) -> None:
    assert writer.check() is None
    assert reader.check() is None
    reader.close()
    writer.close()
    assert writer.check()
    assert reader.check()
