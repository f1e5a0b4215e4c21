"""`strategy-lab predict`: a curve for people and as JSON, and one line where it is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from strategy_core.cli.main import main
from tests.synthetic import write_run

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("runs")
    return [
        str(
            write_run(
                folder / f"{num}-workers",
                workers=num,
                replicas=num,
                global_batch_size=32 * num,
                steps=60,
                windows=1,
            )
        )
        for num in (1, 2)
    ]


def test_the_predicted_curve_is_printed_as_a_table(runs: list[str], capsys: Captured) -> None:
    assert main(["predict", *runs]) == 0
    text = capsys.readouterr().out
    rows = [line.strip("│ ").split("│") for line in text.splitlines() if line.startswith("│")]
    counts = ["1", "2", "4", "8", "16", "32", "64", "128", "256", "512", "1,024"]
    assert [row[0].strip() for row in rows] == counts
    assert rows[1][2].strip() == rows[1][-1].strip() == "measured"
    assert rows[-1][-1].strip() == "on paper"
    said = " ".join(text.split())
    assert said.startswith("On 4 replicas instead of 2, the program would train ")
    assert "32 examples per replica" in said
    assert "off by less than 10 % per doubling" in said


def test_json_has_every_figure(runs: list[str], capsys: Captured) -> None:
    assert main(["predict", *runs, "--replicas", "4,8", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [row["num_replicas"] for row in answer["steps"]] == [1, 2, 4, 8]
    assert [row["basis"] for row in answer["steps"]] == ["measured"] * 2 + ["predicted"] * 2
    last = answer["steps"][-1]
    assert last["low_ms"] < last["step_ms"] < last["high_ms"]
    assert answer["all_reduce"]["likely"]["ms_per_byte"] > 0
    assert (answer["error_per_doubling"], answer["replay_error"]) == (0.1, None)


def test_a_prediction_uses_a_described_link_and_another_algorithm(
    runs: list[str], capsys: Captured
) -> None:
    arguments = ["--link", "ethernet-25g", "--algorithm", "tree", "--replicas", "8"]
    assert main(["predict", *runs, *arguments]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "by tree over 25 Gigabit Ethernet" in text
    assert "Its latency is not described" in text


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--replicas", "many"], "--replicas takes whole numbers"),
        (["--replicas", "5000"], "1 to 1024 replicas, received 5000"),
        (["--link", "string"], "No link 'string'"),
        (["--algorithm", "magic"], "no model of the time that 'magic' takes"),
        (["--batch-per-replica", "64"], "Name two runs with different batches"),
    ],
)
def test_a_wrong_request_is_one_line(
    runs: list[str], capsys: Captured, options: list[str], problem: str
) -> None:
    assert main(["predict", *runs, *options]) == 2
    errors = capsys.readouterr().err
    assert problem in errors
    assert errors.count("\n") == 1


def test_replicas_that_share_cores_are_refused(tmp_path: Path, capsys: Captured) -> None:
    assert main(["predict", str(write_run(tmp_path / "run", replicas=2, steps=60))]) == 2
    assert "share the cores of one process" in capsys.readouterr().err


@pytest.mark.run
def test_more_replicas_on_the_same_cores_take_longer(finished_run: Path, capsys: Captured) -> None:
    assert main(["predict", str(finished_run), "--replicas", "8,16,64", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    four, eight, sixteen = answer["steps"]
    assert [four["basis"], eight["basis"], sixteen["basis"]] == ["measured"] + ["predicted"] * 2
    assert eight["low_ms"] < eight["step_ms"] < eight["high_ms"]
    assert 1.2 * four["step_ms"] < eight["step_ms"] < 4 * four["step_ms"]
    assert 1.2 * eight["step_ms"] < sixteen["step_ms"]
    assert four["efficiency"] is None
    assert any("are left out" in note for note in answer["notes"])
