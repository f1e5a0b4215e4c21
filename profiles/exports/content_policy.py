"""A content security policy for pages that run only their own scripts and load nothing."""

from __future__ import annotations

import base64
import hashlib


def content_policy(style: str, *scripts: str) -> str:
    """Return the policy that allows exactly this inline style and these inline scripts."""
    allowed = " ".join(map(_digest, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_digest(style)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
