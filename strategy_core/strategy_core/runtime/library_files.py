"""Recognises files of Python's library and of installed packages, as opposed to the program's."""

from __future__ import annotations

import os
import sys
import sysconfig
from functools import lru_cache
from pathlib import Path

from strategy_core.processes.import_path import own_packages

_FRAMEWORKS = ("tensorflow", "keras", "tf_keras")
"""Packages that are also used from a checkout, a Bazel build or `pip install --target`; NumPy is,
too. It is no framework: what it does for the program is the program's own work."""
_INSTALLED = ("/site-packages/", "/dist-packages/")
"""Folders of installed packages, also of the system's, which a virtual environment may use."""
_SCHEMES = ("stdlib", "platstdlib", "purelib", "platlib")
_lab = tuple(map(str, own_packages()))


def is_program_file(path: str) -> bool:
    """Return whether a source file is neither a library's nor the lab's."""
    return not is_lab_file(path) and not is_library_file(path)


def is_lab_file(path: str) -> bool:
    """Return whether a source file is the lab's own."""
    return _is_in(path, _lab)


def count_as_lab(folder: Path) -> None:
    """Treat the files of a package whose functions wrap the program's calls as the lab's own."""
    global _lab  # noqa: PLW0603
    _lab = tuple(dict.fromkeys((*_lab, str(folder))))


@lru_cache(maxsize=4096)
def is_library_file(path: str) -> bool:
    """Return whether a source file is Python's, an installed package's or one of a framework.

    Ask once the frameworks are imported: an answer is kept. `<string>` is code that was compiled
    from a text, such as the `__init__()` of a dataclass, also of one in Keras.
    """
    if path.startswith(("<frozen ", "<string>")) or any(part in path for part in _INSTALLED):
        return True
    folders = (*_python_folders(), *_folders_of("numpy"))
    return _is_in(path, folders) or is_framework_file(path)


@lru_cache(maxsize=4096)
def is_framework_file(path: str) -> bool:
    """Return whether a source file is TensorFlow's or Keras's, wherever it is installed."""
    return _is_in(path, _folders_of(*_FRAMEWORKS)) or any(
        f"{part}{name}/" in path for part in _INSTALLED for name in _FRAMEWORKS
    )


def _is_in(path: str, folders: tuple[str, ...]) -> bool:
    return path.startswith(_beginnings(folders))


@lru_cache(maxsize=1)
def _python_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    return tuple(paths[name] for name in _SCHEMES)


def _folders_of(*names: str) -> tuple[str, ...]:
    """The folders from which these packages were imported.

    TensorFlow's `__path__` begins with None where it does not find a part of Keras.
    """
    packages = [sys.modules.get(name) for name in names]
    paths = (getattr(package, "__path__", ()) for package in packages)
    return tuple(folder for path in paths for folder in path if folder is not None)


@lru_cache(maxsize=16)
def _beginnings(folders: tuple[str, ...]) -> tuple[str, ...]:
    """How paths in these folders begin, as Python names them and without symbolic links.

    Computed once: with a look at the disk for each new path, the first sample of a stack took 2 ms,
    in which the program could not run.
    """
    return tuple(f"{each}/" for folder in folders for each in (folder, os.path.realpath(folder)))
