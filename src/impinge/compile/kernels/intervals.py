"""Interval arithmetic as LLVM assembly: every bound is rounded outward, and what is not known is infinite.

An interval [lo, hi] contains every value that an expression takes while its arguments stay in theirs. Between finite
bounds it is certainly a number. What may overflow, or may have no meaning (the root of a negative number), has an
infinite bound, and so has what depends on it: fmin(NaN, x) is x, so that it cannot be forgotten later. A lower bound is
never NaN nor +∞, an upper one never NaN nor −∞. Nothing here may be reordered or contracted, so no instruction has a
fast-math flag.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from impinge.compile.kernels.ir import literal, value_of

# Relative widening that covers the rounding of one operation, and of a function of the C library.
_ONE_ULP, _LIBRARY = 2.0**-52, 2.0**-49
_SMALLEST = literal(5e-324)
_ZERO, _HALF, _ONE = literal(0.0), literal(0.5), literal(1.0)


class Interval(NamedTuple):
    """The registers (or literals) of both bounds, and whether it is known now that no number in it is below zero."""

    lo: str
    hi: str
    positive: bool = False


ZERO, ONE = Interval(_ZERO, _ZERO, True), Interval(_ONE, _ONE, True)
UNKNOWN = Interval(literal(-inf), literal(inf))


def constant(value: float) -> Interval:
    """Return a number as an interval; of one that is not finite nothing is known."""
    text = literal(value)
    return Interval(text, text, value >= 0.0) if -inf < value < inf else UNKNOWN


def number(x: Interval) -> float | None:
    """Return the number that an interval is, if that is known as the code is written."""
    return value_of(x.lo) if x.lo == x.hi and x.lo.startswith("0x") else None


class Intervals:
    """A function's instructions in static single assignment form, and what they say about intervals.

    Attributes:
        lines: the instructions, one a line.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._known: dict[str, str] = {}

    def emit(self, text: str) -> str:
        """Write an instruction, once, and return the register of its result."""
        if text not in self._known:
            self._known[text] = f"%r{len(self.lines)}"
            self.lines.append(f"  {self._known[text]} = {text}")
        return self._known[text]

    # Numbers and truth values

    def apply(self, instruction: str, a: str, b: str) -> str:
        """Return a sum, difference, product or quotient, rounded to nearest."""
        return self.emit(f"{instruction} double {a}, {b}")

    def call(self, name: str, *arguments: str) -> str:
        """Return what a function of the C library, or one of LLVM's own, returns."""
        return self.emit(f"call double @{name}({', '.join('double ' + a for a in arguments)})")

    def negative(self, a: str) -> str:
        """Return −a."""
        return self.emit(f"fneg double {a}")

    def compare(self, a: str, how: str, b: str) -> str:
        """Return a truth value; with an ordered comparison (olt, ole, ogt, oge, oeq) NaN makes it false."""
        return self.emit(f"fcmp {how} double {a}, {b}")

    def both(self, a: str, b: str) -> str:
        """Return whether both truth values hold."""
        return self.emit(f"and i1 {a}, {b}")

    def either(self, a: str, b: str) -> str:
        """Return whether at least one of two truth values holds."""
        return self.emit(f"or i1 {a}, {b}")

    def neither(self, a: str, b: str) -> str:
        """Return whether none of two truth values holds."""
        return self.emit(f"xor i1 {self.either(a, b)}, true")

    def select(self, bit: str, a: str, b: str) -> str:
        """Return a if a truth value holds, else b."""
        return a if a == b else self.emit(f"select i1 {bit}, double {a}, double {b}")

    def lesser(self, a: str, b: str) -> str:
        """Return the lesser of two numbers; b if one of them is NaN."""
        return self.select(self.compare(a, "olt", b), a, b)

    def greater(self, a: str, b: str) -> str:
        """Return the greater of two numbers; b if one of them is NaN."""
        return self.select(self.compare(a, "ogt", b), a, b)

    def _slack(self, a: str, share: float) -> str:
        size = self.apply("fmul", self.call("llvm.fabs.f64", a), literal(share))
        return self.apply("fadd", size, _SMALLEST)

    def outward(
        self,
        lo: str,
        hi: str,
        share: float = _ONE_ULP,
        least: float = -inf,
        most: float = inf,
    ) -> Interval:
        """Return two computed bounds as an interval: moved apart by their rounding, NaN as unknown.

        ``share`` is how large the rounding is, relative to each bound; the value is never below ``least`` nor above
        ``most`` anyway.
        """
        below = self.apply("fsub", lo, self._slack(lo, share))
        above = self.apply("fadd", hi, self._slack(hi, share))
        return Interval(self.greater(below, literal(least)), self.lesser(above, literal(most)), least >= 0.0)

    def unknown_if(self, bit: str, x: Interval) -> Interval:
        """Return an interval, but one that says nothing if a truth value holds."""
        lo = self.select(bit, _ZERO if x.positive else UNKNOWN.lo, x.lo)
        return Interval(lo, self.select(bit, UNKNOWN.hi, x.hi), x.positive)

    def unbounded(self, *intervals: Interval) -> str:
        """Return whether one of some intervals has an infinite bound."""
        bit = ""
        for x in intervals:
            one = self.emit(f"fcmp uge double {self.apply('fsub', x.hi, x.lo)}, {UNKNOWN.hi}")
            bit = self.either(bit, one) if bit else one
        return bit

    # Arithmetic

    def add(self, x: Interval, y: Interval) -> Interval:
        """Return x + y."""
        if ZERO in (x, y):
            return y if x == ZERO else x
        least = 0.0 if x.positive and y.positive else -inf
        return self.outward(self.apply("fadd", x.lo, y.lo), self.apply("fadd", x.hi, y.hi), least=least)

    def minus(self, x: Interval) -> Interval:
        """Return −x."""
        return Interval(self.negative(x.hi), self.negative(x.lo))

    def subtract(self, x: Interval, y: Interval) -> Interval:
        """Return x − y."""
        if ZERO in (x, y):
            return x if y == ZERO else self.minus(y)
        return self.outward(self.apply("fsub", x.lo, y.hi), self.apply("fsub", x.hi, y.lo))

    def multiply(self, x: Interval, y: Interval) -> Interval:
        """Return x y: the hull of its corners; if one of them is 0·∞, it is unknown."""
        if ONE in (x, y):
            return y if x == ONE else x
        if y.positive:
            x, y = y, x
        corner = [[self.apply("fmul", a, b) for b in y[:2]] for a in x[:2]]
        if x.positive and y.positive:
            return self.outward(corner[0][0], corner[1][1], least=0.0)
        if x.positive:
            return self.outward(self.lesser(corner[0][0], corner[1][0]), self.greater(corner[0][1], corner[1][1]))
        lo, hi = corner[0][0], corner[0][0]
        for one in (corner[0][1], corner[1][0], corner[1][1]):
            lo, hi = self.lesser(lo, one), self.greater(hi, one)
        none = self.either(
            self.compare(corner[0][0], "uno", corner[0][1]), self.compare(corner[1][0], "uno", corner[1][1])
        )
        return self.unknown_if(none, self.outward(lo, hi))

    def magnitude(self, x: Interval) -> Interval:
        """Return |x|."""
        if x.positive:
            return x
        nearest = self.greater(self.greater(x.lo, self.negative(x.hi)), _ZERO)
        return Interval(nearest, self.greater(self.negative(x.lo), x.hi), True)

    def square(self, x: Interval) -> Interval:
        """Return x²."""
        size = self.magnitude(x)
        return self.outward(self.apply("fmul", size.lo, size.lo), self.apply("fmul", size.hi, size.hi), least=0.0)

    def contains_zero(self, x: Interval) -> str:
        """Return whether zero is in an interval."""
        return self.both(self.compare(x.lo, "ole", _ZERO), self.compare(x.hi, "oge", _ZERO))

    def inverse(self, x: Interval) -> Interval:
        """Return 1/x."""
        lo, hi = self.apply("fdiv", _ONE, x.hi), self.apply("fdiv", _ONE, x.lo)
        pole = self.either(self.contains_zero(x), self.unbounded(x))
        return self.unknown_if(pole, self.outward(lo, hi, least=0.0 if x.positive else -inf))

    def divide(self, x: Interval, y: Interval) -> Interval:
        """Return x / y."""
        return self.multiply(x, self.inverse(y))

    # Choices

    def hull(self, x: Interval, y: Interval) -> Interval:
        """Return all that is in x or in y, or between them."""
        return Interval(self.lesser(x.lo, y.lo), self.greater(x.hi, y.hi), x.positive and y.positive)

    def choose(self, sure: str, never: str, x: Interval, y: Interval) -> Interval:
        """Return x if a condition surely holds, y if it never does, else the hull of both."""
        either = self.hull(x, y)
        lo = self.select(sure, x.lo, self.select(never, y.lo, either.lo))
        return Interval(lo, self.select(sure, x.hi, self.select(never, y.hi, either.hi)), either.positive)

    def truth(self, x: Interval) -> tuple[str, str]:
        """Return whether a number is surely not zero, and whether it surely is."""
        sure = self.either(self.compare(x.lo, "ogt", _ZERO), self.compare(x.hi, "olt", _ZERO))
        return sure, self.both(self.compare(x.lo, "oeq", _ZERO), self.compare(x.hi, "oeq", _ZERO))

    def condition(self, sure: str, never: str) -> Interval:
        """Return a truth value as a number: 1 if it surely holds, 0 if it never does, else [0, 1]."""
        return Interval(self.select(sure, _ONE, _ZERO), self.select(never, _ZERO, _ONE), True)

    # Functions

    def within(self, x: Interval, least: float, most: float, y: Interval) -> Interval:
        """Return y, which is known only where x stays within the domain of a function."""
        if least > -inf and not (x.positive and least == 0.0):
            y = self.unknown_if(self.compare(x.lo, "olt", literal(least)), y)
        if most < inf:
            y = self.unknown_if(self.compare(x.hi, "ogt", literal(most)), y)
        return y

    def rising(
        self, name: str, x: Interval, least: float = -inf, most: float = inf, share: float = _LIBRARY
    ) -> Interval:
        """Return a function of the C library that never falls, with its least and greatest values."""
        y = self.outward(self.call(name, x.lo), self.call(name, x.hi), share, least, most)
        return self.unknown_if(self.unbounded(x), y)

    def root(self, x: Interval) -> Interval:
        """Return the square root, where x is not below zero."""
        return self.within(x, 0.0, inf, self.rising("llvm.sqrt.f64", x, least=0.0, share=_ONE_ULP))

    def sine_and_cosine(self, x: Interval) -> tuple[Interval, Interval]:
        """Return sin x and cos x from those at the middle m, without reducing arguments.

        With x = m + d and |d| ≤ r: sin x = sin m cos d + cos m sin d, where 1 − r²/2 ≤ cos d ≤ 1 and |sin d| ≤ r.
        """
        m = self.apply("fmul", self.apply("fadd", x.lo, x.hi), _HALF)
        r = self.greater(self.apply("fsub", x.hi, m), self.apply("fsub", m, x.lo))
        r = self.apply("fmul", r, literal(1.0 + 4.0 * _ONE_ULP))
        bend = self.apply("fmul", self.apply("fmul", r, r), literal(0.5 + 4.0 * _ONE_ULP))
        slack = self.apply("fadd", self.apply("fadd", r, bend), _ONE)
        slack = self.apply("fmul", slack, literal(2.0 * _LIBRARY))
        s, c = self.call("llvm.sin.f64", m), self.call("llvm.cos.f64", m)
        found = []
        for value, other in ((s, c), (c, s)):
            reach = self.apply("fadd", self.apply("fmul", self.call("llvm.fabs.f64", other), r), slack)
            down = self.apply("fmul", self.greater(value, _ZERO), bend)
            up = self.apply("fmul", self.greater(self.negative(value), _ZERO), bend)
            lo = self.apply("fsub", self.apply("fsub", value, down), reach)
            hi = self.apply("fadd", self.apply("fadd", value, up), reach)
            found.append(self.unknown_if(self.unbounded(x), self.outward(lo, hi, least=-1.0, most=1.0)))
        return found[0], found[1]

    def power(self, x: Interval, exponent: float) -> Interval:
        """Return x to a constant power; one that is not whole needs an x that is not below zero."""
        if exponent == 0.0:
            return ONE
        if exponent < 0.0:
            return self.inverse(self.power(x, -exponent))
        whole = exponent == round(exponent) and exponent < 2.0**53
        even = whole and exponent % 2.0 == 0.0
        base = self.magnitude(x) if even else x
        lo, hi = (self.call("llvm.pow.f64", bound, literal(exponent)) for bound in base[:2])
        positive = even or x.positive or not whole
        y = self.outward(lo, hi, _LIBRARY, least=0.0 if positive else -inf)
        return y if whole else self.within(x, 0.0, inf, y)
