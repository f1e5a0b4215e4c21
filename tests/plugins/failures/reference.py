"""`plugins/failures/README.md` from the table of errors.

python -m tests.plugins.failures.reference > plugins/failures/README.md
"""

from __future__ import annotations

import sys

from strategy_failures.known import KNOWN

_HEAD = """# Known errors

<!-- Made by `python -m tests.plugins.failures.reference`; a test compares. -->

An error that ended a run is explained by the [rule `failure`](../../docs/advice.md#failure): its
step, replica, layer and line. If it is one of these, its cause and what to do are said as well.
Each has a program that fails by it, in `tests/plugins/failures`. Only TensorFlow's text tells
errors apart, and a release may change it; then the error is shown as TensorFlow wrote it.
"""


def reference() -> str:
    """The page."""
    errors = (f"- `{it.key}`: {it.cause.format(who='a replica')}. {it.remedy}" for it in KNOWN)
    return "\n".join([_HEAD, *errors, ""])


if __name__ == "__main__":
    sys.stdout.write(reference())
