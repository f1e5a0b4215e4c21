"""The report as text: one file, nothing fetched, everything said, small enough to mail."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from pathlib import Path

import numpy as np
import pytest

import strategy_profiles
from strategy_profiles.exports import write
from strategy_profiles.reporting.definitions import DEFINITIONS
from strategy_profiles.reporting.palette import PHASE_NAMES, SERIES_COLOUR, device_colour
from strategy_profiles.tables.store import Profile
from strategy_profiles.timeline import lay_out
from strategy_report.timeline import MAX_SPANS, OUTSIDE, Stretch, choose
from tests.event_records import read_records, write_records
from tests.profiles.served_run import write_served_run
from tests.synthetic import HOSTILE, write_run

pytestmark = pytest.mark.slow


def _report(profile: Profile, path: Path) -> str:
    return write(profile, "html", path).read_text(encoding="utf-8")


def _data(report: str) -> dict:
    block = re.search(r'<script type="application/json" id="report-data">(.*?)</script>', report)
    return json.loads(block[1])


def _section(report: str, key: str) -> str:
    """The text of a section, without its tags."""
    body = re.search(rf'<section id="{key}".*?</section>', report, re.DOTALL)[0]
    return " ".join(re.sub(r"<[^>]*>", " ", body).split())


def test_a_sentence_first_and_why_it_was_slow(straggling: Profile, target: Path) -> None:
    report = _report(straggling, target)
    heading = re.search(r"<h1>(.*?)</h1>", report)[1]
    sentence = re.sub(r"<[^>]*>", "", heading)
    assert sentence.startswith(
        "mirrored on 4 replicas trains digits-cnn, batch 256: the loop takes"
    )
    assert "The run finished after 120 steps." in _section(report, "overview")
    assert re.search(r"Replica 2 is late by (29|30)\.\d ms", heading)


def test_the_report_has_every_section_and_every_chart(straggling: Profile, target: Path) -> None:
    report = _report(straggling, target)
    keys = re.findall(r'<section id="([^"]+)"', report)
    assert keys == [
        "overview", "steps", "replicas", "input", "communication", "timeline", "placement",
        "memory", "environment", "definitions",
    ]  # fmt: skip
    placed = re.findall(r'data-chart="([^"]+)"', report)
    assert sorted(placed) == sorted(_data(report)["charts"])
    over_step = "0_step_memory_lines"
    assert set(placed) == {"wall", "throughput", "loss", "compute", "memory", over_step}


def test_the_report_has_peak_memory_and_input_stages(straggling: Profile, target: Path) -> None:
    report = _report(straggling, target)
    assert "the largest part is the variable dense/kernel" in _section(report, "memory")
    assert "No stage of the input held up" in _section(report, "input")
    assert "Prefetch" in _section(report, "input")


def test_phases_and_colours_are_those_of_the_pages(straggling: Profile, target: Path) -> None:
    report = _report(straggling, target)
    data = _data(report)
    names = ["compute", "wait", "transfer", "input"]
    assert _section(report, "timeline").startswith(f"Timeline {' '.join(names)} ")
    assert data["timeline"]["phase_names"] == PHASE_NAMES
    colours = [line["colour"] for line in data["charts"]["memory"]["series"]]
    assert colours == [device_colour(number) for number in range(4)]


@pytest.mark.run
def test_the_memory_of_the_process_has_no_replicas_colour(finished_run: Path, target: Path) -> None:
    data = _data(_report(strategy_profiles.load(finished_run), target))
    (line,) = data["charts"]["memory"]["series"]
    assert (line["label"], line["colour"]) == ("the process", SERIES_COLOUR)


def test_the_report_has_all_definitions_with_their_formulas(
    straggling: Profile, target: Path
) -> None:
    text = _section(_report(straggling, target), "definitions")
    unescaped = html.unescape(text)
    for item in DEFINITIONS.values():
        assert item.label in unescaped
        assert " ".join(item.formula.split()) in unescaped


def test_numbers_name_their_source(straggling: Profile, target: Path) -> None:
    text = _section(_report(straggling, target), "overview")
    assert re.search(r"Step time \d[\d.]* ms measured median of 89", text)
    assert re.search(r"Throughput of steps [\d,]+ examples/s derived", text)
    assert re.search(r"Straggler (29|30)\.\d ms measured by marks replica 2", text)


def test_nothing_is_fetched_and_only_these_scripts_run(straggling: Profile, target: Path) -> None:
    report = _report(straggling, target)
    assert not re.search(r"<(link|img|iframe|object|embed|base)\b", report)
    assert not re.search(
        r"\s(src|srcset|style|on\w+)=", re.sub(r"<script.*?</script>", "", report, flags=re.DOTALL)
    )
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', report)[1]
    policy = html.unescape(policy)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    for content in re.findall(r"<(?:script|style)>(.*?)</(?:script|style)>", report, re.DOTALL):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_licence_of_the_chart_library_is_in_the_file(straggling: Profile, target: Path) -> None:
    report = _report(straggling, target)
    assert "Copyright (c) 2022 Leon Sorokin" in report
    assert "Permission is hereby granted" in report


def test_names_of_the_run_stay_text(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replicas=2, steps=30, prefix=f"{HOSTILE}</script><!--\u2028")
    report = _report(strategy_profiles.load(run), tmp_path / "r.html")
    outside = re.sub(r"<script>.*?</script>", "", report, flags=re.DOTALL)
    assert "<script>alert" not in outside
    assert "<!--" not in outside
    assert "\u202e" not in outside
    assert "\u2028" not in report
    assert _data(report)["timeline"]["stretches"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"steps": 0, "windows": 0, "ending": None}, "was cut off before its first step was done"),
        ({"steps": 30, "ending": "failed"}, "failed after 30 steps: loss is NaN."),
        ({"steps": 1, "windows": 0}, "finished after 1 step."),
        ({"missing": ("spans", "replica_steps", "collectives", "transfers")}, "the loop takes"),
        (
            {"captured": False, "marks": False, "memory": False, "placement": False},
            "the loop takes",
        ),
        ({"missing": ("run.json", "environment", "launcher")}, " on 2 replicas"),
        ({"segments": 4, "replicas": 8}, "of segment 3, the last one with a step"),
        (
            {"replicas": 8, "straggler": (0, 30.0), "segments": [{}, {"replicas": 1}]},
            "Replica 0 is late",
        ),
    ],
)
def test_every_kind_of_run_has_a_report(tmp_path: Path, options: dict, sentence: str) -> None:
    run = write_run(tmp_path / "run", **{"replicas": 2, "steps": 60, **options})
    assert sentence in _report(strategy_profiles.load(run), tmp_path / "r.html")


def test_the_line_of_a_replica_that_a_segment_lacks_ends_before_it(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=40, segments=[{}, {"replicas": 2}])
    charts = _data(_report(strategy_profiles.load(run), tmp_path / "r.html"))["charts"]
    lines = {line["label"]: line for line in charts["compute"]["series"]}
    at = dict(zip(lines["replica 3"]["x"], lines["replica 3"]["y"], strict=True))
    assert at[10] is not None
    assert max(at) < 20
    assert None not in lines["replica 1"]["y"]


def test_a_missing_part_of_the_report_says_why(tmp_path: Path) -> None:
    bare = {"windows": 0, "marks": False, "memory": False, "placement": False}
    report = _report(
        strategy_profiles.load(write_run(tmp_path / "run", steps=20, **bare)), tmp_path / "r"
    )
    for key in ("replicas", "communication", "timeline", "placement", "memory"):
        assert "Unavailable: " in _section(report, key), key
    assert ">0 ms<" not in report


def test_ten_thousand_steps_stay_small_and_say_what_was_shortened(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replicas=4, steps=10_000, ops_per_step=200, windows=12)
    report = _report(strategy_profiles.load(run), tmp_path / "r.html")
    assert len(report.encode()) < 3_000_000
    assert "Each point covers 5 steps" in _section(report, "steps")
    assert re.search(r"\d+ of 12 captured stretches are in this file", _section(report, "timeline"))


def test_the_slowest_typical_last_and_first_stretch_are_kept() -> None:
    stretches = [
        Stretch(0, (i,), 10_000, float(mean)) for i, mean in enumerate([5, 6, 99, 4, 7, 3, 8, 2])
    ]
    chosen = {item.steps[0] for item in choose(stretches)}
    assert {0, 1, 2, 7} <= chosen
    assert len(chosen) == 6


def test_steps_whose_time_is_unknown_are_listed_without_one() -> None:
    assert Stretch(0, (3, 4), 10, None).title == "steps 3 to 4"
    assert Stretch(0, (3, 4), 10, 2.0).title == "steps 3 to 4 (2 ms a step)"


def test_spans_outside_of_every_step_are_named_so_and_are_not_the_last_stretch() -> None:
    outside = Stretch(0, (OUTSIDE,), MAX_SPANS, None)
    assert outside.title == "outside of every step"
    steps = [Stretch(0, (i,), 10_000, 1.0 + i) for i in range(3)]
    assert choose([*steps, outside]) == steps
    assert choose([outside]) == [outside]


def test_an_imported_profile_tells_its_steps_from_what_is_outside_of_them(
    target: Path,
) -> None:
    run = Path(__file__).parents[2] / "data" / "imported" / "tpu_psum"
    text = _section(_report(strategy_profiles.load(run), target), "timeline")
    assert "outside of every step" in text
    assert "steps 0 to 2" in text
    assert "step -1" not in text


def test_the_reports_spans_are_those_of_the_timeline(straggling: Profile, target: Path) -> None:
    data = _data(_report(straggling, target))["timeline"]
    whole = lay_out(straggling)
    for stretch in data["stretches"]:
        numbers = _decoded(base64.b64decode(stretch["spans"]))
        spans = list(zip(*[iter(numbers)] * 4, strict=True))
        steps = [step for step, _, _ in stretch["steps"]]
        chosen = np.flatnonzero(np.isin(whole.step, steps))
        origin = whole.start[chosen].min()
        starts = np.cumsum([start for start, *_ in spans]) * 100
        # Each collective is two spans here, its wait and its transfer, of which one may be empty.
        assert set((whole.start[chosen] - origin) // 100 * 100) <= set(starts.tolist())
        assert max(starts + [100 * length for _, length, *_ in spans]) == pytest.approx(
            whole.end[chosen].max() - origin, abs=200
        )
        assert {lane for *_, lane, _ in spans} == set(range(stretch["num_lanes"]))
        assert {entry for *_, entry in spans} <= set(range(len(data["names"])))


def _decoded(data: bytes) -> list[int]:
    """The varints of a stretch, as the page's script reads them."""
    numbers, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(value)
            value, shift = 0, 0
    return numbers


def test_stretches_that_fit_are_all_kept() -> None:
    stretches = [Stretch(0, (i,), 100, 1.0) for i in range(50)]
    assert choose(stretches) == stretches


@pytest.mark.run
def test_a_real_run(finished_run: Path, target: Path) -> None:
    report = _report(strategy_profiles.load(finished_run), target)
    assert "The run finished after 40 steps." in report
    assert "carried over exactly" in _section(report, "overview")
    assert _data(report)["timeline"]["stretches"]


def test_a_variable_whose_part_was_not_recorded_is_listed_without_it(
    target: Path, tmp_path: Path
) -> None:
    run = write_served_run(tmp_path / "served")
    for events in run.glob("*/events.jsonl"):
        text = re.sub(r'"(num_parts|part)": ?\d+', r'"\1": null', events.read_text())
        events.write_text(text)
        write_records(events, read_records(events))
    variables = strategy_profiles.load(run).table("served")
    assert variables.num_rows
    assert variables["part"].null_count == variables.num_rows
    assert " of 1</td>" not in _section(_report(strategy_profiles.load(run), target), "servers")
