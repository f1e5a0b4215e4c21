"""The text below each field of a class, from its source: for the reference pages."""

from __future__ import annotations

import ast
import inspect


def attribute_docs(kind: type) -> dict[str, str]:
    """Return the text of each documented field, as one line."""
    tree = ast.parse(inspect.getsource(kind)).body[0]
    assert isinstance(tree, ast.ClassDef)
    texts: dict[str, str] = {}
    for field, text in zip(tree.body, tree.body[1:], strict=False):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(ast.Constant(str(said))):
                texts[name] = " ".join(said.split())
    return texts
