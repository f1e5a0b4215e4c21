"""The answers of a room: who may give one, and how many gave which. No names, no addresses.

A device is a random number in its browser's cookie. It counts from its first answer on. All of
it is in memory, and goes with the room; of addresses, only how many wrong codes came from each.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict, defaultdict

from strategy_profiles.errors import LabError

MAX_DEVICES = 200
MANY_WRONG_CODES = 20
"""An address that gave more wrong codes guesses: the lecturer sees that, and its next wrong code is
answered late. The right code always opens the room, also from there: a whole room may share it."""
MAX_ADDRESSES = 2000
"""Addresses whose wrong codes are counted; the one that has given none for longest goes first."""
CODE_ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
CODE_LENGTH = 6
"""31^6 codes: who tries 300 a second for two hours, all that one address may, finds the code of one
room in 400."""


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
        self._wrong: OrderedDict[str, int] = OrderedDict()
        """Wrong codes of each address."""

    @property
    def code(self) -> str:
        return self._code

    @property
    def num_guesses(self) -> int:
        """The most wrong codes that came from one address; 0 if it may have been people typing."""
        most = max(self._wrong.values(), default=0)
        return most if most > MANY_WRONG_CODES else 0

    @property
    def num_devices(self) -> int:
        return len(self._devices)

    def admits(self, code: str, address: str) -> bool:
        """Whether a request with this code may see the question. Counts an address's wrong ones."""
        if secrets.compare_digest(code.encode(), self._code.encode()):
            return True
        self._wrong[address] = self._wrong.pop(address, 0) + 1
        while len(self._wrong) > MAX_ADDRESSES:
            self._wrong.popitem(last=False)
        return False

    def slows(self, address: str) -> bool:
        """Whether an address has given so many wrong codes that the next is answered late."""
        return self._wrong.get(address, 0) > MANY_WRONG_CODES

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
