"""What a program in the editor can do to the files by which its page hears of it."""

from __future__ import annotations

import os
import time

import pytest

from strategy_contexts import child
from strategy_contexts.limits import Limits
from strategy_profiles.errors import LabError
from tests.doors.hostile import no_hang

pytestmark = pytest.mark.run

HEAD = "import os\ndef demonstrate(strategy):\n"
PROGRAMS = {
    "its ending is not the guard's": (
        "open(f'/proc/{os.getppid()}/fd/1', 'w').write('[' * 10_000); os._exit(0)"
    ),
    "its recording is a pipe": "os.mkfifo('recording.json'); os._exit(0)",
    "its recording is a device": "os.symlink('/dev/zero', 'recording.json'); os._exit(0)",
    "its recording is deep": "open('recording.json', 'w').write('[' * 90_000); os._exit(0)",
    "its recording is a number": "open('recording.json', 'w').write('7'); os._exit(0)",
    "its recording is empty": "open('recording.json', 'w').write('{}'); os._exit(0)",
    "its refusal is a number": (
        "open('recording.json', 'w').write('{\"refused\": 7}'); os._exit(0)"
    ),
    "its output is a pipe": "os.unlink('output.log'); os.mkfifo('output.log'); os._exit(3)",
    "its folders are deep": (
        "open('recording.json', 'w').write('7')\n"
        "    [(os.mkdir('d'), os.chdir('d')) for _ in range(3000)]; os._exit(0)"
    ),
    "its folder is gone": "import shutil; shutil.rmtree(os.getcwd()); os._exit(3)",
}


@pytest.mark.long(keep=2)
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_the_page_goes_on_and_says_what_happened(program: str) -> None:
    recording = child.start(
        f"{HEAD}    {program}\n", strategy="default", devices="cpu:1", limits=Limits(wall_s=60)
    )
    folder = recording._folder
    try:
        until = time.monotonic() + 90
        while recording.is_running and time.monotonic() < until:
            time.sleep(0.1)
        with no_hang(program), pytest.raises(LabError) as raised:
            recording.result()
        assert "\n" not in str(raised.value)
    finally:
        recording.close()
    assert not os.path.lexists(folder)
