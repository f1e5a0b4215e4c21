"""The line of a traced program that a remedy changes, and what it becomes.

Only what is certain from the recorded lines is offered: one call of the name, whole on its line.
All else keeps the words of its remedy.
"""

from __future__ import annotations

import contextlib
import io
import tokenize
from collections.abc import Callable, Sequence
from tokenize import NAME, OP, TokenInfo
from typing import TYPE_CHECKING

from msgspec import Struct

from strategy_profiles.analysis.advice.rules import tracing
from strategy_profiles.analysis.facts import ChangedLine
from strategy_profiles.run.event_parts import LONGEST_LINE, SourceLine

if TYPE_CHECKING:
    from strategy_profiles.analysis.facts import Facts, Finding

AUTOTUNE = "tf.data.AUTOTUNE"
STEPS_PER_CALL = 10
_KERAS_ARGUMENTS = ("optimizer", "loss")
"""`compile()` of a Keras model has one of them; that of `re` has not."""
KEPT = "Keep its output by cache()"
"""How the advice begins whose change is a cache() behind map()."""
_MAPS = ("Map", "MapAndBatch")


class _Call(Struct, frozen=True):
    """A call that begins and ends on one line: where its arguments are."""

    source: SourceLine
    begin: int
    end: int
    names: frozenset[str]
    """All names between its parentheses."""

    @property
    def arguments(self) -> str:
        return self.source.text[self.begin : self.end]

    def with_argument(self, argument: str) -> ChangedLine | None:
        """The line with one more argument; None if the call has it."""
        if argument.partition("=")[0] in self.names:
            return None
        own = self.arguments.rstrip().rstrip(",")
        return self._changed(
            self.begin, f"{own}, {argument}" if own.strip() else argument, self.end
        )

    def followed_by(self, call: str) -> ChangedLine:
        return self._changed(self.end + 1, call, self.end + 1)

    def _changed(self, begin: int, text: str, end: int) -> ChangedLine:
        before = self.source.text
        after = f"{before[:begin]}{text}{before[end:]}"
        return ChangedLine(self.source.file, self.source.line, before, after)


def changed_line(facts: Facts, finding: Finding) -> ChangedLine | None:
    """What the remedy of a finding makes of one line; None if that is not certain."""
    change = _CHANGES.get(finding.key)
    return change(facts, finding) if change and facts.lines else None


def _input(facts: Facts, finding: Finding) -> ChangedLine | None:
    """A parallel map or batch where that is the stage, else batches that are made ahead."""
    stage = str(finding.evidence.get("stage") or "").rpartition("::")[2].partition("[")[0]
    kind = stage.rstrip("0123456789").removesuffix("V")
    if not _says(facts.lines, "tf."):
        return None
    if finding.advice.startswith(KEPT) and (kept := _cache(facts, finding)):
        return kept
    if kind in (*_MAPS, "Batch"):
        name = "map" if kind in _MAPS else "batch"
        is_remedy = "num_parallel_calls" in finding.advice
        call = _only_call(facts.lines, name) if is_remedy else None
        return call.with_argument(f"num_parallel_calls={AUTOTUNE}") if call else None
    if ".prefetch(" not in finding.advice or _says(facts.lines, ".prefetch("):
        return None
    call = _only_call(facts.lines, "batch")
    return call.followed_by(f".prefetch({AUTOTUNE})") if call else None


def _cache(facts: Facts, finding: Finding) -> ChangedLine | None:
    """What map() makes is kept, unless something is kept already."""
    if "cache()" not in finding.advice or _says(facts.lines, ".cache("):
        return None
    call = _only_call(facts.lines, "map")
    return call.followed_by(".cache()") if call else None


def _jit_compile(facts: Facts, finding: Finding) -> ChangedLine | None:
    """XLA for the only function, or for the model of `fit`; it compiles for one replica."""
    if facts.segment.num_replicas != 1 or finding.advice.startswith(tracing.NOT_UNROLLED):
        return None
    compiled = _keras_compile(facts.lines)
    if compiled:
        return compiled.with_argument("jit_compile=True")
    call = _only_call(facts.lines, "function")
    if call:
        return call.with_argument("jit_compile=True")
    bare = [each for each in facts.lines if each.text.strip() == "@tf.function"]
    if len(bare) != 1 or sum("tf.function" in each.text for each in facts.lines) != 1:
        return None
    after = f"{bare[0].text.rstrip()}(jit_compile=True)"
    return ChangedLine(bare[0].file, bare[0].line, bare[0].text, after)


def _steps_per_execution(facts: Facts, finding: Finding) -> ChangedLine | None:
    call = _keras_compile(facts.lines)
    if call is None or "steps_per_execution" not in finding.advice:
        return None
    if _says(facts.lines, "train_on_batch("):
        return None  # it does one step, whatever compile() says
    return call.with_argument(f"steps_per_execution={STEPS_PER_CALL}")


_CHANGES: dict[str, Callable[[Facts, Finding], ChangedLine | None]] = {
    "input-bound": _input,
    "epoch-start": _cache,
    "launch-bound": _jit_compile,
    "small-ops": _jit_compile,
    "dispatch": _steps_per_execution,
    "short-steps": _steps_per_execution,
}
"""By the key of a finding."""


def _keras_compile(lines: Sequence[SourceLine]) -> _Call | None:
    call = _only_call(lines, "compile")
    return call if call and not call.names.isdisjoint(_KERAS_ARGUMENTS) else None


def _says(lines: Sequence[SourceLine], text: str) -> bool:
    return any(text in each.text.partition("#")[0] for each in lines)


def _only_call(lines: Sequence[SourceLine], name: str) -> _Call | None:
    """The only call `.name(...)`; None if there are several, or it goes on in another line."""
    saying = (each for each in lines if name in each.text)  # to read the tokens takes far longer
    calls = [call for each in saying for call in _calls(each, name)]
    return calls[0] if len(calls) == 1 else None


def _calls(source: SourceLine, name: str) -> list[_Call | None]:
    """The calls of a method on a line; None for one that does not end there."""
    tokens = _tokens(source.text)
    return [
        _whole(source, tokens[at + 3 :])
        for at in range(len(tokens) - 2)
        if [each.string for each in tokens[at : at + 3]] == [".", name, "("]
    ]


def _whole(source: SourceLine, after: Sequence[TokenInfo]) -> _Call | None:
    depth = 1
    for at, token in enumerate(after):
        if token.type == OP:
            depth += (token.string in "([{") - (token.string in ")]}")
        if depth == 0:
            names = frozenset(each.string for each in after[:at] if each.type == NAME)
            margin = len(source.text) - len(source.text.lstrip())
            begin = after[0].start[1] if at else token.start[1]
            return _Call(source, margin + begin, margin + token.start[1], names)
    return None


def _tokens(text: str) -> list[TokenInfo]:
    """The tokens of a line, which may be a part of a statement; none of one that was cut."""
    if len(text) >= LONGEST_LINE:
        return []
    tokens: list[TokenInfo] = []
    with contextlib.suppress(tokenize.TokenError, SyntaxError):  # it goes on in the next line
        tokens.extend(tokenize.generate_tokens(io.StringIO(text.strip()).readline))
    return tokens
