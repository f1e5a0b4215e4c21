"""The answers of a room: who may give one, and how many gave which. No names, no addresses.

A device is a random number in its browser's cookie. It counts from its first answer on. All of
it is in memory, and goes with the room.
"""

from __future__ import annotations

import secrets
from collections import defaultdict

from strategy_lab.profiles.errors import LabError

MAX_DEVICES = 200
MAX_WRONG_CODES = 1000
"""After so many wrong codes the room admits no new device: somebody guesses."""
CODE_ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
CODE_LENGTH = 6
"""31^6 codes: a guess before the room closes succeeds once in 900,000 rooms."""


def new_code() -> str:
    """Return a random code without letters and digits that look alike."""
    return "".join(secrets.choice(CODE_ALPHABET) for _ in range(CODE_LENGTH))


class RoomError(LabError):
    """The room does not take this answer."""


class Room:
    """One room, from its opening to its end."""

    def __init__(self, code: str, *, max_devices: int = MAX_DEVICES) -> None:
        self._code = code
        self._max_devices = max_devices
        self._devices: set[str] = set()
        self._answers: dict[int, dict[str, int]] = defaultdict(dict)
        """By scene: the choice of each device."""
        self.num_wrong_codes = 0

    @property
    def code(self) -> str:
        return self._code

    @property
    def is_guarded(self) -> bool:
        """Whether only devices that have answered are let in."""
        return self.num_wrong_codes >= MAX_WRONG_CODES

    @property
    def num_devices(self) -> int:
        return len(self._devices)

    def admits(self, code: str, device: str | None) -> bool:
        """Whether a request with this code may see the question. Counts wrong codes."""
        if not secrets.compare_digest(code.encode(), self._code.encode()):
            self.num_wrong_codes += 1
            return False
        return not self.is_guarded or device in self._devices

    def answer(self, device: str, scene: int, choice: int) -> None:
        """Keep a device's answer in place of its last one; raises RoomError if the room is full."""
        if device not in self._devices and len(self._devices) >= self._max_devices:
            raise RoomError(
                f"This room is full: it takes {self._max_devices} devices",
                advice="Watch the lecturer's page",
            )
        self._devices.add(device)
        self._answers[scene][device] = choice

    def choice_of(self, device: str | None, scene: int) -> int | None:
        """Return what a device answered; None if it did not."""
        return self._answers[scene].get(device) if device else None

    def counts(self, scene: int, num_choices: int) -> list[int]:
        """Return how many devices chose each."""
        given = list(self._answers[scene].values())
        return [given.count(choice) for choice in range(num_choices)]
