"""LanceDB's hybrid search over the same passages: `python lancedb_hybrid.py FOLDER`; prints p50 by group in ms.

FOLDER holds passages.jsonl (text, groups), vectors.npy, questions.jsonl (text), question_vectors.npy. Vectors are
searched exactly, as the embedded store does; the full-text index is LanceDB's own. Fifty results are asked for, with
their texts. The access filter is tried with and without a bitmap index, and left out where it lets everything through;
the fastest way counts.
"""

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import lancedb  # type: ignore[import-not-found]  # only in the environment of the peers
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # as above


def main(folder: Path) -> None:
    rows = [json.loads(line) for line in (folder / "passages.jsonl").open()]
    vectors = np.load(folder / "vectors.npy")
    groups = sorted({group for row in rows for group in row["groups"]})
    columns = {
        "passage": pa.array(range(len(rows)), pa.int64()),
        "text": pa.array([row["text"] for row in rows]),
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1]),
    }
    for group in groups:
        columns[f"may_{group}"] = pa.array([group in row["groups"] for row in rows])
    table = lancedb.connect(folder / "lance").create_table("passages", pa.table(columns), mode="overwrite")
    table.create_fts_index("text")
    table.optimize()
    questions = [json.loads(line)["text"] for line in (folder / "questions.jsonl").open()]
    asked = list(zip(questions, np.load(folder / "question_vectors.npy"), strict=True))[:36]
    figures = {"filter": {group: measure(table, asked, group) for group in groups}}
    for group in groups:
        table.create_scalar_index(f"may_{group}", index_type="BITMAP")
    table.optimize()
    figures["filter and bitmap"] = {group: measure(table, asked, group) for group in groups}
    figures["no filter"] = {
        group: measure(table, asked, "") for group in groups if all(group in row["groups"] for row in rows)
    }
    best = {group: min(figure[group] for figure in figures.values() if group in figure) for group in groups}
    print(json.dumps({"version": lancedb.__version__, "p50_ms": best, "ways": figures}))


def measure(table: Any, asked: list[tuple[str, Any]], group: str) -> float:
    """The median over the questions in ms; the first fifth warms up."""
    times = []
    for text, vector in asked:
        begun = time.perf_counter()
        search = table.search(query_type="hybrid").vector(vector).text(text)
        if group:
            search = search.where(f"may_{group}", prefilter=True)
        found = search.limit(50).select(["passage", "text"]).to_list()
        times.append((time.perf_counter() - begun) * 1e3)
        assert found, "nothing was found"
    return statistics.median(times[len(times) // 5 :])


main(Path(sys.argv[1]))
