"""Attacks on a real lab, as docs/security.md lists them."""
