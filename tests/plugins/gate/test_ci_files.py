"""The action and the GitLab job that others copy: their shell steps run, on recorded runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import strategy_profiles
from strategy_gate.baseline import accept as accept_runs
from strategy_gate.baseline import read_run, save
from strategy_profiles.spec.run_spec import RunSpec, parse_spec
from tests.plugins.leaves import REPOSITORY
from tests.synthetic import write_run
from tests.synthetic.recipe import Recipe, spec_of

pytestmark = pytest.mark.slow

LEAF = REPOSITORY / "plugins" / "gate"
CI = LEAF / "ci"
ACTION = yaml.safe_load((CI / "github/action.yml").read_text("utf-8"))
JOB = yaml.safe_load((CI / "gitlab/strategy-lab.yml").read_text("utf-8"))[".strategy-lab-gate"]
NUM_RUNS = 4


def spec(**options: Any) -> RunSpec:
    return spec_of(Recipe(steps=60, **options))


def test_the_spec_in_the_documentation_is_one_of_an_own_workload() -> None:
    text = (LEAF / "README.md").read_text("utf-8")
    (block,) = [
        yaml_block
        for yaml_block in re.findall(r"```yaml\n(.*?)```", text, re.S)
        if "steps: 4" in yaml_block
    ]
    spec = parse_spec(yaml.safe_load(block))
    assert (spec.workload, spec.steps) == ("train.py", 40)
    in_text = re.findall(r"strategy-lab run (\S+)", text)
    assert set(in_text) == {"train.yaml"}, (
        "a spec elsewhere would name its workload by another path"
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a spec, and runs of two sides that `run --repeat` left there earlier."""
    (tmp_path / "train.yaml").write_text(yaml.safe_dump(spec().to_json()))
    for number in range(2 * NUM_RUNS):
        side = "abba"[number % 4]
        write_run(
            tmp_path / "runs" / f"gate-{side}-{number // 2 + 1}",
            steps=60,
            seed=number,
            begins_s=60.0 * number,
        )
    return tmp_path


def shell(project: Path, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a step as the runner does, with this environment's strategy-lab."""
    path = project / "bin"
    path.mkdir(exist_ok=True)
    command = path / "strategy-lab"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m strategy_core "$@"\n')
    command.chmod(0o755)
    root = str(REPOSITORY)
    return subprocess.run(
        [str(shutil.which("bash")), "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=project,
        env={**os.environ, "PATH": f"{path}:{os.environ['PATH']}", "PYTHONPATH": root}
        | {"GITHUB_STEP_SUMMARY": str(project / "summary.md"), **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def action_steps(project: Path, **inputs: str) -> list[subprocess.CompletedProcess[str]]:
    """Every step of the action until one fails, its inputs filled in as GitHub does."""
    known = {name: str(item.get("default", "")) for name, item in ACTION["inputs"].items()}
    known |= inputs
    done = []
    for step in ACTION["runs"]["steps"]:
        variables = {
            name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda m: known[m[1]], value)
            for name, value in step["env"].items()
        }
        done.append(shell(project, step["run"], **variables))
        if done[-1].returncode:
            break
    return done


def accept(project: Path) -> None:
    """The baseline of a run of the same program."""
    accepted = write_run(project / "accepted", steps=60, seed=99)
    save(accept_runs([read_run(strategy_profiles.load(accepted))]), project / "baseline.json")


INPUTS = {"spec": "train.yaml", "baseline": "baseline.json", "install": "", "repeat": "4"}


def test_every_input_of_the_action_is_used_and_described() -> None:
    text = (CI / "github/action.yml").read_text("utf-8")
    used = set(re.findall(r"inputs\.(\w+)", text))
    assert used == set(ACTION["inputs"])
    assert all(item["description"] for item in ACTION["inputs"].values())
    assert all(step["shell"] == "bash" for step in ACTION["runs"]["steps"])
    # An expression inside a script would run what a pull request writes into it.
    assert not any("${{" in step["run"] for step in ACTION["runs"]["steps"])


def test_the_action_passes_equal_runs_and_writes_the_job_summary(project: Path) -> None:
    accept(project)
    done = action_steps(project, **INPUTS, other="seed=7")
    assert [step.returncode for step in done] == [0, 0, 0], done[-1].stderr + done[-1].stdout
    summary = (project / "summary.md").read_text("utf-8")
    assert summary.count("### Strategy Lab: Within the baseline") == 2
    assert (project / "runs/gate.benchmark.json").is_file()


def test_the_action_without_a_spec_checks_the_runs_that_are_there(project: Path) -> None:
    accept(project)
    done = action_steps(project, **{**INPUTS, "spec": ""})
    assert [step.returncode for step in done] == [0, 0, 0], done[-1].stderr
    _, record, _ = done
    assert record.stdout == "", "nothing is recorded"


def test_the_action_fails_when_a_run_moves_more(project: Path) -> None:
    accept(project)
    for number in range(1, NUM_RUNS + 1):
        run = project / "runs" / f"gate-a-{number}"
        shutil.rmtree(run)
        write_run(run, steps=60, seed=number, collective_bytes=(5_000_000, 262_144))
    done = action_steps(project, **INPUTS)
    assert [step.returncode for step in done] == [0, 0, 1], done[-1].stderr
    assert "all-reduce of 4, bytes per step" in (project / "summary.md").read_text("utf-8")


def test_the_gitlab_job_fails_likewise_and_keeps_its_report(project: Path) -> None:
    accept(project)
    shutil.rmtree(project / "runs/gate-a-1")
    write_run(project / "runs/gate-a-1", steps=60, ops_per_step=30)
    variables = JOB["variables"] | {"SPEC": "train.yaml", "BASELINE": "baseline.json"}
    variables |= {"INSTALL": "", "REPEAT": "4", "OTHER": "seed=7"}
    done = shell(project, "\n".join([*JOB["before_script"], *JOB["script"]]), **variables)
    assert done.returncode == 1, done.stderr
    report = (project / "gate.md").read_text("utf-8")
    heads = [line.split()[3] for line in report.splitlines() if line.startswith("### ")]
    assert heads == ["Beyond", "Within"]
    assert set(JOB["artifacts"]["paths"]) == {"gate.md", "runs/"}
