"""How large is the house, and how far does a reader walk in it?

    python -m benchmarks.house                             this checkout
    python -m benchmarks.house --before e5f8cff            beside it the last revision of the first edition
    python -m benchmarks.house --repo DIR --revision REV   another checkout, as it was at a revision

It prints a table as Markdown, made by parsing and by mypy; nothing that is measured is imported. What its
rows count:

lines, lines of code
    Of the package's Python files. Lines of code are those left without blank lines, comments and docstrings.
modules
    The package's Python files but for `__init__.py` files that hold nothing but a docstring.
with one importer
    Modules that exactly one module of the package imports, at its top or inside its functions; in brackets
    those whose only importer lies in the same folder, so that the two might be one. What is imported for type
    checkers only counts nowhere.
chain of imports
    The most modules of which each imports the next at the top of its file. All members of a circle count.
circles
    Groups of modules that import each other, directly or around, by imports at the top of the files; in
    brackets those there are when imports inside functions count as well.
modules that name it
    What a reader of `max_machines` or `scale` opens between the DAG file and `spark_conf`: of the modules
    that the task group reaches by imports, inside functions or not, those whose code has the name, by itself
    or as the end of another (`target_max_machines`): as a variable, parameter, attribute, field or keyword.
    Text does not count, and neither does a value under another name. "Either": those that name one or both.
containers of it
    How many hands the value passes through there: classes with a field or an attribute of that name; in
    brackets the functions with a parameter of it.
way of it
    How far a value travels: the modules that a reader opens on the shortest way, those where it lies and
    those that hand it on; in brackets the fields that it lies in, one by one (`benchmarks.value_flow`
    says how it is followed). `max_machines` of production ends in `spark_conf`, that of sample runs in an
    experiment, and `scale` in a decision's seconds, by which it is made.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import sys
import tarfile
import tempfile
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.value_flow import FIELD, Place, flow_of

PACKAGE = "airflow_provider_ernest"

START = f"{PACKAGE}.task_group"
"""The module that a DAG file imports, from which the way of a value begins."""

FOLLOWED = ("max_machines", "scale")

WAYS: dict[str, tuple[str, str, tuple[str, str] | None]] = {
    "`max_machines` of production into `spark_conf`": ("SizingGoal", "max_machines", None),
    "`max_machines` of sample runs into an experiment": (
        "DesignBounds",
        "max_machines",
        ("Experiment", "machines"),
    ),
    "`scale` into the predicted seconds": ("SizingGoal", "scale", ("Decision", "predicted_seconds")),
}
"""Class and field where a value is stated, and those where it ends, if not in Spark's properties."""

Graph = Mapping[str, frozenset[str]]
"""Modules by name, each with those that it imports."""


@dataclass(frozen=True, kw_only=True)
class Module:
    """A parsed file of the package.

    Attributes:
        name: its dotted name; a package's is its folder's.
        is_package: whether it is an `__init__.py`.
        text: its source.
        tree: the same, parsed.
    """

    name: str
    is_package: bool
    text: str
    tree: ast.Module

    @property
    def folder(self) -> str:
        """The dotted name of the folder that the file lies in."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    @property
    def is_empty(self) -> bool:
        """Whether it is an `__init__.py` with nothing but a docstring."""
        return self.is_package and not self.tree.body[1 if ast.get_docstring(self.tree) is not None else 0 :]


@dataclass(frozen=True, kw_only=True)
class Import:
    """A module's import of another of the package.

    Attributes:
        importer, imported: their names.
        at_top: whether it takes place when the importer is imported.
    """

    importer: str
    imported: str
    at_top: bool


@dataclass(frozen=True, kw_only=True)
class Way:
    """Where a followed name occurs; see the module's docstring.

    Attributes:
        modules: whose code has the name.
        classes: with a field or attribute of the name, as `module.Class`.
        functions: with a parameter of the name, as `module.function`.
    """

    modules: frozenset[str]
    classes: frozenset[str]
    functions: frozenset[str]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the table; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        prog="python -m benchmarks.house",
    )
    here = Path(__file__).resolve().parent.parent
    parser.add_argument(
        "--repo", type=Path, default=here, metavar="DIR", help="the checkout (default: this one)"
    )
    parser.add_argument(
        "--revision", metavar="REV", help="measure this revision of it, not its files as they are"
    )
    parser.add_argument("--before", metavar="REV", help="the earlier revision to set beside it")
    parser.add_argument("--names", action="store_true", help="list the modules that the table counts, too")
    options = parser.parse_args(arguments)
    columns: dict[str, dict[str, str]] = {}
    named: list[str] = []
    try:
        for revision in [*([options.before] if options.before else []), options.revision]:
            with tempfile.TemporaryDirectory(prefix="ernest-house-") as folder:
                root = (
                    options.repo if revision is None else _checked_out(options.repo, revision, Path(folder))
                )
                house = House(root)
                columns[revision or "now"] = house.rows()
                named = house.listing()
    except LookupError as error:
        print(error.args[0], file=sys.stderr)
        return 2
    print("\n".join([*table(columns), *(named if options.names else [])]))
    return 0


def table(columns: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """The rows of all columns as lines of Markdown; columns have a heading and the same rows."""
    yield f"| | {' | '.join(columns)} |"
    yield f"|---|{'---:|' * len(columns)}"
    for row in next(iter(columns.values())):
        yield f"| {row} | {' | '.join(column[row] for column in columns.values())} |"


class House:
    """A checkout, parsed.

    Args:
        root: the folder that holds the package and its tests.

    Raises:
        LookupError: the package is not there.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.modules = {module.name: module for module in _modules(root)}
        if not self.modules:
            raise LookupError(f"{root} holds no package {PACKAGE}: give a checkout of it.")
        self.flow = flow_of(root, PACKAGE, properties="spark_conf", inside=f"{PACKAGE}.operators")
        self.imports = [each for module in self.modules.values() for each in _imports(module, self.modules)]

    def rows(self) -> dict[str, str]:
        """The figures by their row's title."""
        counted = [module for module in self.modules.values() if not module.is_empty]
        single = self.single_importers()
        beside = sum(self.modules[name].folder == self.modules[only].folder for name, only in single.items())
        tests = [path.read_text(encoding="utf-8") for path in sorted((self.root / "tests").rglob("*.py"))]
        ways = {name: self.way(name) for name in FOLLOWED}
        return {
            "lines of Python in the package": f"{sum(_lines(module.text) for module in counted):,}",
            "lines of code in it": f"{sum(code_lines(module.text) for module in counted):,}",
            "modules": f"{len(counted):,}",
            "modules with one importer (beside it)": f"{len(single):,} ({beside:,})",
            "longest chain of imports, in modules": f"{longest_chain(self.graph(at_top=True)):,}",
            "circles of imports (with those inside functions)": (
                f"{len(circles(self.graph(at_top=True)))} ({len(circles(self.graph()))})"
            ),
            **{
                f"modules that name `{name}` on its way": f"{len(way.modules):,}"
                for name, way in ways.items()
            },
            "modules that name either": f"{len(set().union(*(way.modules for way in ways.values()))):,}",
            **{
                f"containers of `{name}` on its way: classes (functions)": (
                    f"{len(way.classes):,} ({len(way.functions):,})"
                )
                for name, way in ways.items()
            },
            **{f"way of {title}: modules (fields)": self._length(*stated) for title, stated in WAYS.items()},
            "modules of the three ways together": str(
                len(
                    {
                        name
                        for cls, field, to in WAYS.values()
                        for name in _modules_of(self.flow.way(cls, field, to=to))
                    }
                )
            ),
            "lines of tests": f"{sum(map(_lines, tests)):,}",
            "files of tests": f"{len(tests):,}",
        }

    def _length(self, cls: str, name: str, to: tuple[str, str] | None) -> str:
        way = self.flow.way(cls, name, to=to)
        if not way:
            return "not found"
        return f"{len(_modules_of(way))} ({len({place for place, _ in way if place.kind == FIELD})})"

    def listing(self) -> list[str]:
        """What the figures count, by name, for who wants to change them."""
        lines = ["", "Modules with one importer:"]
        lines += [f"  {name} <- {only}" for name, only in sorted(self.single_importers().items())]
        for group in circles(self.graph()):
            lines += [
                "",
                "A circle, perhaps by imports inside functions:",
                *(f"  {name}" for name in sorted(group)),
            ]
        for followed in FOLLOWED:
            way = self.way(followed)
            for kind, names in {
                "Modules": way.modules,
                "Classes": way.classes,
                "Functions": way.functions,
            }.items():
                lines += ["", f"{kind} with {followed} on its way:", *(f"  {name}" for name in sorted(names))]
        for title, (cls, name, to) in WAYS.items():
            lines += ["", f"Way of {title}:"]
            lines += [f"  {place}, by {at}" for place, at in self.flow.way(cls, name, to=to)]
        return lines

    def graph(self, *, at_top: bool = False) -> Graph:
        """Who imports whom; only what is imported with the importer if asked for."""
        imported: dict[str, set[str]] = defaultdict(set)
        for each in self.imports:
            if each.at_top or not at_top:
                imported[each.importer].add(each.imported)
        return {name: frozenset(imported[name] - {name}) for name in self.modules}

    def single_importers(self) -> dict[str, str]:
        """Modules that only one other imports, with that one."""
        importers: dict[str, set[str]] = defaultdict(set)
        for importer, imported in self.graph().items():
            for name in imported:
                importers[name].add(importer)
        return {name: next(iter(by)) for name, by in importers.items() if len(by) == 1}

    def way(self, followed: str) -> Way:
        """Where a name occurs in what the task group reaches."""
        reached = reachable(self.graph(), START)
        trees = {name: module.tree for name, module in self.modules.items() if name in reached}
        return Way(
            modules=frozenset(
                name for name, tree in trees.items() if any(_names(n, followed) for n in ast.walk(tree))
            ),
            classes=frozenset(
                f"{name}.{node.name}"
                for name, tree in trees.items()
                for node in ast.walk(tree)
                if isinstance(node, ast.ClassDef) and _holds(node, followed)
            ),
            functions=frozenset(
                f"{name}.{node.name}"
                for name, tree in trees.items()
                for node in ast.walk(tree)
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                and any(_is(argument.arg, followed) for argument in _arguments(node))
            ),
        )


def code_lines(text: str) -> int:
    """Lines of Python that hold code: no blank ones, comments or docstrings."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            # Texts behind constants describe them as docstrings describe functions.
            for statement in node.body:
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                    lines.difference_update(range(statement.lineno, (statement.end_lineno or 0) + 1))
    return len(lines)


_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def reachable(graph: Graph, start: str) -> frozenset[str]:
    """The modules that one imports, with what those import, and itself."""
    seen: set[str] = set()
    waiting = [start] if start in graph else []
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += graph[name]
    return frozenset(seen)


def circles(graph: Graph) -> list[frozenset[str]]:
    """The groups of modules that import each other, at least two in each, largest first."""
    reach = {name: reachable(graph, name) for name in graph}
    groups = {frozenset(other for other in reach[name] if name in reach[other]) for name in graph}
    return sorted((group for group in groups if len(group) > 1), key=lambda group: (-len(group), min(group)))


def longest_chain(graph: Graph) -> int:
    """The most modules of which each imports the next; all members of a circle count."""
    group_of = {name: group for group in circles(graph) for name in group}
    lengths: dict[frozenset[str], int] = {}

    def length(name: str) -> int:
        group = group_of.get(name, frozenset({name}))
        if group not in lengths:
            behind = {other for member in group for other in graph[member]} - group
            lengths[group] = len(group) + max(map(length, behind), default=0)
        return lengths[group]

    return max(map(length, graph), default=0)


def _modules(root: Path) -> Iterator[Module]:
    for path in sorted((root / PACKAGE).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        text = path.read_text(encoding="utf-8")
        yield Module(
            name=".".join(parts[:-1] if is_package else parts),
            is_package=is_package,
            text=text,
            tree=ast.parse(text, filename=str(path)),
        )


def _imports(module: Module, known: Iterable[str]) -> Iterator[Import]:
    """What a module imports of the package, in the order of its lines."""
    for node, at_top in _import_statements(module.tree.body, at_top=True):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        else:
            base = ".".join(filter(None, [_parent(module.folder, node.level), node.module]))
            targets = [inner if (inner := f"{base}.{alias.name}") in known else base for alias in node.names]
        for target in targets:
            if target in known and target != module.name:
                yield Import(importer=module.name, imported=target, at_top=at_top)


def _parent(folder: str, level: int) -> str:
    """The folder that so many dots before an import's module mean; nothing without a dot."""
    parts = folder.split(".")
    return ".".join(parts[: len(parts) - level + 1]) if level else ""


def _import_statements(
    body: Iterable[ast.AST], *, at_top: bool
) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """The imports among statements and below them, and whether each takes place at the import of the file."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, at_top
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from _import_statements(node.orelse, at_top=at_top)
        else:
            inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _import_statements(ast.iter_child_nodes(node), at_top=at_top and not inside)


def _names(node: ast.AST, followed: str) -> bool:
    """Whether a piece of code is the followed name, in whatever part."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
            return _is(name, followed)
    return False


def _holds(node: ast.ClassDef, followed: str) -> bool:
    """Whether a class has a field of the name, or its methods give `self` an attribute of it."""
    for each in ast.walk(node):
        match each:
            case ast.AnnAssign(target=ast.Name(id=name)) if each in node.body and _is(name, followed):
                return True
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()) if _is(name, followed):
                return True
    return False


def _arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


def _is(name: str, followed: str) -> bool:
    return name == followed or name.endswith(f"_{followed}")


def _modules_of(way: Iterable[tuple[Place, str]]) -> set[str]:
    return {module for place, at in way for module in (place.module, at)}


def _lines(text: str) -> int:
    return len(text.splitlines())


def _checked_out(repository: Path, revision: str, folder: Path) -> Path:
    """Unpack a revision of a repository into a folder.

    Raises:
        LookupError: the repository has no such revision, as a shallow clone may not.
    """
    command = ["git", "-C", str(repository), "archive", "--format=tar", revision, "--", PACKAGE, "tests"]
    answer = subprocess.run(command, capture_output=True)
    if answer.returncode:
        raise LookupError(
            f"{repository} has no revision {revision!r} ({answer.stderr.decode(errors='replace').strip()}): "
            "fetch it (git fetch --unshallow, in a shallow clone), or leave it out."
        )
    with tarfile.open(fileobj=io.BytesIO(answer.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


if __name__ == "__main__":
    sys.exit(main())
