"""The loops of a program's Python, by the text of its file."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Collection
from contextlib import suppress

LoopNode = ast.For | ast.While | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_UPDATES = re.compile(r"apply|assign|minimize")


def loops_around(text: str, line: int, not_around: Collection[int]) -> list[LoopNode]:
    """The loops around a line that are around none of other lines, the outermost first.

    Not that of a generator, of which the caller asks one element at a time.
    """
    nodes = nodes_of(text)
    loops = [node for node in nodes if isinstance(node, LoopNode) and _has(node, line)]
    own = [
        loop
        for loop in loops
        if not any(_has(loop, each) for each in not_around)
        and not any(map(_yields, ast.walk(loop)))
    ]
    return sorted(own, key=lambda loop: (loop.lineno, loop.col_offset))


def loop_calling(text: str, line: int, not_around: Collection[int]) -> int | None:
    """The line of the `for` loop around a line or around the calls that lead to it, by the names of
    functions; None if there is none, or another one on another way.

    Not one over `tf.range`, which AutoGraph makes one iteration in the graph.
    """
    nodes = nodes_of(text)
    loops = [node for node in nodes if isinstance(node, ast.For) and not _is_in_graph(node)]
    loop_lines, lines, known = set[int](), [line], set[str]()
    while lines:
        at = lines.pop()
        around = [each for each in loops if _has(each, at)]
        around = [each for each in around if not any(_has(each, step) for step in not_around)]
        inner = function_around(text, at)
        own = [each for each in around if inner is None or _has(inner, each.lineno)]
        if own:
            loop_lines.add(max(own, key=_line).lineno)
        elif inner is not None and inner.name not in known:
            known.add(inner.name)
            calls = (node for node in nodes if isinstance(node, ast.Call))
            lines += [call.lineno for call in calls if name_of(call.func) == inner.name]
    return loop_lines.pop() if len(loop_lines) == 1 else None


def loops_of_gradients(text: str) -> list[int]:
    """The lines of the loops that ask a tape for gradients, in order."""
    return sorted(
        {
            loop.lineno
            for loop in nodes_of(text)
            if isinstance(loop, LoopNode) and not (isinstance(loop, ast.For) and _is_in_graph(loop))
            if any(
                isinstance(node, ast.Call) and name_of(node.func) in ("gradient", "jvp")
                for node in ast.walk(loop)
            )
        }
    )


def tape_of_all_steps(text: str, line: int) -> int | None:
    """The line of a tape that is open around the loop in which a line asks it for gradients and
    updates variables: it records every turn of the loop."""
    nodes = nodes_of(text)
    asked = {
        name_of(node.func.value)
        for node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if node.func.attr == "gradient" and node.lineno <= line <= _end(node)
    }
    for loop in loops_around(text, line, ()):
        updates = any(
            isinstance(node, ast.Call) and _UPDATES.match(name_of(node.func) or "")
            for node in ast.walk(loop)
        )
        for node in nodes if updates else ():
            if isinstance(node, ast.With) and any(each is loop for each in ast.walk(node)):
                for item in node.items:
                    is_tape = "GradientTape(" in ast.unparse(item.context_expr)
                    if is_tape and item.optional_vars and name_of(item.optional_vars) in asked:
                        return node.lineno
    return None


def search_in(loop: LoopNode) -> int | None:
    """The line of a loop that asks whether an element is `in` something that has a name."""
    for node in ast.walk(loop):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            where = node.comparators[0]
            if isinstance(where, ast.Name | ast.Attribute):
                return node.lineno
    return None


def ignores_context(text: str, line: int) -> bool:
    """Whether the function that a call at a line is given takes one argument, does not use it, and
    calls nothing but TensorFlow and NumPy, whose random numbers it does not draw."""
    nodes = nodes_of(text)
    for call in nodes:
        if isinstance(call, ast.Call) and call.args and call.lineno <= line <= _end(call):
            given, at = call.args[0], (call.func.end_lineno or call.lineno)
            named = [
                node
                for node in nodes
                if isinstance(node, ast.FunctionDef) and node.name == name_of(given)
            ]
            function = given if isinstance(given, ast.Lambda) else next(iter(named), None)
            if at == line and function is not None and len(function.args.args) == 1:
                return _only_builds(function, _lists_of_one(nodes))
    return False


def _lists_of_one(nodes: Collection[ast.AST]) -> set[str]:
    """The names to which only lists are assigned whose elements are all the same."""
    assigned: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            assigned.setdefault(ast.unparse(node.targets[0]), []).append(node.value)
    return {name for name, values in assigned.items() if all(map(_repeats_one, values))}


def _repeats_one(value: ast.expr) -> bool:
    """Whether it is `[x for _ in range(n)]`, `[x] * n` or `[x, x]`."""
    if isinstance(value, ast.ListComp):
        targets = {ast.unparse(each.target) for each in value.generators}
        return ast.unparse(value.elt) not in targets and isinstance(value.elt, ast.Name)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        return isinstance(value.left, ast.List) and len(value.left.elts) == 1
    elements = value.elts if isinstance(value, ast.List | ast.Tuple) else []
    names = {each.id for each in elements if isinstance(each, ast.Name)}
    return len(elements) > 1 and len(names) == 1 and isinstance(elements[0], ast.Name)


def _only_builds(function: ast.Lambda | ast.FunctionDef, same: Collection[str]) -> bool:
    """`same` are lists whose elements are all the same: it does not matter which one is taken."""
    inside = list(ast.walk(function))
    taken = [node for node in inside if isinstance(node, ast.Subscript)]
    indices = [node.slice for node in taken if ast.unparse(node.value) in same]
    ignored = {id(part) for index in indices for part in ast.walk(index)}
    names = {node.id for node in inside if isinstance(node, ast.Name) and id(node) not in ignored}
    called = [ast.unparse(node.func) for node in inside if isinstance(node, ast.Call)]
    is_library = all(name.startswith(("tf.", "np.", "numpy.")) for name in called)
    draws = any("random" in name for name in called)
    return function.args.args[0].arg not in names and is_library and not draws


def statement_at(text: str, line: int) -> str:
    """The text of the innermost statement that a line is in, in one line; of a compound one, such
    as a loop, what comes before its body. Empty if the text has no such statement."""
    own = [node for node in nodes_of(text) if isinstance(node, ast.stmt) and _has(node, line)]
    statement = max(own, key=_line, default=None)
    if statement is None:
        return ""
    body = getattr(statement, "body", None)
    end = max(statement.lineno, body[0].lineno - 1) if body else _end(statement)
    return " ".join(each.strip() for each in text.splitlines()[statement.lineno - 1 : end])


def function_around(text: str, line: int) -> ast.FunctionDef | None:
    """The innermost function that a line is in."""
    functions = (node for node in nodes_of(text) if isinstance(node, ast.FunctionDef))
    return max((each for each in functions if _has(each, line)), key=_line, default=None)


@functools.lru_cache(maxsize=8)  # a file of 1 MiB takes long, and many lines of it are looked at
def nodes_of(text: str) -> tuple[ast.AST, ...]:
    """All nodes of a file; none of a text that is no Python."""
    with suppress(SyntaxError, ValueError, RecursionError):  # a cell of a notebook may be anything
        return tuple(ast.walk(ast.parse(text)))
    return ()


def _line(node: ast.stmt) -> int:
    return node.lineno


def name_of(function: ast.expr) -> str | None:
    """Name of a function or method that is called."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else None


def _is_in_graph(loop: ast.For) -> bool:
    return isinstance(loop.iter, ast.Call) and ast.unparse(loop.iter.func) == "tf.range"


def _yields(node: ast.AST) -> bool:
    return isinstance(node, ast.Yield | ast.YieldFrom)


def _has(node: ast.expr | ast.stmt, line: int) -> bool:
    return node.lineno <= line <= _end(node)


def _end(node: ast.expr | ast.stmt) -> int:
    return node.end_lineno or node.lineno
