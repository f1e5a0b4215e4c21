"""A link and a device described by a small TOML file, each figure with its source.

```toml
name = "25 Gigabit Ethernet"
bandwidth_gbps = 3.125            # 10^9 bytes per second that a device sends, and receives
bandwidth_source = "25 Gb/s: https://standards.ieee.org/ieee/802.3/10422/"
latency_us = 30                   # of one message; leave it out if it is not known
latency_source = "measured with sockperf"
device_times_as_fast = 2.0        # the devices there compute so much faster than the recorded ones
device_source = "ratio of the step on one device"
```
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from strategy_lab.profiles.errors import LabError

READY = Path(__file__).parent / "interconnects"
_MOST_BYTES = 65_536


class Link(BaseModel):
    """What a device can send over, and how fast the devices at its ends are."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=100)
    bandwidth_gbps: float = Field(gt=0, allow_inf_nan=False)
    """10^9 bytes per second that a device sends, and at the same time receives."""
    bandwidth_source: str = Field(min_length=1)
    latency_us: float | None = Field(None, ge=0, allow_inf_nan=False)
    """Of one message; None: not known, and counted as 0."""
    latency_source: str = ""
    device_times_as_fast: float = Field(1.0, gt=0, allow_inf_nan=False)
    """How much faster a device there computes than a recorded one."""
    device_source: str = ""

    @model_validator(mode="after")
    def _has_sources(self) -> Self:
        if self.latency_us is not None and not self.latency_source:
            raise ValueError("latency_us needs latency_source: where the figure comes from")
        if self.device_times_as_fast != 1.0 and not self.device_source:
            raise ValueError("device_times_as_fast needs device_source: where it comes from")
        return self


def ready_links() -> tuple[str, ...]:
    """Return the names of the interconnects that come with the lab."""
    return tuple(sorted(path.stem for path in READY.glob("*.toml")))


def read_link(name: str) -> Link:
    """Read a link from a file, or one that comes with the lab by its name.

    Raises LabError if there is no such file, or it does not describe a link.
    """
    path = READY / f"{name}.toml" if name in ready_links() else Path(name)
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES).decode()
        return Link.model_validate(tomllib.loads(text))
    except OSError as error:
        raise LabError(
            f"No link {name!r}: {error.strerror}",
            advice=f"Name a TOML file, or one of {', '.join(ready_links())}",
        ) from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise _no_link(path, f"{where}: {first['msg']}") from None
    except ValueError as error:  # not TOML, or not UTF-8
        raise _no_link(path, str(error)) from None


def _no_link(path: Path, problem: str) -> LabError:
    return LabError(
        f"{path.name} does not describe a link: {problem}",
        advice="docs/scaling.md has an example",
    )
