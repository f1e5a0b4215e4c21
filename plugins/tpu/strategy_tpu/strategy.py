"""TPUStrategy: TensorFlow's own class with emulated cores as its back end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from strategy_tpu.extended import EmulatedTPUExtended
from strategy_tpu.resolver import TPUClusterResolver
from strategy_tpu.xla.telling import XlaChecker


class TPUStrategy(tf.distribute.TPUStrategy):
    """`tf.distribute.TPUStrategy` on emulated cores; with a real TPU's resolver, exactly that
    class.

    Everything public is inherited: validation, errors, datasets, annotations, Keras. `extended`
    gains `last_expansion`, the report of how the last traced function was spread over the cores,
    and `xla.last`, what a TPU's compiler would report about it.

    Args:
      tpu_cluster_resolver, experimental_device_assignment, experimental_spmd_xla_partitioning: as
        in TensorFlow.
      xla_check: whether each trace of a step is also passed to TensorFlow's XLA bridge, without
        running it, to warn of what a TPU would refuse or run on its host. Default: the environment
        variable `STRATEGY_LAB_XLA_CHECK` (`0`, `1` or `strict`), else True.
      strict: raise tf.errors.InvalidArgumentError for what a TPU would refuse.
    """

    def __new__(cls, tpu_cluster_resolver: Any = None, *args: Any, **kwargs: Any) -> Any:
        resolver = _or_local(tpu_cluster_resolver)
        if not isinstance(resolver, TPUClusterResolver):
            for own in ("xla_check", "strict"):
                kwargs.pop(own, None)
            return tf.distribute.TPUStrategy(resolver, *args, **kwargs)
        return super().__new__(cls)

    def __init__(
        self,
        tpu_cluster_resolver: Any = None,
        experimental_device_assignment: Any = None,
        experimental_spmd_xla_partitioning: bool = False,
        *,
        xla_check: bool | None = None,
        strict: bool | None = None,
    ) -> None:
        # Skips the stock constructor, which additionally only builds the stock back end.
        tf.distribute.Strategy.__init__(
            self,
            EmulatedTPUExtended(
                self,
                _or_local(tpu_cluster_resolver),
                experimental_device_assignment,
                experimental_spmd_xla_partitioning,
                XlaChecker.of(xla_check, strict),
            ),
        )

    @property
    def _enable_packed_variable_in_eager_mode(self) -> bool:
        """TensorFlow's private switch for one handle to all copies of a variable; has no effect
        here.

        Only TPU devices resolve such handles, so here every copy keeps its own handle.
        """
        return False

    @_enable_packed_variable_in_eager_mode.setter
    def _enable_packed_variable_in_eager_mode(self, enabled: bool) -> None:
        del enabled

    @property
    def steps_per_run(self) -> int:
        """Minimum number of steps per call of `extended.experimental_run_steps_on_iterator`."""
        return int(self.extended.steps_per_run)

    def experimental_run_v2(
        self,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """The name of `run` in TensorFlow 2.0 and 2.1."""
        return self.run(fn, args=args, kwargs=kwargs)


def _or_local(resolver: Any) -> Any:
    return TPUClusterResolver("") if resolver is None else resolver
