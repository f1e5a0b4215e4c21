"""Reads a folder of images with one folder per class; classes are numbered in order of name."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import tensorflow as tf

from strategy_core.data import Reader
from strategy_core.data.examples import Examples
from strategy_data.image_size import image_size
from strategy_profiles.errors import SpecError

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif")
MAX_PIXELS = 100_000_000
"""Largest image: 300 MB as RGB."""
MAX_BYTES = 256 << 20
"""Largest image file."""
CHECK_AHEAD_S = 5.0
"""Time limit for checking images before the first step; the rest are checked when decoded."""


def read(path: Path) -> Examples:
    """Names of the image files and their classes; the pixels are decoded batch by batch.

    Raises SpecError if there is no image, or a checked one cannot be read.
    """
    classes = sorted(folder for folder in path.iterdir() if folder.is_dir())
    files = [
        (str(file), number)
        for number, folder in enumerate(classes)
        for file in sorted(folder.iterdir())
        if file.suffix.lower() in IMAGE_SUFFIXES
    ]
    if not files:
        raise SpecError(
            f"{path} has {len(classes)} folders with no image in them",
            advice=f"Put images that end in {', '.join(IMAGE_SUFFIXES)} into one folder per class",
            field="data",
        )
    for name, _ in files:
        if not Path(name).is_file():
            raise SpecError(f"The image {name} is not a file", field="data")
    names, labels = zip(*files, strict=True)
    _check_files(names, CHECK_AHEAD_S)
    return Examples(np.array(names), np.array(labels, np.int32), _decode)


def check_every_file(path: Path) -> None:
    """Raise SpecError if any image cannot be read. Checks all images, however long it takes."""
    names = [str(file) for file in path.glob("*/*") if file.suffix.lower() in IMAGE_SUFFIXES]
    _check_files(sorted(names), math.inf)


def _check_files(names: Sequence[str], limit_s: float) -> None:
    """Decode the images for up to `limit_s`; raises SpecError with the first that fails."""
    deadline = time.monotonic() + limit_s

    def problem(name: str) -> str | None:
        if time.monotonic() > deadline:
            return None
        try:
            reason = _why_undecoded(Path(name))
            if reason is not None:
                return reason
            tf.io.decode_image(tf.io.read_file(name), expand_animations=False)
        except tf.errors.OpError as error:
            return str(error.message).partition("\n")[0]
        except OSError as error:
            return error.strerror or type(error).__name__
        return None

    with ThreadPoolExecutor(thread_name_prefix="images") as threads:
        for name, said in zip(names, threads.map(problem, names), strict=True):
            if said is not None:
                raise SpecError(f"The image {name} cannot be read: {said}", field="data")


def _why_undecoded(file: Path) -> str | None:
    """Why a file must not be decoded, or None: opening a pipe would block, and a huge image would
    fill the memory. The decoder rejects a file whose size in pixels cannot be read."""
    if not file.is_file():
        return "it is not a file"
    if file.stat().st_size > MAX_BYTES:
        return f"it is larger than {MAX_BYTES:,} bytes"
    width, height = image_size(file) or (0, 0)
    if width * height > MAX_PIXELS:
        return f"{width} x {height} pixels are more than {MAX_PIXELS:,}"
    return None


def _decode(names: tf.Tensor, shape: Sequence[int | None]) -> tf.Tensor:
    """Pixels from 0 to 1, with the size and number of channels that the model takes."""
    if len(shape) != 3 or None in shape:
        raise SpecError(
            f"The model takes examples of shape {tuple(shape)}, not images (height, width, "
            "channels)",
            advice="Choose digits-cnn, resnet50 or a workload of your own",
            field="data",
        )
    height, width, channels = shape

    def image(name: tf.Tensor) -> tf.Tensor:
        pixels = tf.io.decode_image(
            tf.io.read_file(name), channels=channels, expand_animations=False
        )
        pixels.set_shape((None, None, channels))
        return tf.image.resize(pixels, (height, width)) / 255.0

    return tf.map_fn(image, names, fn_output_signature=tf.float32)


READER = Reader(read, check_every_file)
