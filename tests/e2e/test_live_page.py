"""`strategy-lab trace --live` opens the run's page beside the program."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Browser, expect

from strategy_core.processes.import_path import with_own_code

PROGRAM = """
import sys
import tensorflow as tf
weight = tf.Variable(1.0)

@tf.function
def step():
    with tf.GradientTape() as tape:
        loss = weight * weight
    weight.assign_sub(0.1 * tape.gradient(loss, weight))
    return loss

for _ in range(30):
    step()
print("trained", flush=True)
sys.exit(int(input()))
"""


@pytest.mark.run
@pytest.mark.browser
def test_the_page_shows_the_traced_run_and_the_program_keeps_its_own_ends(
    tmp_path: Path, browser: Browser
) -> None:
    command = ["-m", "strategy_core", "trace", "--live", "-o", str(tmp_path / "mine")]
    with subprocess.Popen(
        [sys.executable, "-P", *command, "-c", PROGRAM],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=with_own_code(os.environ) | {"CI": "1"},
    ) as process:  # fmt: skip
        servers: list[psutil.Process] = []
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            found = None
            while found is None:
                line = process.stderr.readline()
                assert line, "the program ended"
                found = re.search(r"live at (http://\S+)", line)
            servers = [
                child
                for child in psutil.Process(process.pid).children()
                if "strategy_app" in child.cmdline()
            ]
            assert process.stdout.readline() == "trained\n"
            page = browser.new_page()
            page.goto(found[1])
            expect(page).to_have_url(re.compile(r"\?run=mine$"))
            expect(page.get_by_text("mine").first).to_be_visible()
            print(7, file=process.stdin, flush=True)
            assert process.wait() == 7
            assert [server.is_running() for server in servers] == [True]
            page.close()
        finally:
            process.kill()
            for server in servers:
                server.terminate()
                server.wait()
