"""Run TensorFlow's TPU tests file by file and print what became of them as a table."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from strategy_core.processes.import_path import module_command, with_own_code

_PYTHON = "tensorflow/python"
FILES: Mapping[str, int] = {
    f"{_PYTHON}/distribute/tpu_strategy_test.py": 2,
    f"{_PYTHON}/distribute/tpu_strategy_compilation_test.py": 2,
    f"{_PYTHON}/distribute/tpu_strategy_model_parallelism_test.py": 8,
    f"{_PYTHON}/distribute/strategy_common_test.py": 2,
    f"{_PYTHON}/distribute/strategy_gather_test.py": 2,
    f"{_PYTHON}/distribute/custom_training_loop_input_test.py": 2,
    f"{_PYTHON}/distribute/custom_training_loop_gradient_test.py": 2,
    f"{_PYTHON}/distribute/distributed_variable_test.py": 2,
    f"{_PYTHON}/distribute/vars_test.py": 2,
    f"{_PYTHON}/distribute/values_test.py": 2,
    f"{_PYTHON}/distribute/values_v2_test.py": 2,
    f"{_PYTHON}/distribute/mirrored_values_test.py": 2,
    f"{_PYTHON}/distribute/input_lib_test.py": 2,
    f"{_PYTHON}/distribute/input_lib_type_spec_test.py": 2,
    f"{_PYTHON}/distribute/random_generator_test.py": 2,
    f"{_PYTHON}/distribute/moving_averages_test.py": 2,
    f"{_PYTHON}/distribute/checkpointing_test.py": 2,
    f"{_PYTHON}/tpu/tpu_outside_compilation_test.py": 2,
    f"{_PYTHON}/tpu/tests/tpu_embedding_v2_mp_strategy_test.py": 2,
    f"{_PYTHON}/tpu/tpu_embedding_v3_test.py": 2,
}
"""TensorFlow's test files that run on a TPU, and how many cores their figures assume."""

NEEDS_A_TPU = {
    r"device:TPU:|- CPU \+ TPU|device specification.*TPU": "names a device of type TPU",
    r"tpu_use_tfrt": "needs a flag of TensorFlow's own TPU test program",
    r"TPUEmbedding|tpu_embedding|SparseCore|sparsecore|XlaSparse": "needs the TPU's embedding unit",
    r"V1 only|graph mode|Session|placeholder": "a program in graph mode, of TensorFlow 1",
}
"""Errors of tests that look at the hardware: by a pattern, the reason in words."""

TIMEOUT_S = 600


def main() -> int:
    arguments = _arguments()
    rows, outcomes = [], {}
    for file, num_cores in FILES.items():
        if arguments.only and Path(file).name not in arguments.only:
            continue
        result_of_test, ending = run_file(arguments.source, file, num_cores)
        outcomes[file] = result_of_test
        rows.append((Path(file).name, counts(result_of_test), ending))
        print(_row(*rows[-1]), flush=True)
    total = sum((row[1] for row in rows), Counter())
    print(_row("together", total, ""))
    if arguments.json:
        arguments.json.write_text(json.dumps(outcomes, indent=1))
    return 0


def run_file(source: Path, file: str, num_cores: int) -> tuple[dict[str, list[str]], str]:
    """Outcome and error line by test, and how the process ended where that was not in order."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.json"
        command = module_command("tests.tensorflow_suite.one_file")
        try:
            done = subprocess.run(
                [*command, str(source.resolve()), file, str(num_cores), str(results)],
                env=with_own_code({**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}),
                capture_output=True,
                timeout=TIMEOUT_S,
                check=False,
            )
            ending = "" if done.returncode == 0 else f"ended with {done.returncode}"
        except subprocess.TimeoutExpired:
            ending = f"cut off after {TIMEOUT_S} s"
        answer = json.loads(results.read_text()) if results.is_file() else {}
    return {name: said for name, said in answer.items() if is_tpu_test(file, name)}, ending


def is_tpu_test(file: str, name: str) -> bool:
    """Whether a test runs on a TPU: its file does, or its name or combination says so."""
    if name.endswith(".test_session"):
        return False  # part of TensorFlow's test class
    return "tpu" in Path(file).name or "tpu" in name.lower()


def counts(outcomes: Mapping[str, list[str]]) -> Counter[str]:
    return Counter(kind_of(*said) for said in outcomes.values())


def kind_of(outcome: str, error: str) -> str:
    """`passed`, `skipped`, `failed`, or the reason for which a test says nothing here."""
    if outcome == "failed":
        for pattern, reason in NEEDS_A_TPU.items():
            if re.search(pattern, error):
                return reason
    return outcome


def _row(name: str, counted: Counter[str], ending: str) -> str:
    run = sum(counted.values()) - counted["skipped"]
    reasons = [f"{counted[reason]} {reason}" for reason in NEEDS_A_TPU.values() if counted[reason]]
    cells = [name, run, counted["passed"], "; ".join(reasons), counted["failed"], ending]
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.tensorflow_suite", description=__doc__)
    parser.add_argument("--source", type=Path, required=True, help="a checkout of TensorFlow")
    parser.add_argument("--only", nargs="*", default=[], help="file names")
    parser.add_argument("--json", type=Path, help="where to write the outcome of every test")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
