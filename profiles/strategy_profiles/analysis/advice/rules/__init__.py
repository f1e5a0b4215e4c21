"""The rules, a file each. A rule reads `Facts` only: no table, no file, no prediction."""
