"""Imports the lab's `strategy_core` in a traced process, beside one of the program's own.

Both cannot have the same name in `sys.modules`, and the program's code must get its own. If it has
one, the lab's modules are `strategy_lab.core` and below in this process: a finder loads them from
the folder of `strategy_core`, with their imports renamed. Their code is compiled again in each
such process, because the cached bytecode of these files contains the usual names.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

_CORE = "strategy_core"
_RENAMED = "strategy_lab.core"
_FOLDER = Path(__file__).resolve().parents[1] / _CORE
_INHERITED = "STRATEGY_LAB_RENAMED_CORE"
"""Set for child processes. One of `multiprocessing` gets the program's `sys.path` only later."""


def import_core(name: str) -> Any:
    """Import a module of `strategy_core`, under the name that the program leaves to it."""
    if _INHERITED in os.environ or _program_has_its_own():
        os.environ[_INHERITED] = "1"
        if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
            sys.meta_path.insert(0, _Finder())
        return import_module(f"{_RENAMED}.{name}")
    return import_module(f"{_CORE}.{name}")


def _program_has_its_own() -> bool:
    """Whether the program's `import strategy_core` would find another package than the lab's."""
    if sys.flags.safe_path:  # as in the lab's own child processes
        return False
    found = PathFinder.find_spec(_CORE, [_program_folder(), *sys.path])
    if found is None:
        return False
    return found.origin is None or Path(found.origin).resolve() != _FOLDER / "__init__.py"


def _program_folder() -> str:
    """What Python puts in front of `sys.path`, which it does only after `site`."""
    program = Path(sys.argv[0] if sys.argv else "")
    if str(program) in ("-c", "-m", "-", "."):
        return str(Path.cwd())
    return str(program if program.is_dir() else program.resolve().parent)


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == _RENAMED:
            file = str(_FOLDER / "__init__.py")
            return spec_from_file_location(
                fullname,
                file,
                loader=_Loader(fullname, file),
                submodule_search_locations=[str(_FOLDER)],
            )
        if not fullname.startswith(f"{_RENAMED}."):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(fullname, spec.origin)
        return spec


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        file = self.get_filename(fullname)
        tree = _Renamer().visit(ast.parse(self.get_data(file), file))
        code: CodeType = compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)
        return code


class _Renamer(ast.NodeTransformer):
    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        if not node.level and node.module:
            node.module = _renamed(node.module)
        return node

    def visit_Import(self, node: ast.Import) -> ast.AST | list[ast.AST]:
        names = [ast.alias(_renamed(item.name), item.asname) for item in node.names]
        renamed = ast.copy_location(ast.Import(names), node)
        if not any(_is_core(item.name) and item.asname is None for item in node.names):
            return renamed
        # `import strategy_core.cli` binds `strategy_core`, which its module goes on to use.
        bound = ast.Import([ast.alias(_RENAMED, _CORE)])
        return [renamed, ast.copy_location(bound, node)]


def _is_core(name: str) -> bool:
    return name == _CORE or name.startswith(f"{_CORE}.")


def _renamed(name: str) -> str:
    return _RENAMED + name.removeprefix(_CORE) if _is_core(name) else name
