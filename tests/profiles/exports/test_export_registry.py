"""Exports are found by what their modules define, and every one can be downloaded."""

from __future__ import annotations

import io
import zipfile

import pytest

from strategy_profiles.errors import LabError
from strategy_profiles.exports import download, formats, write
from strategy_profiles.tables.schema import TABLES
from strategy_profiles.tables.store import Profile


def test_every_format_has_its_name_a_title_and_a_description() -> None:
    assert set(formats()) >= {"csv", "parquet", "json", "xplane"}
    for name, item in formats().items():
        assert item.name == name
        assert item.title
        assert item.description.endswith(".")


def test_unknown_format_names_the_known_ones(straggling: Profile, target) -> None:
    with pytest.raises(LabError, match=r"no export format 'pdf'\. Choose one of .*csv"):
        write(straggling, "pdf", target)
    assert not target.exists()


def test_a_folder_is_downloaded_as_a_zip(straggling: Profile) -> None:
    made = download(straggling, "csv")
    assert made.filename == "straggling-csv.zip"
    with zipfile.ZipFile(io.BytesIO(made.data)) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    assert names == {f"straggling-csv/{table}.csv" for table in TABLES}


def test_a_file_is_downloaded_as_it_is(straggling: Profile, target) -> None:
    made = download(straggling, "json")
    assert made.filename == "straggling.json"
    assert made.media_type == "application/json"
    assert made.data == write(straggling, "json", target).read_bytes()
