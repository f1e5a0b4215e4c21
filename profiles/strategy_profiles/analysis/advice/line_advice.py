"""What to do about a line of the program that takes long, by what it says and does."""

from __future__ import annotations

import re
from collections.abc import Sequence

from strategy_profiles.analysis.account.row import Row
from strategy_profiles.analysis.advice.known_lines import advice_on_text
from strategy_profiles.analysis.facts import Facts
from strategy_profiles.analysis.line_work import LineWork
from strategy_profiles.analysis.program_loops import statement_at, tape_of_all_steps
from strategy_profiles.run.event_parts import SourceLine, StackFrame

_OF_NPZ = (
    "An .npz file is read and unpacked again each time that one of its arrays is asked for: take "
    "the array out of it once, before the loop."
)
_NPZ = "NpzFile.__getitem__"
_OF_DEQUE = (
    "`{name}` is a deque, which is walked through from its nearer end for each element that is "
    "taken by its number: keep NumPy arrays or a list, of which each new entry replaces the oldest."
)
_REDUCE = "StrategyBase.reduce"
_OF_REDUCE = (
    "Outside of a tf.function, Python runs the ops of each strategy.reduce() one by one: reduce "
    "in the function that calls strategy.run(), behind that call, and return what it gives."
)
_OF_HDF5 = (
    "A dataset of an HDF5 file is read and unpacked by whole chunks, however few rows are asked "
    "for: read it into memory once, before the loop (`[:]`), if it fits. Otherwise ask for rows "
    "that lie together, or write the file with chunks of a few rows."
)
_HDF5, _USES_H5PY = "Dataset.__getitem__", re.compile(r"\bh5py\b")
"""The call, as libraries other than h5py have it as well."""
_ASSIGNS = re.compile(r"Variable\.assign$")
_OF_ASSIGN = (
    "assign() copies a whole array into the variable each time: change the variable itself, in a "
    "tf.function, or write only the rows that have changed (scatter_update() of "
    "tf.IndexedSlices)."
)
_OVER_A_CALL = re.compile(r"\bfor \b.*? in (?:\w+\.)+(?!items|values|keys|tolist|numpy|split)\w+\(")
"""A comprehension over what a function returns, which may take long itself."""
_LIBRARY = re.compile(r"\b(?:np|numpy|tf|keras|scipy|signal|ndimage|cv2|sklearn|librosa|Image)\.\w")
_COUNTS = re.compile(r"\b(?:range|enumerate|zip)\(")
"""What the head of a loop over elements says."""
_OVER_VARIABLES = re.compile(r"\bget_weights\(|\.(?:non_)?(?:trainable_)?(?:weights|variables)\b")
_OF_VARIABLES = (
    "moves one variable after the other through NumPy: change the variables themselves, in one "
    "tf.function (`for to, of in zip(a.variables, b.variables): to.assign(...)`), or do it every "
    "few steps. Keras's optimizers keep an average of the weights themselves (use_ema=True)."
)
_OF_TAPE = (
    "The tape at line {line} is open around the loop, so it records every turn, and gradient() "
    "goes back through all of them: open a tape in each turn, or cut what is carried from turn to "
    "turn by tf.stop_gradient()."
)
WAITS = (
    "The line uses hardly any processor time: it waits for a lock, a file, the network, or another "
    "process or worker. Hold a lock only for what is shared, and let another thread, or the "
    "dataset, do ahead what can be done ahead."
)
ALONE = (
    "The line calls one op. If it gives the op a NumPy array or a list, TensorFlow copies that "
    "into a new tensor each time: make the tensor once, before the loop (tf.constant, or a "
    "tf.Variable), or take what is needed with NumPy first."
)
_OPS = "Python runs the ops of this line one by one"
OP_BY_OP = f"{_OPS}: put them into a tf.function"


def advice_on_line(facts: Facts, line: Row | StackFrame, *, each_step: bool = True) -> str | None:
    """What to do about a line of the program; None if neither its text nor its work tells."""
    return advice_by_text(facts, line, each_step=each_step) or advice_by_work(facts, line)


def advice_by_text(facts: Facts, line: Row | StackFrame, *, each_step: bool = True) -> str | None:
    """What to do about a line that says something which is known to be slow, or whose statement
    does on another line."""
    text = (line.text or "").strip()
    advice = _by_object(facts, line, text) or advice_on_text(text, each_step=each_step)
    if advice or not line.file or not line.line:
        return advice
    source = facts.sources.get(line.file, "")
    if ".gradient(" in text and (tape := tape_of_all_steps(source, line.line)):
        return _OF_TAPE.format(line=tape)
    statement = statement_at(source, line.line)
    return advice_on_text(statement, each_step=each_step)


def _by_object(facts: Facts, line: Row | StackFrame, text: str) -> str | None:
    """By the kind of object that a line works on."""
    call = line.call if isinstance(line, Row) else ""
    if call == _NPZ or _reads_npz(facts, text):
        return _OF_NPZ
    if call == _REDUCE:
        return _OF_REDUCE
    if call == _HDF5 and facts.first_line_of_sources(_USES_H5PY):
        return _OF_HDF5
    for name in re.findall(r"(\w+)\[(?!-?\d+\])", text):
        made = re.compile(rf"\b{name}\b[^=\n]*= (?:collections\.)?deque\(")
        if facts.first_line_of_sources(made) is not None:
            return _OF_DEQUE.format(name=name)
    return None


def _reads_npz(facts: Facts, text: str) -> bool:
    """Whether a line takes an array by its name of what np.load() returned."""
    return any(
        facts.first_line_of_sources(
            re.compile(rf"\b{name} = (?:np|numpy)\.load\(|\b(?:np|numpy)\.load\(.* as {name}\b")
        )
        for name in re.findall(r"(\w+)\[[\"']", text)
    )


def advice_by_work(facts: Facts, line: Row | StackFrame) -> str | None:
    """What to do about a line that waits, runs ops, reads a dataset, or is in a loop of Python."""
    if line.file is None or line.line is None:
        return None
    work = facts.read_line_work(line.file, line.line)
    if work.waits:
        return WAITS
    if isinstance(line, Row) and not work.loops and _ASSIGNS.search(line.call or ""):
        return _OF_ASSIGN
    at = _at(work.loops[-1], line.line) if work.loops else ""
    if work.reads_dataset:
        is_in_loop = work.loops and work.loops[-1].line != line.line
        again = f" again in each turn of the loop{at}" if is_in_loop else ""
        return (
            f"The line reads a whole dataset{again}: read it once, leave out of its map() what the "
            "result does not need, or compute with the arrays that it is made of."
        )
    if work.runs_ops:
        return _of_ops(work, at)
    searches = f"{of_search(work.searches)} " if work.searches else ""
    return f"{searches}{of_loops}" if (of_loops := _of_loops(work.loops, line)) else None


def _of_ops(work: LineWork, at: str) -> str:
    """What to do about ops that Python runs one by one, in a loop at a place perhaps."""
    if work.num_ops == 1 and not work.loops:
        return ALONE
    if work.function:
        return f"{_OPS}: put @tf.function on `{work.function}`, which calls them."
    return f"{OP_BY_OP}{f', with the loop{at}' if at else ''}."


def of_search(line: SourceLine) -> str:
    """What to do about a line that asks whether an element is `in` something."""
    return (
        f"{line.place} (`{line.text.strip()}`) looks at one element after the other if it searches "
        "a list: a set or a dict finds one at once."
    )


def _of_loops(loops: Sequence[SourceLine], line: Row | StackFrame) -> str | None:
    """Not of a loop of a few turns that calls a library, which may take long each time."""
    if not loops or (loops[-1].line == line.line and _OVER_A_CALL.search(line.text or "")):
        return None
    if _OVER_VARIABLES.search(loops[-1].text):
        return f"The loop{_at(loops[-1], line.line or 0)} {_OF_VARIABLES}"
    calls = _LIBRARY.search(line.text or "") is not None
    if calls and len(loops) == 1 and not _COUNTS.search(loops[0].text):
        return None
    if len(loops) > 1:
        outer, inner = (_at(loop, line.line or 0) for loop in loops[-2:])
        which = (
            f"The loops{outer} and{inner} are Python, which works on one element after the other"
        )
        return f"{which}: compute with whole NumPy arrays in place of one of them, or of both."
    what = (
        "calls a library again and again: one call on whole arrays takes far less"
        if calls
        else "is Python, which works on one element after the other: compute with whole NumPy "
        "arrays instead"
    )
    return f"The loop{_at(loops[0], line.line or 0)} {what}."


def _at(loop: SourceLine, line: int) -> str:
    return " of this line" if loop.line == line else f" at {loop.place} (`{loop.text.strip()}`)"


def most_of_python(facts: Facts) -> str:
    """` Its Python is at train.py:40 (`line`).`, with the loop around it; empty if not known.

    The lines of a loop that let other threads run have more samples than time.
    """
    inside = facts.read_python_in_ops(0)
    if inside is None:
        return ""
    loops = facts.read_line_work(inside.line.file, inside.line.line).loops
    if not loops or loops[-1].line == inside.line.line:
        return f" Its Python is {inside.said}."
    often = "most often " if inside.said.startswith("at ") else ""
    at = f"in the loop at {loops[-1].place} (`{loops[-1].text.strip()}`)"
    return f" Its Python is {at}, {often}{inside.said}."


def advice_on_python(facts: Facts) -> str:
    """` The loop at train.py:41 ...`: about the line of the Python that ops run; or nothing."""
    inside = facts.read_python_in_ops(0)
    advice = advice_on_line(facts, inside.line) if inside else None
    return f" {advice}" if advice else ""
