"""Write an export completely, then rename it into place, so that no reader finds a partial one."""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from strategy_profiles.errors import LabError

_ADVICE = {
    errno.ENOSPC: "Free some space, or export elsewhere",
    errno.EDQUOT: "Free some space, or export elsewhere",
    errno.EFBIG: "Export elsewhere: this is larger than a file may be here",
}


def write_whole(target: Path, produce: Callable[[Path], None]) -> None:
    """Call `produce` with a temporary path beside `target`, then rename the result to `target`.

    `produce` writes a file or a folder. Raises LabError if `target` exists or cannot be written, or
    if the disk is full; the temporary file or folder is then removed.
    """
    try:
        if target.exists() or target.is_symlink():
            raise LabError(
                f"{target} exists already, and an export overwrites no file",
                advice="Choose another path, or remove it first",
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".export-", dir=target.parent))
        try:
            produce(scratch / target.name)
            (scratch / target.name).rename(target)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    except RecursionError as error:  # `mkdir` calls itself for each missing folder
        raise LabError(
            f"The export cannot be written to a path of {len(target.parts):,} folders",
            advice="Choose another path",
        ) from error
    except (OSError, ValueError) as error:  # ValueError: the path contains a null byte
        number = error.errno if isinstance(error, OSError) else None
        why = (error.strerror if isinstance(error, OSError) else None) or error
        advice = _ADVICE.get(number or 0, "Choose another path")
        raise LabError(f"The export cannot be written to {target}: {why}", advice=advice) from error
