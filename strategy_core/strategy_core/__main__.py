"""`python -m strategy_core`: the same as the command `strategy-lab`."""

from strategy_core.cli.main import entry_point

if __name__ == "__main__":
    entry_point()
