"""CasADi's operations on interval jets: bounds of every value, and of its rate along a path.

Rates follow from slopes by the chain rule, instruction by instruction. Where a function has a kink its slope is the
hull of those on both sides; where it may jump, or its value is unbounded, its rate is unknown. So a rate bounds every
difference quotient along the path, which is all that the mean value theorem asks for.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, pi, sqrt
from typing import NamedTuple

import casadi as ca

from impinge.compile.kernels.intervals import ONE, UNKNOWN, ZERO, Interval, Intervals, constant, number
from impinge.compile.kernels.ir import literal

_ZERO = literal(0.0)
_HALF_TURN = pi * (1.0 + 2.0**-50)
_BELL = Interval(literal(2.0 / sqrt(pi) * (1.0 - 2.0**-50)), literal(2.0 / sqrt(pi) * (1.0 + 2.0**-50)), True)

# Functions that rise, defined from … to …, with values from … to …
_RISING = {
    ca.OP_EXP: ("llvm.exp.f64", -inf, inf, 0.0, inf),
    ca.OP_EXPM1: ("expm1", -inf, inf, -1.0, inf),
    ca.OP_LOG: ("llvm.log.f64", 0.0, inf, -inf, inf),
    ca.OP_LOG1P: ("log1p", -1.0, inf, -inf, inf),
    ca.OP_ASIN: ("asin", -1.0, 1.0, -_HALF_TURN, _HALF_TURN),
    ca.OP_ATAN: ("atan", -inf, inf, -_HALF_TURN, _HALF_TURN),
    ca.OP_SINH: ("sinh", -inf, inf, -inf, inf),
    ca.OP_TANH: ("tanh", -inf, inf, -1.0, 1.0),
    ca.OP_ASINH: ("asinh", -inf, inf, -inf, inf),
    ca.OP_ACOSH: ("acosh", 1.0, inf, 0.0, inf),
    ca.OP_ATANH: ("atanh", -1.0, 1.0, -inf, inf),
    ca.OP_ERF: ("erf", -inf, inf, -1.0, 1.0),
}


class Jet(NamedTuple):
    """Bounds of a value and of its rate; None if it is constant."""

    x: Interval
    rate: Interval | None = None


class Jets(Intervals):
    """Instructions on jets."""

    def _chain(self, x: Interval, *parts: tuple[Callable[[], Interval], Interval | None]) -> Jet:
        """Return a value with the rate that its slopes and the rates of its arguments give."""
        rate = None
        for slope, of in parts:
            if of is not None:
                term = self.multiply(slope(), of)
                rate = term if rate is None else self.add(rate, term)
        return Jet(x, rate)

    def _unsteady_if(self, bit: str, rate: Interval) -> Interval:
        """Return a rate, but one that may be anything if a truth value holds."""
        return self.unknown_if(bit, Interval(rate.lo, rate.hi))

    def _where_bounded(self, jet: Jet) -> Jet:
        """Return a jet whose rate is unknown where its value is: behind a pole, or outside of a domain."""
        return jet if jet.rate is None else Jet(jet.x, self._unsteady_if(self.unbounded(jet.x), jet.rate))

    def _jumping(self, x: Interval, may_jump: str, *arguments: Jet) -> Jet:
        """Return a value that is constant but for jumps."""
        moves = any(argument.rate is not None for argument in arguments)
        return Jet(x, self._unsteady_if(may_jump, ZERO) if moves else None)

    def operation(self, op: int, arguments: list[Jet]) -> Jet:
        """Emit one CasADi operation; of one that is not known here, nothing is known."""
        found = self._one(op, arguments[0]) if len(arguments) == 1 else self._two(op, *arguments)
        return Jet(UNKNOWN, UNKNOWN) if found is None else found

    # Functions of one argument

    def _one(self, op: int, jet: Jet) -> Jet | None:
        x, rate = jet
        if op == ca.OP_ASSIGN:
            return jet
        if op == ca.OP_NEG:
            return Jet(self.minus(x), None if rate is None else self.minus(rate))
        if op == ca.OP_TWICE:
            return Jet(self.add(x, x), None if rate is None else self.add(rate, rate))
        if op == ca.OP_FABS:
            return self._chain(self.magnitude(x), (lambda: self._side(x), rate))
        if op in (ca.OP_SIGN, ca.OP_FLOOR, ca.OP_CEIL, ca.OP_NOT):
            y = self._steps(op, x)
            return self._jumping(y, self.compare(y.lo, "olt", y.hi), jet)
        found = self._smooth(op, x)
        return None if found is None else self._where_bounded(self._chain(found[0], (found[1], rate)))

    def _smooth(self, op: int, x: Interval) -> tuple[Interval, Callable[[], Interval]] | None:
        """Return a smooth function, and a call that gives its slope."""
        if op == ca.OP_SQ:
            return self.square(x), lambda: self.add(x, x)
        if op == ca.OP_INV:
            y = self.inverse(x)
            return y, lambda: self.minus(self.square(y))
        if op == ca.OP_SQRT:
            y = self.root(x)
            return y, lambda: self.inverse(self.add(y, y))
        if op in (ca.OP_SIN, ca.OP_COS):
            s, c = self.sine_and_cosine(x)
            return (s, lambda: c) if op == ca.OP_SIN else (c, lambda: self.minus(s))
        if op == ca.OP_TAN:
            pole = self.contains_zero(self.sine_and_cosine(x)[1])
            y = self.unknown_if(pole, self.rising("tan", x))
            return y, lambda: self.add(ONE, self.square(y))
        if op == ca.OP_COSH:
            return self._cosh(x), lambda: self.rising("sinh", x)
        if op == ca.OP_ACOS:
            falls = self.outward(self.call("acos", x.hi), self.call("acos", x.lo), 2.0**-49, 0.0, _HALF_TURN)
            return self.within(x, -1.0, 1.0, falls), lambda: self.minus(self._beside_circle(x))
        if op in _RISING:
            name, first, last, least, most = _RISING[op]
            y = self.within(x, first, last, self.rising(name, x, least, most))
            return y, lambda: self._slope(op, x, y)
        return None

    def _slope(self, op: int, x: Interval, y: Interval) -> Interval:
        """Return the slope of a rising function y(x)."""
        if op == ca.OP_EXP:
            return y
        if op == ca.OP_EXPM1:
            return self.rising("llvm.exp.f64", x, least=0.0)
        if op == ca.OP_LOG:
            return self.inverse(x)
        if op == ca.OP_LOG1P:
            return self.inverse(self.add(ONE, x))
        if op == ca.OP_ASIN:
            return self._beside_circle(x)
        if op == ca.OP_ATAN:
            return self.inverse(self.add(ONE, self.square(x)))
        if op == ca.OP_SINH:
            return self._cosh(x)
        if op == ca.OP_TANH:
            return self.subtract(ONE, self.square(y))
        if op == ca.OP_ASINH:
            return self.inverse(self.root(self.add(ONE, self.square(x))))
        if op == ca.OP_ACOSH:
            return self.inverse(self.root(self.subtract(self.square(x), ONE)))
        if op == ca.OP_ATANH:
            return self.inverse(self.subtract(ONE, self.square(x)))
        return self.multiply(_BELL, self.rising("llvm.exp.f64", self.minus(self.square(x)), least=0.0))  # erf

    def _cosh(self, x: Interval) -> Interval:
        return self.rising("cosh", self.magnitude(x), least=1.0)

    def _beside_circle(self, x: Interval) -> Interval:
        return self.inverse(self.root(self.subtract(ONE, self.square(x))))

    def _side(self, x: Interval) -> Interval:
        """Return the slope of |x|."""
        above, below = self.compare(x.lo, "oge", _ZERO), self.compare(x.hi, "ole", _ZERO)
        return self.choose(above, below, ONE, constant(-1.0))

    def _steps(self, op: int, x: Interval) -> Interval:
        """Return a function that is constant between jumps."""
        if op == ca.OP_NOT:
            sure, never = self.truth(x)
            return self.condition(never, sure)
        if op == ca.OP_SIGN:
            return self.unknown_if(self.unbounded(x), Interval(self._sign(x.lo), self._sign(x.hi)))
        name = "llvm.floor.f64" if op == ca.OP_FLOOR else "llvm.ceil.f64"
        return Interval(self.call(name, x.lo), self.call(name, x.hi))

    def _sign(self, a: str) -> str:
        below = self.select(self.compare(a, "olt", _ZERO), literal(-1.0), _ZERO)
        return self.select(self.compare(a, "ogt", _ZERO), literal(1.0), below)

    # Functions of two arguments

    def _two(self, op: int, a: Jet, b: Jet) -> Jet | None:
        x, y = a.x, b.x
        if op == ca.OP_ADD:
            return self._chain(self.add(x, y), (lambda: ONE, a.rate), (lambda: ONE, b.rate))
        if op == ca.OP_SUB:
            rate = b.rate if b.rate is None else self.minus(b.rate)
            return self._chain(self.subtract(x, y), (lambda: ONE, a.rate), (lambda: ONE, rate))
        if op == ca.OP_MUL:
            if a is b:
                return self._one(ca.OP_SQ, a)
            return self._chain(self.multiply(x, y), (lambda: y, a.rate), (lambda: x, b.rate))
        if op == ca.OP_DIV:
            inverse = self.inverse(y)
            z = self.multiply(x, inverse)
            slope = lambda: self.minus(self.multiply(z, inverse))  # noqa: E731
            return self._where_bounded(self._chain(z, (lambda: inverse, a.rate), (slope, b.rate)))
        if op == ca.OP_HYPOT:
            z = self.root(self.add(self.square(x), self.square(y)))
            slopes = (lambda: self.divide(x, z), a.rate), (lambda: self.divide(y, z), b.rate)
            return self._where_bounded(self._chain(z, *slopes))
        if op == ca.OP_ATAN2:
            return self._angle(a, b)
        if op in (ca.OP_POW, ca.OP_CONSTPOW):
            return self._power(a, b)
        if op in (ca.OP_FMIN, ca.OP_FMAX):
            return self._extreme(op, a, b)
        if op == ca.OP_COPYSIGN:
            return self._with_sign(a, b)
        if op == ca.OP_IF_ELSE_ZERO:
            return self.either_of(a, b, Jet(ZERO))
        if op in (ca.OP_FMOD, ca.OP_REMAINDER):
            size = self.magnitude(y)
            none = self.either(self.contains_zero(y), self.unbounded(x, y))
            z = self.unknown_if(none, Interval(self.negative(size.hi), size.hi))
            return self._jumping(z, "true", a, b)
        return self._comparison(op, a, b)

    def _comparison(self, op: int, a: Jet, b: Jet) -> Jet | None:
        x, y = a.x, b.x
        if op in (ca.OP_LT, ca.OP_LE):
            how, other = ("olt", "oge") if op == ca.OP_LT else ("ole", "ogt")
            sure, never = self.compare(x.hi, how, y.lo), self.compare(x.lo, other, y.hi)
        elif op in (ca.OP_EQ, ca.OP_NE):
            never = self.either(self.compare(x.hi, "olt", y.lo), self.compare(y.hi, "olt", x.lo))
            sure = self.both(self.compare(x.lo, "oeq", y.hi), self.compare(x.hi, "oeq", y.lo))
            sure, never = (sure, never) if op == ca.OP_EQ else (never, sure)
        elif op in (ca.OP_AND, ca.OP_OR):
            (sure, never), (sure_too, never_too) = self.truth(x), self.truth(y)
            if op == ca.OP_AND:
                sure, never = self.both(sure, sure_too), self.either(never, never_too)
            else:
                sure, never = self.either(sure, sure_too), self.both(never, never_too)
        else:
            return None
        number = self.emit(f"xor i1 {self.unbounded(x, y)}, true")  # else every comparison may be false
        sure, never = self.both(sure, number), self.both(never, number)
        return self._jumping(self.condition(sure, never), self.neither(sure, never), a, b)

    def either_of(self, condition: Jet, a: Jet, b: Jet) -> Jet:
        """Return a where a condition holds, else b; where both may be, it may jump."""
        sure, never = self.truth(condition.x)
        rate = None
        if any(jet.rate is not None for jet in (condition, a, b)):
            undecided = self.neither(sure, never) if condition.rate is not None else "false"
            rate = self._unsteady_if(undecided, self.choose(sure, never, a.rate or ZERO, b.rate or ZERO))
        return Jet(self.choose(sure, never, a.x, b.x), rate)

    def _extreme(self, op: int, a: Jet, b: Jet) -> Jet:
        x, y = a.x, b.x
        pick = self.lesser if op == ca.OP_FMIN else self.greater
        none = self.unbounded(x, y)
        first, second = self.compare(x.hi, "olt", y.lo), self.compare(y.hi, "olt", x.lo)
        if op == ca.OP_FMAX:
            first, second = second, first
        rate = None
        if a.rate is not None or b.rate is not None:
            rate = self._unsteady_if(none, self.choose(first, second, a.rate or ZERO, b.rate or ZERO))
        z = Interval(pick(x.lo, y.lo), pick(x.hi, y.hi), x.positive and y.positive)
        return Jet(self.unknown_if(none, z), rate)

    def _with_sign(self, a: Jet, b: Jet) -> Jet:
        above, below = self.compare(b.x.lo, "ogt", _ZERO), self.compare(b.x.hi, "olt", _ZERO)
        size = self._one(ca.OP_FABS, a) or a
        flipped = self._one(ca.OP_NEG, size) or a
        rate = None
        if a.rate is not None or b.rate is not None:
            rate = self.choose(above, below, size.rate or ZERO, flipped.rate or ZERO)
            if b.rate is not None:
                rate = self._unsteady_if(self.neither(above, below), rate)
        return Jet(self.choose(above, below, size.x, flipped.x), rate)

    def _angle(self, a: Jet, b: Jet) -> Jet:
        """Return atan2(y, x), whose values are extreme in corners but for its cut."""
        y, x = a.x, b.x
        cut = self.both(self.contains_zero(y), self.compare(x.lo, "ole", _ZERO))
        corners = [self.call("atan2", one, other) for one in y[:2] for other in x[:2]]
        lo = hi = corners[0]
        for corner in corners[1:]:
            lo, hi = self.lesser(lo, corner), self.greater(hi, corner)
        z = self.outward(lo, hi, 2.0**-49)
        lo, hi = self.select(cut, literal(-_HALF_TURN), z.lo), self.select(cut, literal(_HALF_TURN), z.hi)
        z = self.unknown_if(self.unbounded(x, y), Interval(lo, hi))
        square = self.inverse(self.add(self.square(x), self.square(y)))
        angle, rate = self._chain(
            z,
            (lambda: self.multiply(x, square), a.rate),
            (lambda: self.minus(self.multiply(y, square)), b.rate),
        )
        return self._where_bounded(Jet(angle, None if rate is None else self._unsteady_if(cut, rate)))

    def _power(self, a: Jet, b: Jet) -> Jet:
        x, y = a.x, b.x
        exponent = number(y)
        if exponent is not None:
            slope = lambda: self.multiply(constant(exponent), self.power(x, exponent - 1.0))  # noqa: E731
            return self._where_bounded(self._chain(self.power(x, exponent), (slope, a.rate)))
        log = self.within(x, 0.0, inf, self.rising("llvm.log.f64", x))
        lo, hi, _ = self.rising("llvm.exp.f64", self.multiply(y, log), least=0.0)
        z = self.unknown_if(self.compare(x.lo, "olt", _ZERO), Interval(lo, hi))  # of a whole exponent it may be any
        by_base = lambda: self.multiply(z, self.divide(y, x))  # noqa: E731
        return self._where_bounded(self._chain(z, (by_base, a.rate), (lambda: self.multiply(z, log), b.rate)))
