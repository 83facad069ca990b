"""Small changes of a Python file, each of which a test should notice.

Changed are comparisons, arithmetic, `and` and `or`, conditions, numbers, truth values, words that are
data, `min` and `max`, `any` and `all`; left out are statements that only call something, and those that
raise. Not changed is what nobody's run depends on: docstrings, annotations, decorators, texts (what has
spaces, and f-strings), what is logged or warned of, what errors say, and names that are given to a check
only to be named.
"""

from __future__ import annotations

import ast
import copy
import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any"}

_DATA_WORD = re.compile(r"[\w./:@-]+")
"""Texts for people have spaces; keys, names of terms and of states have none."""

_SAYING = re.compile(r"(log|_log|logger|_logger|logging|warnings|print)|.*(Error|Exception|Warning)")
"""First or last names of what is called to tell somebody something."""


@dataclass(frozen=True, kw_only=True, order=True)
class Mutant:
    """One change of one file.

    Attributes:
        path: the file, relative to the checkout.
        start, end: the bytes of it that are replaced.
        replacement: by what.
        kind: what was changed, for people.
        line: where it begins, counted from 1.
        function: the first line of the outermost function around it, with its decorators; 0 outside of any.
    """

    path: str
    start: int
    end: int
    replacement: str
    kind: str
    line: int
    function: int

    def applied(self, text: str) -> str:
        """The file's text with the change."""
        raw = text.encode()
        return (raw[: self.start] + self.replacement.encode() + raw[self.end :]).decode()

    def difference(self, text: str) -> str:
        """The change as a unified diff without context."""
        before, after = text.splitlines(), self.applied(text).splitlines()
        lines = list(difflib.unified_diff(before, after, n=0, lineterm=""))[2:]
        return "\n".join(
            [f"{self.path}:{self.line} ({self.kind})", *(line for line in lines if line[:2] != "@@")]
        )


def mutants_of(path: str, text: str) -> list[Mutant]:
    """All changes of a file, in the order of its lines."""
    found = _Finder(path, text)
    found.visit(ast.parse(text))
    return sorted(found.mutants)


class _Finder(ast.NodeVisitor):
    """Walks over a file and notes what can be changed."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.mutants: list[Mutant] = []
        self._offsets = [0, *accumulate(len(line.encode()) for line in text.splitlines(keepends=True))]
        self._function = 0

    def _replace(self, node: ast.expr | ast.stmt, by: ast.AST | str, kind: str) -> None:
        text = by if isinstance(by, str) else ast.unparse(ast.fix_missing_locations(by))
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        self.mutants.append(
            Mutant(
                path=self.path,
                start=self._offsets[node.lineno - 1] + node.col_offset,
                end=self._offsets[node.end_lineno - 1] + node.end_col_offset,
                replacement=f"({text})" if isinstance(node, ast.expr) and not _is_atom(by) else text,
                kind=kind,
                line=node.lineno,
                function=self._function,
            )
        )

    def _negate(self, test: ast.expr) -> None:
        # A comparison's own operator is changed already, and a "not" taken away.
        if not isinstance(test, ast.Compare | ast.UnaryOp):
            self._replace(test, f"not ({ast.unparse(test)})", "condition negated")

    def visit_body(self, body: Sequence[ast.stmt]) -> None:
        """Statements, without the texts that stand between them."""
        for statement in body:
            if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
                self.visit(statement)

    def visit_Module(self, node: ast.Module) -> None:
        self.visit_body(node.body)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.visit_body(node.body)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        outermost = not self._function
        if outermost:
            self._function = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        if node.name not in ("__repr__", "__str__"):
            for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
                self.visit(default)
            self.visit_body(node.body)
        if outermost:
            self._function = 0

    def visit_Assign(self, node: ast.Assign) -> None:
        if not any(isinstance(target, ast.Name) and target.id.startswith("__") for target in node.targets):
            self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call) and not _says(node.value):
            self._replace(node, "pass", "call left out")
        self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        self._replace(node, "pass", "error not raised")

    def visit_Assert(self, node: ast.Assert) -> None:
        """Narrows types for the checker."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """A text for people."""

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" not in ast.unparse(node.test):
            self._negate(node.test)
            self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._negate(test)
        self.generic_visit(node)

    def visit_Break(self, node: ast.Break) -> None:
        self._replace(node, "continue", "loop")

    def visit_Continue(self, node: ast.Continue) -> None:
        self._replace(node, "break", "loop")

    def visit_Call(self, node: ast.Call) -> None:
        if _says(node):
            return
        if isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
            self._replace(node.func, _FUNCTIONS[node.func.id], "function")
        named = tuple(name for argument in node.args for name in [_last_name(argument)] if name)
        for part in [node.func, *node.args, *node.keywords]:
            # positive_number("target_scale", scale); zip's "strict" asserts as `assert` does.
            is_name = (
                isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.endswith(named)
            )
            if not is_name and not (isinstance(part, ast.keyword) and part.arg == "strict"):
                self.visit(part)

    def visit_Compare(self, node: ast.Compare) -> None:
        for place, operator in enumerate(node.ops):
            other = copy.deepcopy(node)
            other.ops[place] = _COMPARISONS[type(operator)]()
            self._replace(node, other, "comparison")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if type(node.op) in _ARITHMETIC and not (_is_text(node.left) or _is_text(node.right)):
            other = copy.deepcopy(node)
            other.op = _ARITHMETIC[type(node.op)]()
            self._replace(node, other, "arithmetic")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if type(node.op) in _ARITHMETIC and not _is_text(node.value):
            other = copy.deepcopy(node)
            other.op = _ARITHMETIC[type(node.op)]()
            self._replace(node, other, "arithmetic")
        self.visit(node.value)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        other = copy.deepcopy(node)
        other.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        self._replace(node, other, "and, or")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.USub):
            self._replace(node, node.operand, "sign, not")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        match node.value:
            case bool(value):
                self._replace(node, repr(not value), "truth value")
            case int(value) | float(value):
                if value + 1 != value:
                    self._replace(node, repr(value + 1), "number")
            case str(value) if _DATA_WORD.fullmatch(value):
                self._replace(node, repr(f"XX{value}"), "word")


def _is_atom(by: ast.AST | str) -> bool:
    return isinstance(by, str) and not by.startswith("not ")


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _says(node: ast.Call) -> bool:
    """Whether a call logs, warns, prints or makes an error."""
    names = list(_names(node.func))
    return any(_SAYING.fullmatch(name) for name in names)


def _names(node: ast.expr) -> Iterator[str]:
    """The names of a dotted expression, last first."""
    while isinstance(node, ast.Attribute):
        yield node.attr
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


def _last_name(node: ast.expr) -> str | None:
    return next(_names(node), None)
