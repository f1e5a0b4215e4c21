"""A complete run folder with a known truth, without TensorFlow: `write_run(folder, ...)`.

    python -m tests.synthetic RUN --replicas 4 --steps 1000 --straggler 2:30

Every step of a replica is input + compute + wait + transfer + idle, all replicas end a step
together, and a straggler's extra milliseconds are in its own compute and in the others' wait.
The same options and seed give the same numbers.
"""

from tests.synthetic.recipe import EPOCH_NS, HOSTILE, Recipe
from tests.synthetic.run import TWO_HOSTS, write_run

__all__ = ["EPOCH_NS", "HOSTILE", "TWO_HOSTS", "Recipe", "write_run"]
