"""Wheels for the packages that are installed here, with their metadata and without their files.

An installer resolves and installs from them as from an index: names, versions and requirements are
those of the packages. TensorFlow alone would be half a gigabyte to pack and unpack; one of the
wheels has a `.pth` file in place of them all, which names the folders that the packages are in.
"""

from __future__ import annotations

import base64
import hashlib
import sys
import zipfile
from collections.abc import Mapping
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.utils import canonicalize_name

OWN = "strategy-lab"
_TAGS = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def write_stand_ins(folder: Path) -> None:
    """Write a wheel for every installed package but the lab."""
    folders = [path for path in sys.path if path.endswith("-packages")]
    pth = {"packages_of_the_tests.pth": "".join(f"{path}\n" for path in folders)}
    by_name = {
        canonicalize_name(each.metadata["Name"]): each for each in distributions(path=folders)
    }
    by_name.pop(OWN, None)
    for name, package in by_name.items():
        _write(folder, package, pth if name == "tensorflow" else {})


def _write(folder: Path, package: Distribution, files: Mapping[str, str]) -> None:
    stem = f"{canonicalize_name(package.metadata['Name']).replace('-', '_')}-{package.version}"
    info = f"{stem}.dist-info"
    content = {
        **files,
        f"{info}/METADATA": package.read_text("METADATA") or "",
        f"{info}/WHEEL": _TAGS,
    }
    record = [
        f"{name},sha256={_digest(text)},{len(text.encode())}" for name, text in content.items()
    ]
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
        for name, text in content.items():
            wheel.writestr(name, text)
        wheel.writestr(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,\n"]))


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
