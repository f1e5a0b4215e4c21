"""Why a step on more replicas cannot be predicted."""

from __future__ import annotations

from strategy_profiles.errors import LabError


class PredictionError(LabError):
    """The recorded runs do not allow a prediction; the text says why, and what to do."""
