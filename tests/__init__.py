"""Tests: folders mirror the code; the files here are about the repository, or help all tests."""
