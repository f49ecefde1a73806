"""`citemesh models`: what is missing is named, with what to do."""

from __future__ import annotations

from pathlib import Path

from tests.unit.libs.cli.scripted_mesh import run_command


async def test_missing_models_are_named_with_what_to_do(tmp_path: Path) -> None:
    environ = {"CITEMESH_MODELS_DIR": str(tmp_path / "models")}
    verify = await run_command("models", "verify", cwd=tmp_path, environ=environ)
    assert verify.code == 5
    assert "citemesh models pull" in verify.out
    listed = await run_command("models", "list", cwd=tmp_path, environ=environ)
    assert (listed.code, listed.out) == (0, "")
    assert "There are none" in listed.err
    doctor = await run_command("doctor", "--state-dir", str(tmp_path / "s"), cwd=tmp_path, environ=environ)
    assert doctor.code == 5
    assert "Run `citemesh models pull`." in doctor.out
