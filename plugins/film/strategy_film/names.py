"""Texts of a scene, each stored once."""

from __future__ import annotations


class Names:
    """Numbers texts in the order in which they are first used."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self.texts: list[str] = []

    def index(self, text: str | None) -> int:
        word = text or ""
        if word not in self._places:
            self._places[word] = len(self.texts)
            self.texts.append(word)
        return self._places[word]
