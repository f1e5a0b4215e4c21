"""One CSV file per table, with a header line. A missing value is an empty field.

Text that a spreadsheet would compute begins with an apostrophe (`reporting.formulas`).
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from strategy_profiles.exports.format import Format
from strategy_profiles.reporting.formulas import STARTS
from strategy_profiles.tables.schema import TABLES
from strategy_profiles.tables.store import Profile


def _write(profile: Profile, folder: Path) -> None:
    folder.mkdir()
    for name in TABLES:
        pa_csv.write_csv(_plain(profile.table(name)), folder / f"{name}.csv")


def _plain(table: pa.Table) -> pa.Table:
    """Return the table with dictionary columns decoded, because CSV has no dictionaries."""
    plain = [
        pa.field(field.name, pa.string()) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    decoded = table.cast(pa.schema(plain))
    for index, field in enumerate(plain):
        if pa.types.is_string(field.type):
            decoded = decoded.set_column(index, field, _no_formulas(decoded.column(index)))
    return decoded


def _no_formulas(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    is_formula = pc.match_substring_regex(texts, f"^[{STARTS}]")
    if not pc.any(is_formula).as_py():
        return texts
    return pc.if_else(is_formula, pc.binary_join_element_wise("'", texts, ""), texts)


FORMAT = Format(
    name="csv",
    title="CSV",
    description="One file per table: for spreadsheets and anything that reads text.",
    suffix="",
    media_type="application/zip",
    write=_write,
)
