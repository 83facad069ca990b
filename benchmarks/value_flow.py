"""By which way does a number that a user states reach Spark's properties? Values followed by mypy's types.

mypy says what each expression is, so that `x.machines` is the field of one class and not of all. A place is
where a value lies: a field, a parameter or variable, what a function returns. A step leads from one place
to the next: by assignment, by passing an argument, by returning, by computing with it. Documents that go
from task to task as JSON need no step of their own, since their fields are the same on both sides. What
mypy does not see (`getattr` with a computed name) is no step, so that a way may be longer than need be, or
missing. Choosing the best of several by a number is no step either: by `scale`, a decision gets its
seconds, and not its machines.
"""

from __future__ import annotations

import heapq
import itertools
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mypy import build, nodes, types
from mypy.errors import CompileError
from mypy.find_sources import create_source_list
from mypy.options import Options

FIELD, VARIABLE, RESULT, ANSWER = "field", "variable", "result", "answer"


@dataclass(frozen=True, order=True)
class Place:
    """Where a value lies.

    Attributes:
        module: that defines it.
        kind: `FIELD`, `VARIABLE` (of a module or a function, its parameters, too), `RESULT` of a function, or
            `ANSWER`, the same where one call gets it.
        owner: the full name of the class or function; for an answer, of the one that calls.
        name: in it; empty for a result, and line and column for an answer.
    """

    module: str
    kind: str
    owner: str
    name: str = ""

    def __str__(self) -> str:
        short = self.owner.removeprefix(f"{self.module}.")
        return f"{self.module}: {short}{'.' if self.kind == FIELD else ' ' if self.name else '()'}{self.name}"


@dataclass(kw_only=True)
class Call:
    """One call of a function of ours.

    Attributes:
        given: what its parameters get, by parameter.
        result: of the function.
        answer: where it is called.
    """

    given: dict[Place, set[Place]]
    result: Place
    answer: Place


@dataclass
class Flow:
    """All steps.

    Attributes:
        steps: from each place to others, with the module where that is written; but for those into functions
            and back.
        calls: steps into functions and back. What enters a function by one call leaves it to that call.
        properties: places whose value becomes Spark's properties.
    """

    steps: dict[Place, dict[Place, str]] = field(default_factory=lambda: defaultdict(dict))
    calls: dict[Place, Call] = field(default_factory=dict)
    properties: set[Place] = field(default_factory=set)

    def way(self, cls: str, name: str, *, to: tuple[str, str] | None = None) -> list[tuple[Place, str]]:
        """The way that changes the module least often, of those the one with the fewest steps; or nothing.

        Args:
            cls: the name of the class, without its module, that it begins in.
            name: the field of it.
            to: a class and a field where it ends; else Spark's properties.

        Returns:
            The places, each with the module where the step to it is written.
        """
        into, out = self._into_and_out()
        known = {place for places in (self.steps, into) for place in places}
        counter = itertools.count()
        waiting: list[tuple[tuple[int, int], int, bool, list[tuple[Place, str]]]] = [
            ((0, 0), next(counter), False, [(place, place.module)])
            for place in sorted(known)
            if _is_field(place, cls, name)
        ]
        done: set[tuple[Place, bool]] = set()
        while waiting:
            (changes, length), _, inside, way = heapq.heappop(waiting)
            place, here = way[-1]
            inside = inside and place.kind != FIELD
            if (place, inside) in done:
                continue
            done.add((place, inside))
            if (place in self.properties) if to is None else _is_field(place, *to):
                return way
            onward = [(other, at, inside) for other, at in self.steps.get(place, {}).items()]
            onward += [(other, at, True) for other, at in into.get(place, {}).items()]
            onward += [(other, at, False) for other, at in out.get(place, {}).items() if not inside]
            for other, at, is_inside in sorted(onward):
                cost = (changes + (at != here) + (other.module != at), length + (other.kind != ANSWER))
                heapq.heappush(waiting, (cost, next(counter), is_inside, [*way, (other, at)]))
        return []

    def _into_and_out(self) -> tuple[dict[Place, dict[Place, str]], dict[Place, dict[Place, str]]]:
        """The steps into functions and out of them, as `steps`."""
        into: dict[Place, dict[Place, str]] = defaultdict(dict)
        out: dict[Place, dict[Place, str]] = defaultdict(dict)
        for call in self.calls.values():
            out[call.result][call.answer] = call.answer.module
            for parameter, sources in call.given.items():
                for source in sources:
                    into[source].setdefault(parameter, call.answer.module)
        return into, out

    def pass_through(self) -> None:
        """Add a step from what a call is given to its answer, where the function makes one of the other."""
        parameters = defaultdict(set)
        for call in self.calls.values():
            for parameter in call.given:
                parameters[call.result].add(parameter)
        waiting = True
        while waiting:
            waiting = False
            passed = {
                (parameter, result)
                for result, those in parameters.items()
                for parameter in those
                if self._reaches(parameter, result)
            }
            for call in self.calls.values():
                for parameter, sources in call.given.items():
                    for source in sources if (parameter, call.result) in passed else ():
                        if call.answer not in self.steps[source]:
                            self.steps[source][call.answer] = call.answer.module
                            waiting = True

    def _reaches(self, parameter: Place, result: Place) -> bool:
        """Whether the result is made of the parameter inside the function."""
        seen, waiting = set(), [parameter]
        while waiting:
            place = waiting.pop()
            if place == result:
                return True
            if place not in seen and place.owner == result.owner:
                seen.add(place)
                waiting += self.steps.get(place, ())
        return False


def _is_field(place: Place, cls: str, name: str) -> bool:
    return place.kind == FIELD and place.name == name and place.owner.rpartition(".")[2] == cls


def flow_of(root: Path, package: str, *, properties: str, inside: str) -> Flow:
    """The steps in a package.

    Args:
        root: the checkout.
        package: its folder there.
        properties: the name under which Spark's are handed on: a key or a keyword.
        inside: in modules whose name begins so.

    Raises:
        RuntimeError: mypy cannot read the package.
    """
    options = Options()
    options.export_types = options.preserve_asts = options.check_untyped_defs = True
    options.incremental = False
    options.follow_imports = "skip"
    options.ignore_missing_imports = True
    options.cache_dir = os.devnull
    before = Path.cwd()
    os.chdir(root)
    try:
        options.mypy_path = [str(root)]
        result = build.build(create_source_list([package], options), options)
    except CompileError as error:
        raise RuntimeError(f"mypy cannot read {root}: {error}") from error
    finally:
        os.chdir(before)
    flow = Flow()
    for name, tree in result.files.items():
        if name.partition(".")[0] == package:
            _Steps(flow, name, result.types, properties if name.startswith(inside) else "").walk(tree)
    flow.pass_through()
    return flow


class _Steps:
    """Adds the steps of a module."""

    def __init__(
        self, flow: Flow, module: str, known: dict[nodes.Expression, types.Type], properties: str
    ) -> None:
        self.flow = flow
        self.module = module
        self.package = module.partition(".")[0]
        self.known = known
        self.properties = properties
        self.functions: list[str] = []
        self.parameters: set[int] = set()

    # Where values come from.

    def sources(self, node: nodes.Expression | None) -> set[Place]:
        """The places whose values an expression is made of."""
        match node:
            case None:
                return set()
            case nodes.NameExpr():
                return {self._variable(node)} if isinstance(node.node, nodes.Var) else set()
            case nodes.MemberExpr():
                return self._member(node)
            case nodes.CallExpr():
                return self._call(node)
            case nodes.LambdaExpr():
                returned = [each.expr for each in node.body.body if isinstance(each, nodes.ReturnStmt)]
                return {place for each in returned for place in self.sources(each)}
        return {place for part in _parts(node) for place in self.sources(part)}

    def _variable(self, node: nodes.NameExpr) -> Place:
        """A variable; a comprehension's own is told from its function's of the same name by its line."""
        if not self.functions:
            return Place(self.module, VARIABLE, self.module, node.name)
        line = 0 if id(node.node) in self.parameters else getattr(node.node, "line", 0)
        name = f"{node.name}:{line}" if line else node.name
        return Place(self.module, VARIABLE, self.functions[-1], name)

    def _member(self, node: nodes.MemberExpr) -> set[Place]:
        found = set()
        for info in self._classes(node.expr):
            place = _place_of(info, node.name)
            if place is not None:
                found.add(place)
        return found or self.sources(node.expr)

    def _classes(self, node: nodes.Expression) -> Iterator[nodes.TypeInfo]:
        """The classes of ours that an expression may be an instance of."""
        for info in _infos(self.known.get(node)):
            if info.fullname.startswith(f"{self.package}."):
                yield info

    def _call(self, node: nodes.CallExpr) -> set[Place]:
        """What a call gives, its arguments noted; `partial` counts as the call that it prepares."""
        callee, skipped = node.callee, 0
        if isinstance(callee, nodes.NameExpr) and callee.name == "partial" and node.args:
            callee, skipped = node.args[0], 1
        names, kinds = node.arg_names[skipped:], node.arg_kinds[skipped:]
        given = [self.sources(argument) for argument in node.args[skipped:]]
        target = self._called(callee)
        filled: dict[Place, set[Place]] = defaultdict(set)
        if target is not None:
            pairs = [*_filled(target, names, kinds, given), *self._unpacked(target, node)]
        else:
            pairs = list(self._replaced(node, given))
        for place, sources in pairs:
            filled[place] |= sources
        if isinstance(target, nodes.FuncDef):
            return self._answer(target, node, filled)
        for place, sources in filled.items():
            for source in sources:
                self._step(source, place)
        if target is not None:
            return set()
        of_object = self.sources(callee.expr if isinstance(callee, nodes.MemberExpr) else callee)
        return of_object.union(self._named_field(node), *given)

    def _answer(
        self, target: nodes.FuncDef, node: nodes.CallExpr, filled: dict[Place, set[Place]]
    ) -> set[Place]:
        owner = self.functions[-1] if self.functions else self.module
        answer = Place(self.module, ANSWER, owner, f"{node.line}:{node.column}:{target.name}")
        result = Place(_module_of(target), RESULT, target.fullname)
        self.flow.calls[answer] = Call(given=filled, result=result, answer=answer)
        for source in self._named_field(node):
            self._step(source, answer)
        return {answer}

    def _step(self, source: Place, place: Place) -> None:
        self.flow.steps[source].setdefault(place, self.module)

    def _named_field(self, node: nodes.CallExpr) -> set[Place]:
        """`read(settings, "scale")` reads a field by its name."""
        words = {each.value for each in node.args if isinstance(each, nodes.StrExpr)}
        infos = [info for argument in node.args for info in self._classes(argument)]
        places = {_place_of(info, word) for info in infos for word in words if word in info.names}
        return {place for place in places if place is not None}

    def _called(self, callee: nodes.Expression) -> nodes.FuncDef | nodes.TypeInfo | None:
        """The function or class of ours that is called."""
        target: nodes.FuncDef | nodes.TypeInfo | None = None
        if isinstance(callee, nodes.MemberExpr):
            methods = [info.get_method(callee.name) for info in self._classes(callee.expr)]
            target = next(filter(None, map(_function, methods)), None)
        if target is None and isinstance(callee, nodes.RefExpr):
            target = callee.node if isinstance(callee.node, nodes.TypeInfo) else _function(callee.node)
        if target is None or not target.fullname.startswith(f"{self.package}."):
            return None
        if isinstance(target, nodes.TypeInfo) and target.typeddict_type:
            return None  # a dictionary: it passes on what it is given
        # What a protocol or an abstract method makes of its arguments is told by others.
        is_open = isinstance(target, nodes.FuncDef) and (target.is_trivial_body or target.abstract_status)
        return None if is_open else target

    def _replaced(self, node: nodes.CallExpr, given: list[set[Place]]) -> Iterator[tuple[Place, set[Place]]]:
        """The fields that `dataclasses.replace(document, field=...)` fills."""
        infos = list(self._classes(node.args[0])) if node.args else []
        for name, value in zip(node.arg_names, given, strict=False):
            for info in infos:
                place = _place_of(info, name) if name else None
                if place is not None:
                    yield place, value

    def _unpacked(
        self, target: nodes.FuncDef | nodes.TypeInfo, node: nodes.CallExpr
    ) -> Iterator[tuple[Place, set[Place]]]:
        """What `**asdict(settings)` or `**columns` fills: the parameters with the names of its fields."""
        for argument, kind in zip(node.args, node.arg_kinds, strict=True):
            if kind != nodes.ARG_STAR2:
                continue
            places: dict[str, set[Place]] = {}
            if isinstance(argument, nodes.CallExpr) and argument.args:
                for info in self._classes(argument.args[0]):
                    fields = {name: _place_of(info, name) for name in info.names}
                    places |= {name: {place} for name, place in fields.items() if place}
            known = types.get_proper_type(self.known.get(argument))
            if isinstance(known, types.TypedDictType):
                places |= dict.fromkeys([*known.items, _rest_of(target)], self.sources(argument))
            for name, parameter in _parameters(target).items():
                if name in places:
                    yield parameter, places[name]

    # Where they go.

    def _assign(self, target: nodes.Expression, value: nodes.Expression) -> None:
        """One value or, where both sides have as many, one after the other: `a, b = c, d` and `zip(c, d)`."""
        values: list[nodes.Expression] = []
        match value:
            case nodes.TupleExpr():
                values = value.items
            case nodes.CallExpr(callee=nodes.NameExpr(name="zip")):
                kinds = zip(value.args, value.arg_kinds, strict=True)
                values = [each for each, kind in kinds if kind == nodes.ARG_POS]
        if isinstance(target, nodes.TupleExpr) and len(target.items) == len(values):
            for item, one in zip(target.items, values, strict=True):
                self._assign(item, one)
        else:
            self._store(target, self.sources(value))

    def _store(self, target: nodes.Expression, sources: Iterable[Place]) -> None:
        sources = list(sources)
        match target:
            case nodes.NameExpr():
                places = {self._variable(target)}
            case nodes.MemberExpr():
                places = self._member(target)
            case nodes.IndexExpr():
                self._reach_properties(target.index, sources)
                places = self.sources(target.base)
            case nodes.TupleExpr() | nodes.ListExpr():
                for item in target.items:
                    self._store(item, sources)
                return
            case nodes.StarExpr():
                self._store(target.expr, sources)
                return
            case _:
                return
        for source in sources:
            for place in places:
                self._step(source, place)

    def _reach_properties(self, key: nodes.Expression | str | None, sources: Iterable[Place]) -> None:
        match key:
            case nodes.StrExpr():
                name = key.value
            case nodes.NameExpr():
                name = key.name.lower()
            case str():
                name = key
            case _:
                return
        if self.properties and name == self.properties:
            self.flow.properties.update(sources)

    def walk(self, node: nodes.Node) -> None:
        """Add the steps of a node and all below it: mypy's own visitors, being compiled, take no subclass."""
        is_function = isinstance(node, nodes.FuncDef)
        if isinstance(node, nodes.FuncDef):
            self.parameters |= {id(argument.variable) for argument in node.arguments}
            # Functions inside of another share its variables.
            self.functions.append(self.functions[-1] if self.functions else node.fullname)
        self._note(node)
        for name in _BELOW:
            for child in _flat(getattr(node, name, None)):
                self.walk(child)
        if is_function:
            self.functions.pop()

    def _note(self, node: nodes.Node) -> None:  # noqa: C901 - one case for each kind
        match node:
            case nodes.ReturnStmt() | nodes.YieldExpr():
                for source in self.sources(node.expr) if self.functions else ():
                    self._step(source, Place(self.module, RESULT, self.functions[-1]))
            case nodes.AssignmentStmt():
                for target in node.lvalues:
                    self._assign(target, node.rvalue)
            case nodes.OperatorAssignmentStmt():
                self._store(node.lvalue, self.sources(node.rvalue))
            case nodes.AssignmentExpr():
                self._store(node.target, self.sources(node.value))
            case nodes.ForStmt():
                self._assign(node.index, node.expr)
            case nodes.GeneratorExpr() | nodes.DictionaryComprehension():
                for index, sequence in zip(node.indices, node.sequences, strict=True):
                    self._assign(index, sequence)
            case nodes.DictExpr():
                for key, value in node.items:
                    self._reach_properties(key, self.sources(value))
            case nodes.CallExpr():
                self._note_call(node)

    def _note_call(self, node: nodes.CallExpr) -> None:
        sources = self._call(node)
        for name, argument in zip(node.arg_names, node.args, strict=True):
            self._reach_properties(name, self.sources(argument))
        if isinstance(node.callee, nodes.MemberExpr) and node.callee.name in _FILLING:
            for place in self.sources(node.callee.expr):
                for source in sources - {place}:
                    self._step(source, place)


_FILLING = {"add", "append", "appendleft", "extend", "insert", "setdefault", "update"}
"""Methods of containers after which they have what they were given."""

_BELOW = (
    *(
        "defs",
        "body",
        "else_body",
        "handlers",
        "finally_body",
        "bodies",
        "func",
        "lvalues",
        "lvalue",
        "rvalue",
    ),
    *(
        "expr",
        "index",
        "subject",
        "guards",
        "target",
        "value",
        "key",
        "callee",
        "args",
        "base",
        "left",
        "right",
    ),
    *(
        "items",
        "left_expr",
        "sequences",
        "condlists",
        "condition",
        "cond",
        "if_expr",
        "generator",
        "operands",
    ),
)
"""Attributes of mypy's nodes that hold nodes which are written inside of them."""


def _flat(value: object) -> Iterator[nodes.Node]:
    match value:
        case nodes.Statement() | nodes.Expression():
            yield value
        case list() | tuple():
            for each in value:
                yield from _flat(each)


def _parts(node: nodes.Expression) -> Iterator[nodes.Expression | None]:  # noqa: C901 - a case for each kind
    """The expressions directly in another whose values are part of its value."""
    match node:
        case nodes.OpExpr():
            yield from (node.left, node.right)
        case nodes.UnaryExpr() | nodes.StarExpr() | nodes.AwaitExpr():
            yield node.expr
        case nodes.ConditionalExpr():
            yield from (node.if_expr, node.else_expr)
        case nodes.ListExpr() | nodes.TupleExpr() | nodes.SetExpr():
            yield from node.items
        case nodes.DictExpr():
            yield from (value for _, value in node.items)
        case nodes.IndexExpr():
            yield node.base
        case nodes.SliceExpr():
            yield from filter(None, (node.begin_index, node.end_index))
        case nodes.ListComprehension() | nodes.SetComprehension():
            yield node.generator
        case nodes.GeneratorExpr():
            yield node.left_expr
        case nodes.DictionaryComprehension():
            yield from (node.key, node.value)
        case nodes.AssignmentExpr():
            yield node.value
        case nodes.CastExpr():
            yield node.expr


def _infos(known: types.Type | None) -> Iterator[nodes.TypeInfo]:
    if known is None:
        return
    proper = types.get_proper_type(known)
    match proper:
        case types.Instance():
            yield proper.type
        case types.UnionType():
            for item in proper.items:
                yield from _infos(item)
        case types.TypeVarType():
            yield from _infos(proper.upper_bound)


def _place_of(info: nodes.TypeInfo, name: str) -> Place | None:
    """The field of a class, where it or a class above it defines it; a property's result."""
    for owner in info.mro:
        symbol = owner.names.get(name)
        if symbol is None or symbol.node is None:
            continue
        function = _function(symbol.node)
        if function is not None:
            is_property = isinstance(symbol.node, nodes.Decorator)
            return Place(_module_of(function), RESULT, function.fullname) if is_property else None
        return Place(owner.module_name, FIELD, owner.fullname, name)
    return None


def _function(node: nodes.Node | None) -> nodes.FuncDef | None:
    match node:
        case nodes.FuncDef():
            return node
        case nodes.Decorator():
            return node.func
        case nodes.OverloadedFuncDef():
            return _function(node.items[0]) if node.items else None
    return None


def _module_of(function: nodes.FuncDef) -> str:
    if function.info:
        return function.info.module_name
    return function.fullname.rpartition(".")[0]


def _rest_of(target: nodes.FuncDef | nodes.TypeInfo) -> str:
    """The name of the parameter that takes all other keywords; empty where there is none."""
    arguments = target.arguments if isinstance(target, nodes.FuncDef) else []
    return next((each.variable.name for each in arguments if each.kind == nodes.ARG_STAR2), "")


def _parameters(target: nodes.FuncDef | nodes.TypeInfo) -> dict[str, Place]:
    """The parameters of a function or a class's own constructor, or the fields of a class without one."""
    function: nodes.FuncDef | None
    if isinstance(target, nodes.TypeInfo):
        constructor = target.names.get("__init__")
        function = _function(constructor.node) if constructor else None
        if function is None or constructor is None or constructor.plugin_generated:
            names = {name: None for owner in reversed(target.mro) for name in owner.names}
            places = [_place_of(target, name) for name in names]
            return {place.name: place for place in places if place and place.kind == FIELD}
    else:
        function = target
    skip = 1 if function.info and not function.is_static else 0
    names_of = [argument.variable.name for argument in function.arguments][skip:]
    return {name: Place(_module_of(function), VARIABLE, function.fullname, name) for name in names_of}


def _filled(
    target: nodes.FuncDef | nodes.TypeInfo,
    names: Sequence[str | None],
    kinds: Sequence[nodes.ArgKind],
    values: Sequence[set[Place]],
) -> Iterator[tuple[Place, set[Place]]]:
    """The parameters or fields that a call's arguments fill, by position and by name."""
    places = _parameters(target)
    positions = iter(places)
    for name, kind, value in zip(names, kinds, values, strict=True):
        filled = name if name else next(positions, None) if kind == nodes.ARG_POS else None
        if filled in places:
            yield places[filled], value
