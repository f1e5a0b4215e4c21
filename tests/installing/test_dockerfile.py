"""The Dockerfile names existing files, runs as an unprivileged user, has a health check."""

from __future__ import annotations

from tests.dockerfile_steps import REPOSITORY, Instruction, read_instructions


def instructions(name: str) -> list[str]:
    steps: list[Instruction] = read_instructions((REPOSITORY / "Dockerfile").read_text())
    return [step.text for step in steps if step.name == name]


def test_everything_that_is_copied_exists_and_passes_the_ignore_file() -> None:
    kept = [
        line[1:]
        for line in (REPOSITORY / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    ]
    for line in instructions("COPY"):
        for source in line.split()[:-1]:
            assert (REPOSITORY / source).exists(), source
            assert any((REPOSITORY / source).match(pattern) for pattern in kept), source


def test_the_last_user_is_not_root() -> None:
    assert instructions("USER")[-1] not in ("root", "0")


def test_the_container_is_asked_for_its_health_where_it_listens() -> None:
    (health,) = instructions("HEALTHCHECK")
    (command,) = instructions("CMD")
    assert "8501/healthz" in health
    assert '"8501"' in command
    assert instructions("EXPOSE") == ["8501"]


def test_both_accelerators_have_their_lock_file() -> None:
    installed = " ".join(instructions("RUN"))
    for name in ("all", "cuda"):
        assert f"-r requirements/{name}.lock" in installed
        assert (REPOSITORY / "requirements" / f"{name}.lock").is_file()
