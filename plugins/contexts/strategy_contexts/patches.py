"""Hooks on tf.distribute's methods, installed while a tracer is on and removed afterwards.

`sys.setprofile` would slow every call down and cannot see values. A subclass per strategy would
miss third-party strategies, and Keras, which requires the stock classes.

A hook keeps the module and name of the method that it replaces, so AutoGraph treats it as
TensorFlow's own and does not convert it. User functions (`merge_call`) are wrapped with
TensorFlow's decorator, through which AutoGraph sees the original.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import tensorflow as tf

from strategy_contexts import private_tf
from strategy_contexts.trace import ContextTrace, Entry
from strategy_core.private_tf import frame_names

Method = Callable[..., Any]
Hook = Callable[[ContextTrace, str, Method], Method]

_on = threading.Lock()


def _users_call(trace: ContextTrace, name: str, method: Method) -> Method:
    """As `_call`, but only for the user's own calls: TensorFlow calls the method frequently
    itself."""
    traced = _call(trace, name, method)

    @functools.wraps(method)
    def hook(self: Any, *args: Any, **kwargs: Any) -> Any:
        return (method if _inside_tensorflow() else traced)(self, *args, **kwargs)

    return hook


def _call(trace: ContextTrace, name: str, method: Method, *, launches: bool = False) -> Method:
    """Hook for a call that stays in its context; with `launches`, replicas start under it."""
    signature = inspect.signature(method)

    @functools.wraps(method)
    def hook(self: Any, *args: Any, **kwargs: Any) -> Any:
        if trace.is_paused:
            return method(self, *args, **kwargs)
        values = _arguments(signature, (self, *args), kwargs)
        by_tensorflow = not launches and _inside_tensorflow()
        with (
            trace.entered(name, values=values, by_tensorflow=by_tensorflow) as entry,
            trace.launching(entry) if launches else nullcontext(),
        ):
            result = method(self, *args, **kwargs)
            trace.close(entry, result, beside=values.get("destinations", values.get("var")))
        return result

    return hook


def _launch(trace: ContextTrace, name: str, method: Method) -> Method:
    """Hook for `run`, which is called in any context and starts the replicas."""
    return _call(trace, name, method, launches=True)


def _launch_in_scope(trace: ContextTrace, name: str, method: Method) -> Method:
    """Hook for `call_for_each_replica`, to which `run` hands over once it has entered the scope."""
    signature = inspect.signature(method)

    @functools.wraps(method)
    def hook(self: Any, fn: Method, args: Any = (), kwargs: Any = None) -> Any:
        if trace.is_paused:
            return method(self, fn, args, kwargs)
        by_run = _inside_tensorflow()
        values = {} if by_run else _arguments(signature, (self, fn, args, kwargs), {})
        with (
            trace.entered(name, entered=True, values=values, by_tensorflow=by_run) as entry,
            trace.launching(entry),
        ):
            result = method(self, _in_replica(trace, fn), args, kwargs)
            trace.close(entry, None if by_run else result)
        return result

    return hook


def _in_replica(trace: ContextTrace, fn: Method) -> Method:
    """`fn`, which also notes what each replica gets and returns, in the replica's entry."""
    # TensorFlow treats a tf.function, and an object that has one, otherwise than a function.
    if not inspect.isfunction(fn) and not inspect.ismethod(fn):
        return fn
    signature = inspect.signature(fn)

    def run(*args: Any, **kwargs: Any) -> Any:
        # AutoGraph puts the function that it has converted in place of `fn`.
        original: Method = run.__wrapped__  # type: ignore[attr-defined]
        entry = None if trace.is_paused else trace.replica_here()
        if entry is None:
            return original(*args, **kwargs)
        entry.values_in = trace.described(_arguments(signature, args, kwargs))
        result = original(*args, **kwargs)
        entry.value_out = dict(trace.described({"result": result})).get("result")
        return result

    run.__wrapped__ = fn  # type: ignore[attr-defined]
    return private_tf.make_decorator(fn, run)


def _merge(trace: ContextTrace, name: str, method: Method) -> Method:
    """Hook for `merge_call`: the merge function runs once for all replicas, in cross-replica
    context."""

    @functools.wraps(method)
    def hook(self: Any, merge_fn: Method, args: Any = (), kwargs: Any = None) -> Any:
        if trace.is_paused:
            return method(self, merge_fn, args, kwargs)
        values = {"merge_fn": merge_fn, "args": args, "kwargs": kwargs or {}}
        with trace.entered(name, values=values) as entry:
            result = method(self, _merged(trace, merge_fn, entry), args, kwargs)
            trace.close(entry, result)
        return result

    return hook


def _merged(trace: ContextTrace, merge_fn: Method, caller: Entry) -> Method:
    def run(strategy: Any, *args: Any, **kwargs: Any) -> Any:
        values = {f"args[{index}]": value for index, value in enumerate(args)} | kwargs
        label = getattr(merge_fn, "__name__", "merge_fn")
        with trace.entered(label, entered=True, values=values, parent=caller) as entry:
            result = run.__wrapped__(strategy, *args, **kwargs)  # type: ignore[attr-defined]
            trace.close(entry, result)
        return result

    run.__wrapped__ = merge_fn  # type: ignore[attr-defined]
    return private_tf.make_decorator(merge_fn, run)


def _scope(trace: ContextTrace, name: str, method: Method) -> Method:
    """Hook for `with strategy.scope()`: recorded when the scope is entered, not when it is
    created."""

    @functools.wraps(method)
    def hook(self: Any) -> Any:
        scope = method(self)
        # The strategy's own calls enter its scope, too; only the user's are shown.
        return scope if trace.is_paused or _inside_tensorflow() else _Scope(trace, name, scope)

    return hook


class _Scope:
    """Wraps the context manager that `scope()` returned."""

    def __init__(self, trace: ContextTrace, name: str, scope: Any) -> None:
        self._trace, self._name, self._scope = trace, name, scope
        self._entries: list[Entry] = []

    def __enter__(self) -> Any:
        try:
            result = self._scope.__enter__()
        except Exception as error:
            self._trace.close(self._trace.open(self._name), error=error)
            raise
        self._entries.append(self._trace.open(self._name, entered=True))
        return result

    def __exit__(self, kind: Any, error: BaseException | None, where: Any) -> Any:
        try:
            return self._scope.__exit__(kind, error, where)
        finally:
            self._trace.close(self._entries.pop(), error=error)


def _inside_tensorflow() -> bool:
    caller = inspect.currentframe()
    for _ in range(2):
        caller = caller.f_back if caller else None
    module = caller.f_globals.get("__name__", "") if caller else ""
    # The caller is AutoGraph if it makes one of the user's own calls.
    return frame_names.is_library(module) and not frame_names.is_autograph(module)


def _enter(trace: ContextTrace, name: str, method: Method) -> Method:
    @functools.wraps(method)
    def hook(self: Any) -> Any:
        result = method(self)
        if not trace.is_paused:
            entry = trace.open(name, entered=True, by_tensorflow=True)
            _open_entries(self).append(entry)
        return result

    return hook


def _leave(trace: ContextTrace, _name: str, method: Method) -> Method:
    @functools.wraps(method)
    def hook(self: Any, kind: Any, error: BaseException | None, where: Any) -> Any:
        entries = _open_entries(self)
        if entries:
            trace.close(entries.pop(), error=error)
        return method(self, kind, error, where)

    return hook


_entries_of: dict[int, list[Entry]] = {}


def _open_entries(owner: Any) -> list[Entry]:
    # UpdateContext has slots, so the entries cannot be attributes of the object.
    return _entries_of.setdefault(id(owner), [])


def _arguments(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:  # the function itself raises the better error
        return {"args": args, "kwargs": kwargs}
    return {name: value for name, value in bound.arguments.items() if name != "self"}


def _hooks() -> list[tuple[type, str, str, Hook]]:
    """Return every method to replace: its class, its name, the name of its entry, and its hook.

    Each class is the one that defines the method: a hook on a subclass would miss the calls of
    other subclasses.
    """
    strategy, extended = private_tf.StrategyBase, tf.distribute.StrategyExtended
    replica, extended_v1 = private_tf.ReplicaContextBase, private_tf.StrategyExtendedV1
    return [
        (strategy, "scope", "scope", _scope),
        (strategy, "run", "run", _launch),
        (tf.distribute.TPUStrategy, "run", "run", _launch),  # overrides Strategy.run
        (extended_v1, "call_for_each_replica", "call_for_each_replica", _launch_in_scope),
        (strategy, "reduce", "reduce", _call),
        (strategy, "experimental_local_results", "experimental_local_results", _users_call),
        (strategy, "experimental_distribute_dataset", "experimental_distribute_dataset", _call),
        (strategy, "distribute_datasets_from_function", "distribute_datasets_from_function", _call),
        (
            tf.distribute.Strategy,
            "experimental_distribute_values_from_function",
            "experimental_distribute_values_from_function",
            _call,
        ),
        (tf.distribute.Strategy, "gather", "gather", _call),
        (extended, "reduce_to", "reduce_to", _call),
        (extended, "batch_reduce_to", "batch_reduce_to", _call),
        (extended, "update", "update", _call),
        (extended_v1, "broadcast_to", "broadcast_to", _call),
        (extended_v1, "read_var", "read_var", _users_call),
        (extended_v1, "update_non_slot", "update_non_slot", _call),
        (replica, "__enter__", "enter replica", _enter),
        (replica, "__exit__", "replica", _leave),
        (replica, "merge_call", "merge_call", _merge),
        (replica, "all_reduce", "all_reduce", _call),
        (tf.distribute.ReplicaContext, "all_gather", "all_gather", _call),
        (private_tf.UpdateContext, "__enter__", "enter update", _enter),
        (private_tf.UpdateContext, "__exit__", "update", _leave),
    ]


@contextmanager
def installed(trace: ContextTrace) -> Iterator[None]:
    """Install the hooks for the duration of the block; raises RuntimeError if they already are."""
    if not _on.acquire(blocking=False):
        raise RuntimeError(
            "A trace_contexts() is active already. Leave it before you enter another."
        )
    replaced: list[tuple[type, str, Any]] = []
    try:
        for owner, attribute, name, hook in _hooks():
            original = owner.__dict__[attribute]
            replaced.append((owner, attribute, original))
            setattr(owner, attribute, hook(trace, name, original))
        yield
    finally:
        for owner, attribute, original in reversed(replaced):
            setattr(owner, attribute, original)
        _entries_of.clear()
        _on.release()
