"""The file in an environment that lets STRATEGY_LAB=1 have any of its programs wait.

Python runs lines of `.pth` files that begin with `import` at each start. The wheel has no such
file: see docs/decisions/recording.md.
"""

from __future__ import annotations

import sysconfig
from pathlib import Path

from strategy_core.tracing import site
from strategy_core.tracing.settings import WAIT_VARIABLE
from strategy_profiles.errors import LabError


def line() -> str:
    file = str(Path(site.__file__).with_name("sitecustomize.py"))
    names = {"__name__": "strategy_lab_waits", "__file__": file}
    run = f'exec(__import__("pathlib").Path({file!r}).read_text(), {names!r})'
    return f'import os; os.environ.get("{WAIT_VARIABLE}") and {run}\n'


def startup_file() -> Path:
    # after the file of a checkout that is installed in place, which makes the lab importable
    return Path(sysconfig.get_path("purelib")) / "strategy_lab_waits.pth"


def install() -> Path:
    """Write the file. Raises LabError if the environment cannot be written."""
    file = startup_file()
    try:
        file.write_text(line(), encoding="utf-8")
    except OSError as error:
        raise LabError(
            f"{file} cannot be written: {error.strerror}",
            advice="Use strategy-lab trace --idle instead",
        ) from error
    return file


def uninstall() -> Path:
    """Remove the file, if it is there. Raises LabError if it cannot be removed."""
    file = startup_file()
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise LabError(f"{file} cannot be removed: {error.strerror}") from error
    return file
