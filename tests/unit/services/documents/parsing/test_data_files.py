"""CSV, JSON and text of any encoding as blocks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.documents.parsing import delimited, json_data
from services.documents.parsing.blocks import BlockKind
from services.documents.parsing.delimited import parse_delimited
from services.documents.parsing.html import parse_html
from services.documents.parsing.json_data import parse_json
from services.documents.parsing.plain import decode
from services.documents.parsing.refusal import ParseRefused, RefusalReason
from services.documents.parsing.tabular import is_figure, looks_like_header, make_table


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_csv_is_a_table_whatever_divides_it(tmp_path: Path, mark: str) -> None:
    rows = [["Lamp", "Oil", "Note"], ["north", "3", f'"one{mark} two\nlines"'], ["south", "4", ""]]
    path = tmp_path / "a.csv"
    path.write_text("\r\n".join(mark.join(row) for row in rows))
    (table,) = parse_delimited(path).blocks
    assert table.columns == ["Lamp", "Oil", "Note"]
    assert table.cells[0] == [(0, "north"), (1, "3"), (2, " ".join(f"one{mark} two lines".split()))]
    assert table.cells[1] == [(0, "south"), (1, "4")]


def test_csv_without_names_has_no_header(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2\n3,4\n")
    (table,) = parse_delimited(tmp_path / "a.csv").blocks
    assert (table.header_count, len(table.cells)) == (0, 2)


def test_a_long_csv_is_cut_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "MAX_CELL_COUNT", 20)
    (tmp_path / "a.csv").write_text("name,size\n" + "x,1\n" * 1000)
    document = parse_delimited(tmp_path / "a.csv")
    assert document.truncated == "only the first 10 rows were read"


def test_text_that_is_called_csv_is_read_as_text(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Just one line\nand another\n")
    assert parse_delimited(tmp_path / "a.csv").format == "text"


def test_json_objects_are_sections_and_records_tables(tmp_path: Path) -> None:
    value = {
        "title": "Lamps",
        "board": {"head": "Ana", "members": ["Ben", "Cy"]},
        "lamps": [{"id": 1, "on": True}, {"id": 2, "oil": 3.5}],
    }
    (tmp_path / "a.json").write_text(json.dumps(value))
    document = parse_json(tmp_path / "a.json")
    assert document.title == "Lamps"
    assert [(block.kind.value, block.level, block.text) for block in document.blocks] == [
        ("paragraph", 0, "title: Lamps"),
        ("heading", 1, "board"),
        ("paragraph", 0, "head: Ana"),
        ("heading", 2, "members"),
        ("list", 0, "Ben\nCy"),
        ("heading", 1, "lamps"),
        ("table", 0, "id  on  oil\n1  true\n2    3.5"),
    ]


def test_json_lines_are_a_table(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": "x", "b": 1}\n{"a": "y"}\n')
    (table,) = parse_json(tmp_path / "a.jsonl").blocks
    assert (table.kind, table.columns) == (BlockKind.TABLE, ["a", "b"])


def test_long_json_is_cut_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_data, "MAX_VALUE_COUNT", 50)
    (tmp_path / "a.json").write_text(json.dumps(list(range(1000))))
    document = parse_json(tmp_path / "a.json")
    assert document.truncated
    assert len(document.blocks[0].lines) == 49


@pytest.mark.parametrize("text", ["{", "[" * 100_000, '{"a": }', "not json\n{}"])
def test_what_is_no_json_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ParseRefused) as refused:
        parse_json(tmp_path / "a.json")
    assert refused.value.reason is RefusalReason.UNREADABLE


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=30,
)


@given(values)
def test_no_text_of_json_is_lost(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    path = tmp_path_factory.mktemp("json") / "a.json"
    path.write_text(json.dumps(value), "utf-8")
    try:
        document = parse_json(path)
    except ParseRefused:
        assert not any(word.strip() for word in _leaves(value))
        return
    whole = "\n".join(block.text for block in document.blocks)
    for word in _leaves(value):
        assert " ".join(word.split()) in whole


def _leaves(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [word for each in value.values() for word in _leaves(each)]
    if isinstance(value, list):
        return [word for each in value for word in _leaves(each)]
    return [value] if isinstance(value, str) else []


TEXTS = {
    "cp1252": "Die Wärter müssen die Lampe „bei Einbruch der Dunkelheit“ anzünden; größere Öfen heizt man früh.",
    "iso-8859-1": "La lumière doit être allumée dès la tombée de la nuit, à chaque étage, même en été.",
    "cp1251": "Смотритель обязан зажигать лампу каждый вечер и вести журнал наблюдений.",
    "koi8-r": "Смотритель обязан зажигать лампу каждый вечер и вести журнал наблюдений.",
    "shift_jis": "灯台守は毎晩ランプに火を灯し、記録を残さなければならない。これは規則である。",
    "gb18030": "守塔人必须每天晚上点亮灯火，并且做好记录。这是本岛的规定。",
    "euc-kr": "등대지기는 매일 저녁 등불을 켜고 기록을 남겨야 한다. 이것은 규칙이다.",
    "utf-16": "The keeper lights the lamp: für Öl.",
    "utf-16-le": "The keeper lights the lamp: für Öl.",
    "utf-16-be": "The keeper lights the lamp: für Öl.",
    "utf-32": "The keeper lights the lamp: für Öl.",
    "utf-8-sig": "Die Wärter müssen die Lampe anzünden.",
}


@pytest.mark.parametrize("encoding", TEXTS)
def test_text_is_read_in_its_encoding(encoding: str) -> None:
    text = "\n".join([TEXTS[encoding]] * 3)
    assert decode(text.encode(encoding)) == text


def test_a_page_is_read_in_the_encoding_that_it_declares(tmp_path: Path) -> None:
    page = '<html><head><meta charset="iso-8859-2"></head><body><p>Żółć gęślą jaźń.</p></body></html>'
    (tmp_path / "a.html").write_bytes(page.encode("iso-8859-2"))
    assert parse_html(tmp_path / "a.html").blocks[0].text == "Żółć gęślą jaźń."


@given(st.binary(max_size=400), st.sampled_from(["", "utf-16", "nonsense", "cp1252", "base64"]))
def test_any_bytes_become_some_text(data: bytes, declared: str) -> None:
    assert isinstance(decode(data, declared), str)


def test_a_header_is_told_from_figures() -> None:
    assert looks_like_header(["Lamp", "2023"], ["north", "3"])
    assert not looks_like_header(["north", "3"], ["south", "4"])
    assert not looks_like_header(["a", "a"], ["b", "c"])
    assert all(map(is_figure, ["12", "-3.5", "1,200", "45%", "$ 12", "2024-05-01", "(3)"]))
    assert not any(map(is_figure, ["A1", "2023", "north", "3 boats", ""]))


@given(st.lists(st.lists(st.text(alphabet="ab 1\n", max_size=5), max_size=5), max_size=6))
def test_a_table_keeps_every_cell_in_its_column(rows: list[list[str]]) -> None:
    table = make_table(rows)
    expected = [[" ".join(cell.split()) for cell in row] for row in rows]
    kept = [row for row in expected if any(row)]
    if table is None:
        assert not kept
        return
    assert [[(c, t) for c, t in enumerate(row) if t] for row in kept[table.header_count :]] == table.cells
    assert len(table.items) == len(table.cells)
