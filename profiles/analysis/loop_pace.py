"""How fast is the loop? What is between steps counts, the first step does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from strategy_lab.profiles.analysis.facts import Facts


def loop_examples_per_second(facts: Facts) -> float | None:
    """Examples of the steps after the first call over the wall time of the loop after it.

    None unless each of these steps knows its examples.
    """
    examples = facts.steps.examples[facts.account.num_first :]
    is_known = len(examples) and np.isfinite(examples).all()
    loop_ms = facts.account.usual_ms
    return float(examples.sum()) / loop_ms * 1e3 if is_known and loop_ms else None
