"""Conditions that leave out points of a sweep: `sweep.where` and `sweep.exclude`, expressions over axes.

Expressions are parsed by Python's parser and evaluated by this module, which rejects all other syntax.
"""

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from shallows.quantity import Quantity, parse_quantity
from shallows.runs.results import axis_name

Value = Quantity | str | bool

LONGEST, DEEPEST = 500, 60
"""Maximum number of characters of a condition, and its deepest nesting."""

COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}

SIGNS = str.maketrans({"×": "*", "÷": "/", "−": "-", "≤": "<=", "≥": ">=", "≠": "!="})

UNQUOTED = re.compile(r"""("[^"]*"|'[^']*')|\b([0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?+[A-Za-z]+)\b""")
"""Pattern that matches a quoted text or a number with a unit, but not `1e` in `1e-3`."""


class Condition:
    """One expression over the short names of axes, such as `kmin <= kmax and kmax < 2MB`.

    Parameters
    ----------
    text
        The expression.
    axes
        Keys of the axes, and `scheme` if there are several.

    Raises
    ------
    ValueError
        If the expression is invalid; the message gives the reason.

    Examples
    --------
    >>> condition = Condition("kmin <= kmax / 2", ["red.kmin", "red.kmax"])
    >>> condition.holds({"red.kmin": "90KB", "red.kmax": "0.2MB"})
    True
    """

    def __init__(self, text: str, axes: Sequence[str]) -> None:
        self.names: dict[str, list[str]] = {}
        for axis in axes:
            for name in dict.fromkeys([axis, axis.rsplit(".", 1)[-1], axis_name(axis)]):
                if name.isidentifier():
                    self.names.setdefault(name, []).append(axis)
        if len(text) > LONGEST:
            raise ValueError(f"a condition must have at most {LONGEST} characters, got {len(text)}")
        # Python's parser rejects `90KB`, but accepts `"90KB"`.
        quoted = UNQUOTED.sub(lambda found: found[1] or f'"{found[2]}"', text.translate(SIGNS))
        try:
            self.tree = ast.parse(quoted.strip(), mode="eval").body
        except (SyntaxError, RecursionError, MemoryError) as error:
            # RecursionError and MemoryError come from expressions that are nested too deeply for the parser.
            raise ValueError(f"{text!r} is not an expression: {getattr(error, 'msg', error)}") from None
        self._check(self.tree)

    def holds(self, labels: Mapping[str, Any]) -> bool:
        """Return whether the condition holds for a point.

        Raises
        ------
        ValueError
            If the condition compares or combines values of different kinds, such as a size and a time.
        """
        found = self._value(self.tree, labels)
        if not isinstance(found, bool):
            message = (
                f"{ast.unparse(self.tree)!r} is not a condition: write a comparison such as kmin <= kmax"
            )
            raise ValueError(message)  # noqa: TRY004
        return found

    def _check(self, node: ast.expr, depth: int = 0) -> None:
        """Raise `ValueError` for unsupported syntax or unknown axes, before any point is created."""
        if depth > DEEPEST:
            raise ValueError(f"a condition must be nested at most {DEEPEST} levels deep")
        if isinstance(node, ast.Name):
            self._axis(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float | str):
            _read(node.value)
        elif (parts := _parts(node)) is None:
            raise ValueError(
                f"unsupported expression {ast.unparse(node)!r}: a condition may have names of axes, "
                "quantities, comparisons (<, <=, >, >=, ==, !=), and, or, not, + − × ÷ and parentheses"
            )
        else:
            for part in parts:
                self._check(part, depth + 1)

    def _axis(self, name: str) -> str:
        meant = self.names.get(name, [])
        if len(meant) == 1:
            return meant[0]
        if meant:
            raise ValueError(
                f"{name} is ambiguous ({' or '.join(meant)}): rename one of these axes with sweep.together"
            )
        known = ", ".join(sorted(name for name, axes in self.names.items() if len(axes) == 1))
        raise ValueError(f"unknown axis {name}; the names of axes are: {known or 'none'}")

    def _value(self, node: ast.expr, labels: Mapping[str, Any]) -> Value:
        match node:
            case ast.Name(id=name):
                return _read(labels[self._axis(name)])
            case ast.Constant(value=bool() | int() | float() | str() as value):
                return _read(value)
            case ast.BoolOp(op=op, values=parts):
                wanted = isinstance(op, ast.Or)
                return next((wanted for part in parts if self._truth(part, labels) is wanted), not wanted)
            case ast.UnaryOp(op=ast.Not(), operand=part):
                return not self._truth(part, labels)
            case ast.UnaryOp(op=op, operand=part):
                found = _number(self._value(part, labels), part)
                return Quantity(-found.number if isinstance(op, ast.USub) else found.number, found.of)
            case ast.Compare(left=first, ops=ops, comparators=others):
                values = [self._value(part, labels) for part in (first, *others)]
                pairs = zip(ops, values, values[1:], strict=False)
                return all(_compare(COMPARED[type(op)], one, other) for op, one, other in pairs)
            case ast.BinOp(left=left, op=op, right=right):
                sides = (_number(self._value(side, labels), side) for side in (left, right))
                return _calculate(op, *sides)
        raise AssertionError(f"the parser of conditions accepted {node}, which cannot be evaluated")

    def _truth(self, node: ast.expr, labels: Mapping[str, Any]) -> bool:
        found = self._value(node, labels)
        if not isinstance(found, bool):
            raise ValueError(f"{ast.unparse(node)} is not a condition, but a value")  # noqa: TRY004
        return found


def _parts(node: ast.expr) -> Sequence[ast.expr] | None:
    """Return the parts of an expression, if it is supported."""
    match node:
        case ast.BoolOp(values=parts):
            return parts
        case ast.Compare(left=first, ops=ops, comparators=others) if all(type(op) in COMPARED for op in ops):
            return [first, *others]
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.UAdd(), operand=part):
            return [part]
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div(), left=left, right=right):
            return [left, right]
    return None


def _read(value: object) -> Value:
    if isinstance(value, bool):
        return value
    try:
        return parse_quantity(value)
    except ValueError:
        if isinstance(value, str):
            return value
        raise ValueError(f"{value!r} is neither a quantity nor a name") from None


def _number(value: Value, node: ast.expr) -> Quantity:
    if not isinstance(value, Quantity):
        raise ValueError(f"{ast.unparse(node)} must be a number or a quantity")  # noqa: TRY004
    return value


def _said(value: Value) -> str:
    if isinstance(value, Quantity):
        return value.of or "a number"
    return "true or false" if isinstance(value, bool) else f'"{value}"'


def _compare(compared: Callable[[Any, Any], bool], one: Value, other: Value) -> bool:
    if isinstance(one, Quantity) and isinstance(other, Quantity) and one.of == other.of:
        return compared(one.number, other.number)
    if type(one) is type(other) and not isinstance(one, Quantity) and compared in {operator.eq, operator.ne}:
        return compared(one, other)
    if isinstance(one, str) != isinstance(other, str) and compared in {operator.eq, operator.ne}:
        # An axis may have values of both types, such as "none" and "90KB".
        return compared is operator.ne
    raise ValueError(f"cannot compare {_said(one)} with {_said(other)} using this operator")


def _calculate(op: ast.operator, one: Quantity, other: Quantity) -> Quantity:
    if isinstance(op, ast.Add | ast.Sub):
        if one.of != other.of:
            raise ValueError(f"cannot add or subtract {_said(one)} and {_said(other)}")
        sign = 1 if isinstance(op, ast.Add) else -1
        return Quantity(one.number + sign * other.number, one.of)
    if isinstance(op, ast.Mult):
        if one.of and other.of:
            raise ValueError(f"cannot multiply {_said(one)} and {_said(other)}")
        return Quantity(one.number * other.number, one.of or other.of)
    if other.of and one.of != other.of:
        raise ValueError(f"cannot divide {_said(one)} by {_said(other)}")
    if other.number == Fraction(0):
        raise ValueError("the condition divides by zero")
    return Quantity(one.number / other.number, "" if other.of else one.of)
