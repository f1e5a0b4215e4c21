"""Convert pydantic's errors about a RunSpec to a sentence: field, value, and accepted values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from strategy_profiles.errors import SpecError
from strategy_profiles.user_input.text import shown
from strategy_profiles.user_input.wrong_field import what_it_takes


def spec_error(error: ValidationError, spec: type[BaseModel]) -> SpecError:
    """Return the first error as a SpecError; `spec` is the model that was validated."""
    first: Mapping[str, Any] = error.errors(include_url=False)[0]
    path = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        group = ".".join(str(part) for part in first["loc"][:-1])
        known = ", ".join(sorted(_fields(spec, first["loc"][:-1])))
        where = f" of {group}" if group else ""
        return SpecError(
            f"A run has no field '{path}'", advice=f"Fields{where}: {known}", field=path
        )
    if first["type"] == "missing":
        return SpecError(f"{path} is missing: it has no default", field=path)
    said = f"{path}={shown(first['input'])}" if path else shown(first["input"])
    return SpecError(f"{said} is not valid: {what_it_takes(first)}", field=path)


def _fields(spec: type[BaseModel], groups: Sequence[int | str]) -> Iterable[str]:
    """The names of the fields of a group, or of an item of a list, within a model."""
    for name in groups:
        if isinstance(name, int):
            continue
        inner = spec.model_fields[name].annotation
        spec = next(each for each in (inner, *get_args(inner)) if hasattr(each, "model_fields"))
    return spec.model_fields
