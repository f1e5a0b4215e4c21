"""The doctor lists what other packages add to the lab."""

from __future__ import annotations

from pathlib import Path

import pytest

from strategy_doctor.package_check import addition_checks
from tests.plugins.test_stranger import VERB, Packages


def test_the_doctor_lists_what_packages_add_and_what_cannot_be_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = "[strategy_lab.verbs]\ngood = other.verb\nlost = other.gone\n"
    packages = Packages(tmp_path)
    packages.add("other", entries, verb=VERB)
    monkeypatch.syspath_prepend(packages.folder)
    checks = {check.key: check for check in addition_checks()}
    assert checks["added_verbs_good"].state == "ok"
    assert checks["added_verbs_lost"].state == "missing"
    assert "The package other adds lost" in checks["added_verbs_lost"].found
