"""What to do about a line of the program that takes long, by what it says and does."""

from __future__ import annotations

import re
from collections.abc import Sequence

from strategy_profiles.analysis.account.row import Row
from strategy_profiles.analysis.facts import Facts
from strategy_profiles.analysis.line_work import LineWork
from strategy_profiles.run.event_parts import SourceLine, StackFrame

_OF_DATA = {
    r".{0,120}\w\.index\(.{0,120}": (
        "A list's index() looks at one element after the other: a dict, or StringLookup, finds one "
        "at once."
    ),
    r"(?:.{0,80}\W)?(?:open|read_csv|imread|loadtxt|genfromtxt|load_img|(?:np|pickle|json|Image|"
    r"librosa)\.(?:load|open)|\w+\.(?:read|read_text|read_bytes))\(.{0,200}": (
        "The line reads: read once and keep what was read, read larger pieces, or let a dataset "
        "read several files at once (map() with num_parallel_calls, interleave())."
    ),
    r"(?i:.{0,120}\.execute\(.{0,120}\bselect\b.{0,160})": (
        "The line asks a database: ask for all rows of a batch in one query, or read the table "
        "into memory once."
    ),
    r".{0,120}\bsleep\(.{0,120}": (
        "The line waits: let several such waits pass at once, in threads or a parallel map(), or "
        "ask for a whole batch at once."
    ),
    r".{0,120}\bdeepcopy\(.{0,120}": (
        "deepcopy() copies everything each time: copy only what has changed, or do it every few "
        "steps."
    ),
    r".{0,120}\.(?:iloc|loc|iat|at)\[.{0,120}|.{0,120}\.(?:iterrows|itertuples)\(.{0,120}": (
        "pandas takes long for each row or cell: take the columns as NumPy arrays once, by "
        "to_numpy(), and index these."
    ),
    r".{0,120}\bragged\.(?:constant|stack)\(.{0,120}": (
        "tf.ragged.constant() and tf.ragged.stack() work in Python on each element: give "
        "tf.RaggedTensor.from_row_lengths() all values as one array, and the lengths."
    ),
    r".{0,120}\.predict\(.{0,120}": (
        "predict() makes an iterator over its data each time: call it once, on all of the data "
        "before training, or use predict_on_batch(), or call the model in a tf.function."
    ),
    r"(?:[\w, .\[\]]{1,80} = |return )?(?:(?:pd|pandas)\.concat|(?:np|numpy)\."
    r"(?:array|asarray|stack|vstack|hstack|concatenate|append))\((?!.*\bfor\b|[^(]*\w\().{0,200}": (
        "The line makes a whole array each time, of a list or of other arrays: collect the parts "
        "in a list and make the array once, or keep one array and change only the rows of it that "
        "are new."
    ),
}
"""What to do about a line, by what all of it is like."""
_OF_STEPS = {
    # Of context managers without a call, only locks wait in C.
    r"with [\w.\[\]]{1,80}:|(?:.{1,80}\.)?acquire\(.{0,80}": (
        "The line waits for a lock that another thread of the program holds: hold the lock only "
        "for what the threads share, or train in one thread."
    ),
    r".{1,80}\.(?:save|savefig|imsave|write(?:_\w+|rows?)?|dump|to_(?:csv|parquet))\(.{0,200}": (
        "The line writes: write less often, with less compression, or in another thread or process."
    ),
    r".{0,120}\b[gs]et_weights\(.{0,120}": (
        "get_weights() and set_weights() move every variable through NumPy: assign the variables "
        "in one tf.function (`for to, of in zip(a.variables, b.variables): to.assign(of)`), or do "
        "it every few steps."
    ),
    r".{0,120}\brandom\.sample\(.{0,120}": (
        "random.sample() of a deque counts to each element from an end of it: keep the elements in "
        "a list, or in arrays of which one index takes the rows of a batch."
    ),
    r".{0,120}\b(?:np|numpy)\.random\.choice\(.{0,120}|"
    r".{0,120}\.choice\(.{0,120}\b(?:replace=False|p=).{0,80}": (
        "choice() works on all elements to draw a few: draw with the integers() of "
        "np.random.default_rng(), by np.searchsorted() of a cumulative sum where they have "
        "weights, or draw for many steps in one call."
    ),
    r".{0,120}\bfrom_tensors?(?:_slices)?\(.{0,200}": (
        "The line copies arrays into a new dataset, and converts lists one element after the "
        "other: give it NumPy arrays, and make the dataset once, before the loop."
    ),
    r".{0,120}\bgc\.collect\(.{0,80}": (
        "Python collects garbage by itself: leave the call out, or make it once an epoch."
    ),
    r"(?:.{0,80}[ .=(])?(?:Model|Sequential|clone_model|model_from_json|load_model)\(.{0,120}": (
        "The line makes a model: make it once, before the loop, and use it in each step."
    ),
    r".{0,80}(?:\bplt|\bax|\bfig|canvas)\.\w+\(.{0,120}": (
        "The line draws: draw less often, or in another process."
    ),
}
"""The same of a line that each step runs."""
_OF_CALLS = {
    "NpzFile.__getitem__": (
        "An .npz file is read and unpacked again each time that one of its arrays is asked for: "
        "take the array out of it once, before the loop."
    ),
}
"""What to do about a line, by the function that it calls."""
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
    return advice_by_text(line, each_step=each_step) or advice_by_work(facts, line)


def advice_by_text(line: Row | StackFrame, *, each_step: bool = True) -> str | None:
    """What to do about a line that says something which is known to be slow."""
    text = (line.text or "").strip()
    if isinstance(line, Row) and line.call in _OF_CALLS:
        return _OF_CALLS[line.call]
    known = _OF_STEPS | _OF_DATA if each_step else _OF_DATA
    return next((advice for like, advice in known.items() if re.fullmatch(like, text)), None)


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
