"""`python -m tests.synthetic RUN`: a synthetic run folder; the options are the recipe's fields."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from tests.synthetic import Recipe, write_run


def _parse(argv: Sequence[str] | None) -> tuple[str, dict[str, Any]]:
    parser = argparse.ArgumentParser(description="Write a synthetic run folder.")
    parser.add_argument("run")
    plain = {"int": int, "float": float, "str": str, "str | None": str}
    for item in fields(Recipe):
        flag = "--" + item.name.replace("_", "-")
        if item.type == "bool":
            parser.add_argument(flag, action=argparse.BooleanOptionalAction)
        elif item.name == "segments":
            parser.add_argument(flag, type=int)
        elif item.name == "straggler":
            parser.add_argument(flag, metavar="REPLICA:MS")
        elif item.type in plain:
            parser.add_argument(flag, type=plain[str(item.type)])
    given = {
        key: value for key, value in vars(parser.parse_args(argv)).items() if value is not None
    }
    if "straggler" in given:
        replica, _, late = given["straggler"].partition(":")
        given["straggler"] = (int(replica), float(late))
    return given.pop("run"), given


if __name__ == "__main__":
    _folder, _options = _parse(None)
    print(write_run(_folder, **_options))
