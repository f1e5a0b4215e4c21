"""Checks that all hosts were started with the same run and programs, by exchanging descriptions.

Hosts with different settings would otherwise fail in collectives of different sizes, with an error
that names neither the host nor the setting.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from strategy_core.planning import workload_catalog
from strategy_profiles.errors import SpecError
from strategy_profiles.guards import MOST_PROGRAM_BYTES, read_file
from strategy_profiles.spec.run_spec import RunSpec

_ADVICE = "Start the run again with the same flags and the same installation on every host"


def asked_here(spec: RunSpec, tensorflow: str) -> str:
    """This host's description for the others to compare: one line of JSON."""
    program = read_file(workload_catalog.find(spec.workload), MOST_PROGRAM_BYTES)
    programs = {
        "Strategy Lab": _version(),
        "TensorFlow": tensorflow,
        "the workload's file": hashlib.sha256(program).hexdigest()[:12],
    }
    return json.dumps(programs | spec.to_json(), sort_keys=True)


def check_same(said: Sequence[str]) -> None:
    """Raise SpecError if a worker's description differs from the first one's; names the
    difference."""
    first = json.loads(said[0])
    for worker, text in enumerate(said):
        other = json.loads(text)
        names = [name for name in first | other if first.get(name) != other.get(name)]
        if names:
            one, two = (", ".join(f"{n} {t.get(n)!r}" for n in names[:3]) for t in (first, other))
            raise SpecError(
                f"The hosts were started differently: worker 0 has {one}, worker {worker} "
                f"has {two}",
                advice=_ADVICE,
            )


def _version() -> str:
    try:
        return version("strategy-lab")
    except PackageNotFoundError:
        return "not installed"
