"""What every test shares: property tests without a deadline, since the machine may be busy."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("lab", deadline=None)
settings.load_profile("lab")
