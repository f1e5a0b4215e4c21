"""Write an export whole, then rename it into place: nobody ever finds half of one."""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from strategy_lab.profiles.errors import LabError

_RULES = {
    errno.ENOSPC: ("An export fits on the disk", "Free some space, or export elsewhere"),
    errno.EDQUOT: ("An export fits into the disk quota", "Free some space, or export elsewhere"),
    errno.EFBIG: ("An export fits into the largest file allowed here", "Export elsewhere"),
}
_UNWRITABLE = ("An export goes where this user may write", "Choose another path")


def write_whole(target: Path, produce: Callable[[Path], None]) -> None:
    """Let `produce` write a file or a folder beside `target`, then rename it to `target`.

    Raises LabError where `target` exists, cannot be written, or does not fit; then nothing of
    it is left behind.
    """
    if target.exists() or target.is_symlink():
        raise LabError(
            "An export never overwrites what is there",
            target,
            "Choose another path, or remove it first",
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".export-", dir=target.parent))
        try:
            produce(scratch / target.name)
            (scratch / target.name).rename(target)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    except OSError as error:
        rule, advice = _RULES.get(error.errno or 0, _UNWRITABLE)
        raise LabError(rule, f"{target} ({error.strerror or error})", advice) from error
