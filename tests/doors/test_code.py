"""Which modules open files, read the environment or take text, and why each of them may."""

from __future__ import annotations

from tests.doors.code import opened, page_inputs, unbounded_numbers, variables
from tests.plugins.leaves import from_doors

GUARD = "this is a guard"
OWN = "a file that comes with the lab"
SELF = "what this process, or one that it started, has written"
SYSTEM = "a file of the system: /proc, /sys, /dev, a mounted secret"
CHILD = "what a process says that the lab has started"
BOUNDED = "of a file or text whose kind and size were checked"
WRITES = "it is written, not read"
LOCKS = "it is locked, not read"

OPENS = {
    "strategy_app/access/pages.py": OWN,
    "strategy_app/live/live_run.py": SELF,
    "strategy_app/server/assets.py": OWN,
    "strategy_app/server/browser.py": WRITES,
    "strategy_app/server/chart_library.py": OWN,
    "strategy_core/cli/main.py": OWN,
    "strategy_core/cluster/config_check.py": CHILD,
    "strategy_core/cluster/network/namespaces.py": SYSTEM,
    "strategy_core/cluster/network/setup_helper.py": CHILD,
    "strategy_core/cluster/telemetry/link_meter.py": SYSTEM,
    "strategy_core/launcher/last_captures.py": WRITES,
    "strategy_core/launcher/runs_lock.py": LOCKS,
    "strategy_core/planning/inventory.py": CHILD,
    "strategy_core/planning/workload_catalog.py": OWN,
    "strategy_core/processes/fork_client.py": CHILD,
    "strategy_core/processes/fork_server.py": CHILD,
    "strategy_core/processes/oom.py": SYSTEM,
    "strategy_core/processes/parent_death.py": WRITES,
    "strategy_core/processes/protocol.py": CHILD,
    "strategy_core/processes/reaper.py": SYSTEM,
    "strategy_core/processes/resource_use.py": SYSTEM,
    "strategy_core/processes/running_labs.py": WRITES,
    "strategy_core/processes/scratch.py": LOCKS,
    "strategy_core/processes/spawner.py": CHILD,
    "strategy_core/recorder/graph_trace.py": SELF,
    "strategy_core/recorder/helper_process.py": CHILD,
    "strategy_core/recorder/other_threads.py": SYSTEM,
    "strategy_core/recorder/placement.py": SELF,
    "strategy_core/runtime/card_locks.py": LOCKS,
    "strategy_core/tracing/children.py": SELF,
    "strategy_core/tracing/settings.py": CHILD,
    "strategy_core/training/checkpoint.py": BOUNDED,
    "strategy_core/workloads/_digits.py": OWN,
    "strategy_core/workloads/_stdlib.py": OWN,
    "strategy_profiles/capture/helper.py": CHILD,
    "strategy_profiles/exports/__init__.py": SELF,
    "strategy_profiles/exports/json.py": WRITES,
    "strategy_profiles/guards.py": GUARD,
    "strategy_profiles/importers.py": GUARD,
    "strategy_profiles/registered.py": "the metadata of an installed package",
    "strategy_profiles/reporting/document.py": OWN,
    "strategy_profiles/run/event_columns.py": WRITES,
    "strategy_profiles/run/event_log.py": WRITES,
    "strategy_profiles/run/liveness.py": SYSTEM,
    "strategy_profiles/tables/parquet_file.py": BOUNDED,
    "strategy_profiles/tables/sql.py": CHILD,
    "strategy_profiles/tables/sql_child.py": CHILD,
    "strategy_profiles/tables/sql_process.py": CHILD,
    "strategy_profiles/user_input/files.py": GUARD,
    "strategy_profiles/user_input/text.py": GUARD,
}
for opens in from_doors("OPENS"):
    OPENS |= opens
"""All others open files by `strategy_profiles.guards` and decode JSON by `decoders`."""

FLAG = "whether it is set, or equal to a word"
PATH = "a folder, whose files are opened by a guard"
ENVIRONMENT = {
    "'BROWSER'": FLAG,
    "'CI'": FLAG,
    "'CUDA_VISIBLE_DEVICES'": FLAG,
    "'DISPLAY'": FLAG,
    "'PATH'": "passed on",
    "'PYTHONPATH'": "passed on",
    "'PYTHONSAFEPATH'": FLAG,
    "'SLURMD_NODENAME'": "compared with a name",
    "'SLURM_LOCALID'": "of the engine: an error is a sentence",
    "'SLURM_STEP_NUM_TASKS'": "of the engine: an error is a sentence",
    "'SSH_CONNECTION'": FLAG,
    "'TF_CONFIG'": "user_input.text.parse_json",
    "'WAYLAND_DISPLAY'": FLAG,
    "'XDG_CACHE_HOME'": PATH,
    "'XDG_RUNTIME_DIR'": PATH,
    "GIVEN": "passed on",
    "JOB": "a name, compared",
    "OWN_FOLDER": PATH,
    "STRICT_VARIABLE": FLAG,
    "TOKEN_VARIABLE": "access.policy.choose_token",
    "VARIABLE": "set by the lab for its own processes",
    "WAIT_VARIABLE": PATH,
    "descendants.VARIABLE": "set by the lab for its own processes",
    "f'SLURM_{name}'": "a name, compared",
    "name": "of Streamlit, of Slurm: kept, passed on, or quoted in a sentence",
    "variable": "of TensorFlow: its own reading of a number",
}
for names in from_doors("ENVIRONMENT"):
    ENVIRONMENT |= names

INPUTS = {
    "strategy_app/forms/workload_picker.py": 2,
    "strategy_app/pages/help.py": 1,
    "strategy_app/widgets/op_table.py": 1,
    "strategy_app/widgets/first_runs.py": 2,
    "strategy_app/widgets/run_dialogs.py": 1,
    "strategy_app/widgets/run_filter.py": 1,
    "strategy_app/widgets/sql_box.py": 1,
    "strategy_app/screen/table.py": 1,
}
for texts in from_doors("INPUTS"):
    INPUTS |= texts
"""Of pages; what is tried at each is in `test_texts_of_pages`."""


def test_files_of_strangers_are_opened_by_the_guards_alone() -> None:
    assert set(opened()) == set(OPENS)


def test_no_pickle_is_ever_loaded() -> None:
    calls = {call for calls in opened().values() for call in calls}
    assert not [call for call in calls if call.startswith(("pickle.", "marshal.", "shelve."))]


def test_every_environment_variable_has_a_guard() -> None:
    assert {each for each in variables() if each not in _OF_A_MAPPING} == set(ENVIRONMENT)


_OF_A_MAPPING = {"'host'", "'tensorflow'", "'threads'"}
"""Keys of a mapping that is called `environment`, too: the recorded one."""


def test_every_text_of_a_page_is_listed() -> None:
    assert page_inputs() == INPUTS


def test_digits_become_a_number_only_if_they_are_few() -> None:
    """Python reads no number of more than 4,300 digits, and NumPy none of more than 64 bits."""
    checked = {
        "strategy_profiles/reporting/device_names.py",
        "strategy_servers/closure.py",
        "strategy_servers/variable_placement.py",
    }
    assert {each.partition(":")[0] for each in unbounded_numbers()} <= checked
