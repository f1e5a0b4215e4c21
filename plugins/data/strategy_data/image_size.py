"""Reads width and height of an image from the first bytes of its file, without decoding it.

A PNG of some kilobytes can decode to gigabytes of pixels. Formats: PNG (RFC 2083), GIF89a, BMP, and
JPEG (ITU-T T.81, whose frame header follows segments of any length).
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

from strategy_profiles.guards import open_file

_STANDALONE = {0x01, *range(0xD0, 0xDA)}
"""JPEG markers without a length."""
_FRAMES = set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def image_size(path: Path) -> tuple[int, int] | None:
    """(width, height) in pixels from the image's header; None for any other format."""
    with open_file(path) as file:
        head = file.read(32)
        if head.startswith(b"\x89PNG\r\n\x1a\n") and len(head) >= 24:
            width, height = struct.unpack(">II", head[16:24])
        elif head[:6] in (b"GIF87a", b"GIF89a") and len(head) >= 10:
            width, height = struct.unpack("<HH", head[6:10])
        elif head.startswith(b"BM") and len(head) >= 26:
            width, height = map(abs, struct.unpack("<ii", head[18:26]))
        elif head.startswith(b"\xff\xd8"):
            return _jpeg_size(file)
        else:
            return None
    return width, height


def _jpeg_size(file: BinaryIO) -> tuple[int, int] | None:
    file.seek(2)
    while file.read(1) == b"\xff":
        while (code := file.read(1)) == b"\xff":
            pass  # fill bytes
        if not code or code[0] in _STANDALONE:
            continue
        length = file.read(2)
        if len(length) < 2:
            return None
        if code[0] in _FRAMES:
            frame = file.read(5)
            if len(frame) < 5:
                return None
            height, width = struct.unpack(">HH", frame[1:])
            return width, height
        file.seek(struct.unpack(">H", length)[0] - 2, 1)
    return None
