"""The command line: one verb per file, found by its file name.

A verb `foo-bar` is the module `foo_bar.py` (a reserved word takes an underscore: `import_.py`):

    HELP = "one line for strategy-lab --help"

    def add_arguments(parser: argparse.ArgumentParser) -> None: ...

    def run(args: argparse.Namespace) -> int: ...      the exit code: 0 done, 1 failed

Only the verb that was asked for is imported, so a verb imports what it needs at module level,
TensorFlow excepted: no verb needs it in this process.
"""
