"""Setting up: uv installs with pip's settings, and pip does where uv cannot."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement

from tests.dockerfile_steps import REPOSITORY
from tests.installing.stand_in_wheels import write_stand_ins

LOCKS = REPOSITORY / "requirements"
PACKAGE = "packaging"
"""Needs no other package."""


def _loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("install", LOCKS / "install.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


install = _loaded()


@pytest.mark.parametrize(
    ("settings", "variables"),
    [
        ({"index-url": "https://a/simple"}, {"UV_DEFAULT_INDEX": "https://a/simple"}),
        ({"find-links": "/one\n/two"}, {"UV_FIND_LINKS": "/one,/two"}),
        ({"trusted-host": "a b"}, {"UV_INSECURE_HOST": "a b"}),
        ({"cert": "/ca.pem"}, {"SSL_CERT_FILE": "/ca.pem"}),
        ({"default-timeout": "180"}, {"UV_HTTP_TIMEOUT": "180"}),
        ({"disable-pip-version-check": "1", "quiet": "1"}, {}),
    ],
)
def test_uv_gets_the_settings_of_pip(
    settings: Mapping[str, str], variables: Mapping[str, str]
) -> None:
    assert install.for_uv(settings, {}) == ([], variables)


def test_a_second_index_counts_as_much_as_the_first_as_with_pip() -> None:
    options, variables = install.for_uv({"extra-index-url": "https://a https://b"}, {})
    assert options == ["--index-strategy", "unsafe-best-match"]
    assert variables == {"UV_INDEX": "https://a https://b"}


def test_a_setting_that_pip_has_off_is_not_switched_on_in_uv() -> None:
    assert install.for_uv({"no-index": "true", "no-cache-dir": "0"}, {}) == (["--no-index"], {})


def test_uv_uses_the_certificates_that_pip_takes_from_the_environment() -> None:
    environment = {"REQUESTS_CA_BUNDLE": "/ca.pem"}
    _, variables = install.for_uv({}, environment)
    assert variables == {"SSL_CERT_FILE": "/ca.pem"}
    _, variables = install.for_uv({}, environment | {"SSL_CERT_FILE": "/own.pem"})
    assert variables == {}


def test_settings_of_uv_itself_count_more_than_those_of_pip() -> None:
    _, variables = install.for_uv({"index-url": "https://a"}, {"UV_DEFAULT_INDEX": "https://b"})
    assert variables == {}


def test_pip_s_variables_count_more_than_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "pip.conf"
    file.write_text("[global]\nfind-links = /of/the/file\nno-index = true\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(file))
    monkeypatch.setenv("PIP_FIND_LINKS", "/of/the/variable")
    settings = install.pip_settings()
    assert (settings["find-links"], settings["no-index"]) == ("/of/the/variable", "true")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("uv", "settings", "installer"),
    [
        (f'exec {Path(sys.executable).with_name("uv")} "$@"', {}, "uv"),
        ("exit 2", {}, "pip"),
        ("exit 0", {"PIP_IGNORE_INSTALLED": "1"}, "pip"),
    ],
    ids=["uv", "uv fails", "uv has no such setting"],
)
def test_packages_are_installed_from_where_pip_would_take_them(
    uv: str,
    settings: Mapping[str, str],
    installer: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packages, folder = tmp_path / "packages", tmp_path / "venv"
    packages.mkdir()
    write_stand_ins(packages)
    for name in [name for name in os.environ if name.startswith(("UV_", "PIP_"))]:
        monkeypatch.delenv(name)
    (tmp_path / "pip.conf").write_text(f"[global]\nno-index = true\nfind-links = {packages}\n")
    own = {"PIP_CONFIG_FILE": tmp_path / "pip.conf", "UV_CACHE_DIR": tmp_path / "cache"}
    for name, value in {**own, **settings}.items():
        monkeypatch.setenv(name, str(value))
    venv.create(folder, with_pip=True, symlinks=True)
    (folder / "bin" / "uv").write_text(f"#!/bin/sh\n{uv}\n")
    (folder / "bin" / "uv").chmod(0o755)
    command = [folder / "bin" / "python", LOCKS / "install.py", PACKAGE]
    subprocess.run(command, check=True, cwd=tmp_path)
    (info,) = folder.glob(f"lib/python*/site-packages/{PACKAGE}-*.dist-info")
    assert info.name == f"{PACKAGE}-{version(PACKAGE)}.dist-info"
    assert (info / "INSTALLER").read_text().strip() == installer


def test_each_lock_file_names_no_index_and_agrees_on_the_installer() -> None:
    texts = {file.stem: file.read_text() for file in LOCKS.glob("*.lock")}
    assert not [name for name, text in texts.items() if "://" in text]
    assert texts["installer"].strip() in texts["test"]


PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))


def required(extra: str) -> Iterator[Requirement]:
    """What the project requires for an extra, on this machine; without its own extras' names."""
    for each in map(Requirement, PROJECT["project"]["optional-dependencies"][extra]):
        if each.name == PROJECT["project"]["name"]:
            for named in each.extras:
                yield from required(named)
        elif each.marker is None or each.marker.evaluate():
            yield each


def versions(file: Path) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==([^ ;]+)", file.read_text("utf-8"), re.MULTILINE))


@pytest.mark.parametrize("file", sorted(LOCKS.glob("*.lock")), ids=lambda file: file.stem)
def test_a_lock_file_has_what_the_project_requires(file: Path) -> None:
    groups = PROJECT["dependency-groups"]
    requirements = [*map(Requirement, groups.get(file.stem, []))]
    if file.stem in PROJECT["project"]["optional-dependencies"]:
        requirements += required(file.stem)
    if file.stem != "installer":
        requirements += [*map(Requirement, PROJECT["project"]["dependencies"]), *required("all")]
        requirements += map(Requirement, groups["build"])
    locked = versions(file)
    assert requirements
    assert not [
        str(each)
        for each in requirements
        if not each.specifier.contains(locked.get(each.name.lower(), "0"), prereleases=True)
    ]


@pytest.mark.parametrize("name", ["ray", "tensorboard", "jupyter"])
def test_lock_files_that_are_installed_together_agree(name: str) -> None:
    tests, own = versions(LOCKS / "test.lock"), versions(LOCKS / f"{name}.lock")
    assert {each: own[each] for each in own.keys() & tests} == {
        each: tests[each] for each in own.keys() & tests
    }
