"""The rules, a file each."""
