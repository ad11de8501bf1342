"""Responses, margins, poles and zeros of linear systems in several hundred digits, and whether a result agrees.

A system of doubles is taken as exact. Its transfer function is a ratio of two polynomials, which are computed from a
Hessenberg form with so many digits that no cancellation matters. Crossings are the real roots of polynomials in ω (in
discrete time in tan(ωT/2)), isolated by Descartes' rule of signs in exact integers: none is missed.
"""

from __future__ import annotations

import itertools
import math
import re
import warnings
from dataclasses import replace

import mpmath as mp
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from impinge import bode, margins, nyquist, poles_and_zeros, root_locus
from impinge.errors import ImpingeWarning, InputError


def characteristic(rows):
    """Coefficients of det(s − A), highest first, by elimination to Hessenberg form and La Budde's recursion."""
    h, n = [list(row) for row in rows], len(rows)
    for k in range(n - 2):
        pivot = max(range(k + 1, n), key=lambda i: abs(h[i][k]))
        if not h[pivot][k]:
            continue
        h[k + 1], h[pivot] = h[pivot], h[k + 1]
        for row in h:
            row[k + 1], row[pivot] = row[pivot], row[k + 1]
        for i in range(k + 2, n):
            if not h[i][k]:
                continue
            factor = h[i][k] / h[k + 1][k]
            for j in range(k, n):
                if h[k + 1][j]:
                    h[i][j] -= factor * h[k + 1][j]
            for row in h:
                if row[i]:
                    row[k + 1] += factor * row[i]
    known = [[mp.mpf(1)]]
    for k in range(n):
        new = [*known[k], mp.mpf(0)]
        product = mp.mpf(1)
        for i in range(k, -1, -1):
            if i < k:
                product *= h[i + 1][i]
            weight = h[i][k] * product
            if weight:
                shift = len(new) - len(known[i])
                for j, value in enumerate(known[i]):
                    new[shift + j] -= weight * value
        known.append(new)
    return known[n]


def horner(coefficients, x):
    value = mp.mpf(0)
    for coefficient in coefficients:
        value = value * x + coefficient
    return value


def times(one, two):
    found = [mp.mpf(0)] * (len(one) + len(two) - 1)
    for i, x in enumerate(one):
        if x:
            for j, y in enumerate(two):
                found[i + j] += x * y
    return found


def slope(coefficients):
    n = len(coefficients) - 1
    return [c * (n - i) for i, c in enumerate(coefficients[:-1])] or [mp.mpf(0)]


def combined(one, two, sign):
    n = max(len(one), len(two))
    one, two = ([mp.mpf(0)] * (n - len(p)) + list(p) for p in (one, two))
    return [x + sign * y for x, y in zip(one, two, strict=True)]


def positive_roots(coefficients):
    """The positive roots of odd multiplicity of a real polynomial, highest coefficient first."""
    if not any(coefficients):
        return []
    exact = list(coefficients)
    while not exact[0]:
        exact.pop(0)
    while not exact[-1]:
        exact.pop()
    if len(exact) == 1:
        return []
    low = min(mp.frexp(c)[1] for c in exact if c)
    whole = [int(mp.ldexp(c, 700 - low)) for c in exact]
    intervals = _isolated(whole[::-1])  # in (0, 1), ascending coefficients
    intervals += [(1 / b, 1 / a if a else mp.inf) for a, b in _isolated(whole)]
    if sum(whole) == 0:
        intervals.append((mp.mpf(1), mp.mpf(1)))
    bound = 1 + max(abs(c / exact[0]) for c in exact)
    least = 1 / (1 + max(abs(c / exact[-1]) for c in exact))
    return sorted(_refined(exact, max(a, least), min(b, bound)) for a, b in intervals)


def _variations(values):
    return sum(x != y for x, y in itertools.pairwise(v > 0 for v in values if v))


def _shifted(p):
    p = list(p)
    for i in range(len(p) - 1):
        for j in range(len(p) - 2, i - 1, -1):
            p[j] += p[j + 1]
    return p


def _isolated(p):
    """Intervals of (0, 1) with one root each, for integer coefficients, lowest first."""
    found, stack, n = [], [(p, 0, 0)], len(p) - 1
    while stack:
        p, at, depth = stack.pop()
        count = _variations(_shifted(p[::-1]))
        if count == 1:
            found.append((mp.mpf(at) / 2**depth, mp.mpf(at + 1) / 2**depth))
        elif count > 1 and depth < 300:  # deeper than that roots are taken for double
            left = [c << (n - k) for k, c in enumerate(p)]
            right = _shifted(left)
            if right[0] == 0:
                middle = mp.mpf(2 * at + 1) / 2 ** (depth + 1)
                found.append((middle, middle))
            stack += [(left, 2 * at, depth + 1), (right, 2 * at + 1, depth + 1)]
    return found


def _refined(p, low, high):
    if low == high:
        return low
    sign = mp.sign(horner(p, high)) or -mp.sign(horner(p, (low + high) / 2))
    derivative = slope(p)
    for k in range(60):
        middle = mp.sqrt(low * high) if k % 3 else (low + high) / 2
        low, high = (low, middle) if mp.sign(horner(p, middle)) == sign else (middle, high)
    x = (low + high) / 2
    for _ in range(400):  # Newton's method, kept inside the interval
        if mp.sign(horner(p, x)) == sign:
            high = x
        else:
            low = x
        step = horner(p, x) / (horner(derivative, x) or 1)
        new = x - step if low < x - step < high else (low + high) / 2
        if abs(new - x) <= abs(new) * mp.mpf(10) ** -70:
            return new
        x = new
    return x


class Exact:
    """The transfer function of a state-space model of doubles: polynomials in s, in discrete time in δ = z − 1."""

    def __init__(self, system, digits=None):
        a, b, c, d = system.A, system.B[:, 0], system.C[0], float(system.D[0, 0])
        n = len(a)
        self.period = float(system.dt) if system.isdtime(strict=True) else 0.0
        self.digits = digits or 120 + 8 * n
        with mp.workdps(self.digits):
            rows = [[mp.mpf(x) - (i == j and self.period > 0) for j, x in enumerate(a[i].tolist())] for i in range(n)]
            force, view = [mp.mpf(x) for x in b.tolist()], [mp.mpf(x) for x in c.tolist()]
            closed = [[rows[i][j] - force[i] * view[j] for j in range(n)] for i in range(n)]
            a = a - np.eye(n) if self.period else a
            size = max([1e-300, *np.abs(np.linalg.eigvals(a)), *np.abs(np.linalg.eigvals(a - np.outer(b, c)))])
            # A coefficient that is nothing but rounding is zero.
            least = [mp.mpf(size) ** k * mp.mpf(10) ** (-0.6 * self.digits) for k in range(n + 1)]
            self.den = [x if abs(x) > low else mp.mpf(0) for x, low in zip(characteristic(rows), least, strict=True)]
            num = combined(characteristic(closed), self.den, -1)
            num = [x if abs(x) > low else mp.mpf(0) for x, low in zip(num, least, strict=True)]
            self.num = combined(num, [mp.mpf(d) * x for x in self.den], 1)
            while len(self.num) > 1 and not self.num[0]:
                self.num.pop(0)

    def __call__(self, w):
        """The value at a frequency that is a double."""
        with mp.workdps(self.digits):
            s = mp.expj(mp.mpf(w) * mp.mpf(self.period)) - 1 if self.period else mp.mpc(0, w)
            return horner(self.num, s) / horner(self.den, s)

    def roots(self, which, guesses):
        """The roots of numerator or denominator by Aberth's iteration, in 60 digits, near guesses that are good."""
        with mp.workdps(self.digits):
            p = list(getattr(self, which))
            at_origin = 0
            while len(p) > 1 and not p[-1]:
                p.pop()
                at_origin += 1
            degree = len(p) - 1
            dp = slope(p)
            scale = abs(p[-1] / p[0]) ** (mp.mpf(1) / max(degree, 1)) if degree else mp.mpf(1)
            origin = 1 if self.period else 0
            guesses = sorted((complex(g - origin) for g in guesses if g - origin != 0 and np.isfinite(g)), key=abs)[
                :degree
            ]
            z = [mp.mpc(g) * (1 + mp.mpf("1e-9") * mp.expj(k)) for k, g in enumerate(guesses)]
            z += [scale * mp.expj(1 + 2.4 * k) for k in range(degree - len(z))]
            small = mp.mpf(10) ** -60
            active = list(range(degree))
            for _ in range(300):
                moving = []
                for i in active:
                    value, change = horner(p, z[i]), horner(dp, z[i])
                    if not value:
                        continue
                    ratio = change / value
                    step = 1 / (ratio - sum(1 / (z[i] - z[j]) for j in range(degree) if j != i and z[j] != z[i]))
                    z[i] -= step
                    if abs(step) > small * abs(z[i]):
                        moving.append(i)
                active = moving
                if not active:
                    break
            return [mp.mpc(origin)] * at_origin + [x + origin for x in z]

    def _on_axis(self):
        """Numerator and denominator as polynomials (real part, imaginary part) of t on the border of stability."""
        n = len(self.den) - 1
        num = [mp.mpf(0)] * (n + 1 - len(self.num)) + self.num
        found = []
        for p in (num, self.den):
            if self.period:  # δ = 2 s/(1 − s), s = jt
                q = [mp.mpf(0)]
                for k, coefficient in enumerate(p):
                    term = [coefficient]
                    for _ in range(n - k):
                        term = times(term, [mp.mpf(2), mp.mpf(0)])
                    for _ in range(k):
                        term = times(term, [mp.mpf(-1), mp.mpf(1)])
                    q = combined(q, term, 1)
                p = q
            degree = len(p) - 1
            real = [c * (-1) ** ((degree - i) // 2) if (degree - i) % 2 == 0 else mp.mpf(0) for i, c in enumerate(p)]
            imag = [c * (-1) ** ((degree - i) // 2) if (degree - i) % 2 == 1 else mp.mpf(0) for i, c in enumerate(p)]
            found.append((real, imag))
        return found

    def margins(self):
        """Crossings (ω, factor), crossovers (ω, angle) and the modulus."""
        with mp.workdps(self.digits):
            (a, b), (c, d) = self._on_axis()

            def frequency(t):
                return 2 * mp.atan(t) / mp.mpf(self.period) if self.period else t

            def value(t):
                return mp.mpc(horner(a, t), horner(b, t)) / mp.mpc(horner(c, t), horner(d, t))

            across = combined(times(b, c), times(a, d), -1)
            gain = [(frequency(t), -1 / value(t).real) for t in positive_roots(across) if value(t).real < 0]
            size = combined(times(a, a), times(b, b), 1), combined(times(c, c), times(d, d), 1)
            turns = [(frequency(t), mp.arg(value(t))) for t in positive_roots(combined(*size, -1))]
            both = combined(a, c, 1), combined(b, d, 1)
            top = combined(times(both[0], both[0]), times(both[1], both[1]), 1)
            still = combined(times(slope(top), size[1]), times(top, slope(size[1])), -1)
            # Through a pole on the border of stability the slope changes its sign as well.
            distances = [abs(1 + value(t)) for t in positive_roots(still) if horner(size[1], t)]
            if c[-1] or d[-1]:
                end = value(mp.mpf(0)).real
                distances.append(abs(1 + end))
                gain += [(mp.mpf(0), -1 / end)] if end < 0 else []
            if c[0] or d[0]:
                end = mp.mpc(a[0], b[0]) / mp.mpc(c[0], d[0])
                distances.append(abs(1 + end))
                last = mp.pi / mp.mpf(self.period) if self.period else mp.inf
                gain += [(last, -1 / end.real)] if end.real < 0 else []
            # A zero on the border of stability is passed with both signs of next to nothing.
            return sorted((w, k) for w, k in gain if k < mp.mpf(10) ** (0.45 * self.digits)), turns, min(distances)

    def closed_poles(self, guesses):
        """The roots of numerator plus denominator."""
        with mp.workdps(self.digits):
            self.sum = combined(self.num, self.den, 1)
        return self.roots("sum", guesses)


def silent(function, *arguments):
    """The result of a function, and whether it warned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = function(*arguments)
    assert all(issubclass(one.category, ImpingeWarning) for one in caught), [str(one.message) for one in caught]
    return found, bool(caught)


def off(value, truth, trust):
    """Whether a number is farther from the truth than a part of itself."""
    if math.isinf(value) or mp.isinf(truth):
        return not (math.isinf(value) and mp.isinf(truth))
    return bool(abs(mp.mpf(value) - truth) > mp.mpf(trust) * abs(mp.mpf(value)))


def matched(values, trust, truth):
    """Whether every value has an exact root of its own within its trust; and the exact roots that none of them has."""
    near = np.array(
        [[float(abs(mp.mpc(complex(v)) - z)) <= r for z in truth] for v, r in zip(values, trust, strict=True)]
    )
    if not len(values):
        return True, list(truth)
    if not truth:
        return False, []
    pairs = maximum_bipartite_matching(csr_array(near.astype(int)), perm_type="column")
    return bool((pairs >= 0).all()), [z for i, z in enumerate(truth) if i not in set(pairs.tolist())]


def wrong_response(system, exact, count=30):
    """What is silently wrong with a frequency response, in words."""
    found, _ = silent(bode, system)
    order = np.argsort(found.trust)
    chosen = {*np.linspace(0, len(order) - 1, count).astype(int).tolist(), *order[:3].tolist(), *order[-3:].tolist()}
    faults = []
    for i in sorted(chosen):
        truth, trust = exact(found.frequency[i]), found.trust[i]
        if trust >= 1:
            continue
        if abs(mp.mpf(found.magnitude[i]) - abs(truth)) > trust * abs(mp.mpf(found.magnitude[i])):
            faults.append(f"magnitude at {found.frequency[i]:.6g}: {found.magnitude[i]} for {mp.nstr(abs(truth), 17)}")
        turn = (found.phase[i] - math.degrees(float(mp.arg(truth))) + 180) % 360 - 180
        if abs(math.radians(turn)) > trust + 1e-15 * abs(found.phase[i]):
            faults.append(f"phase at {found.frequency[i]:.6g}: off by {turn}° of {found.phase[i]}")
    return faults


def wrong_roots(system, exact):
    """What is silently wrong with poles and zeros, in words."""
    found, _ = silent(poles_and_zeros, system)
    faults = []
    fits, missed = matched(found.poles, found.pole_trust, exact.roots("den", found.poles))
    if not fits or missed:
        faults.append(f"poles {found.poles} ± {found.pole_trust} miss {[mp.nstr(z, 12) for z in missed]}")
    truth = exact.roots("num", found.zeros) if any(exact.num) else []
    fits, missed = matched(found.zeros, found.zero_trust, truth)
    origin = 1 if exact.period else 0
    if any(exact.num) and (not fits or any(abs(z - origin) < found.horizon for z in missed)):
        faults.append(f"zeros {found.zeros} ± {found.zero_trust} miss {[mp.nstr(z, 12) for z in missed]}")
    return faults


def wrong_gain(system, exact):
    """What is silently wrong with the gain of zeros and poles, in words."""
    found, _ = silent(poles_and_zeros, system)
    degree = len(found.remaining_poles) - len(found.remaining_zeros)
    with mp.workdps(exact.digits):
        num = [mp.mpf(0)] * (len(exact.den) - len(exact.num)) + exact.num
        truth = num[degree] / exact.den[0]
        above = [abs(x / exact.den[0]) for x in num[:degree] if x]
        # What is left out above it belongs to zeros beyond the horizon.
        if any(x * mp.mpf(found.horizon) ** (degree - k) > 2 * abs(truth) for k, x in enumerate(above)):
            return [f"leading coefficients {[mp.nstr(x, 5) for x in num[: degree + 1]]} with horizon {found.horizon}"]
        wrong = off(found.gain, truth, found.gain_trust + 1e-16)
        return [f"gain {found.gain} for {mp.nstr(truth, 17)}"] if wrong else []


def wrong_locus(system, exact, gains):
    """What is silently wrong with closed-loop poles for some gains, in words."""
    try:
        found, _ = silent(root_locus, system, gains)
    except InputError:
        return []  # a pure gain, or a loop without a solution
    channel, _ = silent(poles_and_zeros, system)
    hidden = [c.pole for c in channel.cancellations]
    faults = []
    for gain, values, trust in zip(gains, found.poles, found.trust, strict=True):
        with mp.workdps(exact.digits):
            exact.some = combined([mp.mpf(gain) * x for x in exact.num], exact.den, 1)
        truth = exact.roots("some", [*values, *hidden])
        fits, missed = matched(values, trust, truth)
        missed = [z for z in missed if not any(abs(z - p) <= 1e-6 * (1 + abs(p)) for p in hidden)]
        if not fits or missed:
            faults.append(f"at gain {gain:g} poles {values} ± {trust} miss {[mp.nstr(z, 12) for z in missed]}")
    return faults


def wrong_margins(system, exact):
    """What is silently wrong with margins and Nyquist's verdict, in words; and whether doubts were said."""
    found, warned = silent(margins, system)
    curve, _ = silent(nyquist, system)
    truth = exact.closed_poles(curve.closed_poles)
    trust = curve.closed_trust + (np.finfo(float).eps if exact.period else 0.0)
    faults = []
    fits, missed = matched(curve.closed_poles, trust, truth)
    channel, _ = silent(poles_and_zeros, system)
    hidden = [
        (c.pole, r)
        for c in channel.cancellations
        for p, r in zip(channel.poles, channel.pole_trust, strict=True)
        if p == c.pole
    ]
    missed = [z for z in missed if not any(abs(z - p) <= r + 1e-9 * abs(p) for p, r in hidden)]
    if not fits or missed:
        faults.append(f"closed poles {curve.closed_poles} ± {trust} miss {[mp.nstr(z, 12) for z in missed]}")
    with mp.workdps(exact.digits):
        worst = max((abs(z) - 1 if exact.period else z.real for z in truth), default=mp.mpf(-1))
    if (worst < 0) != found.stable and not found.doubts:
        faults.append(f"stable {found.stable}, but the last pole is at {mp.nstr(worst, 10)}")
    if found.stable != curve.stable:
        faults.append("margins and nyquist differ")
    gain, turns, modulus = exact.margins()
    # Factors that are said not to be resolved are not compared.
    blind = [(0.0, float(x)) for x in re.findall(r"below (\S+) are not", "; ".join(found.doubts))]
    blind += [(float(x), math.inf) for x in re.findall(r"above (\S+) are not", "; ".join(found.doubts))]
    blind += [(float(x), float(y)) for x, y in re.findall(r"from (\S+) to (\S+) are not", "; ".join(found.doubts))]
    gain = [(w, k) for w, k in gain if not any(0.9 * x <= k <= 1.1 * y for x, y in blind)]
    seen = tuple(one for one in found.gain if not any(0.9 * x <= one[1] <= 1.1 * y for x, y in blind))
    found = replace(found, gain=seen)
    level = any(x <= 1 <= y for x, y in blind)
    # Doubts about closed-loop poles, or about how well a number is known, leave crossings to be compared.
    vague = any("not resolved" not in doubt for doubt in found.doubts)
    hidden = any("mode at" in doubt for doubt in found.doubts)
    if not hidden:
        faults += _wrong_lists(found, gain, None if level else turns)
        if found.stable and not level:
            faults += _wrong_numbers(found, exact, gain, turns, modulus)
    doubted = warned or level or vague
    return faults, doubted


def _wrong_lists(found, gain, turns):
    crossovers = () if turns is None else found.crossovers
    turns = turns or []
    if len(found.gain) != len(gain) or len(crossovers) != len(turns):
        shown = [(mp.nstr(w, 9), mp.nstr(k, 9)) for w, k in gain], [mp.nstr(w, 9) for w, _ in turns]
        return [f"crossings {found.gain} {crossovers} for {shown}"]
    faults = [
        f"crossing {one} for {mp.nstr(w, 17)}, {mp.nstr(k, 17)}"
        for one, (w, k) in zip(found.gain, gain, strict=True)
        if off(one[0], w, found.trust["gain"]) or off(one[1], k, found.trust["gain"])
    ]
    return faults + [
        f"crossover {one} for {mp.nstr(w, 17)}"
        for one, (w, _) in zip(crossovers, turns, strict=True)
        if off(one, w, found.trust["crossovers"])
    ]


def _wrong_numbers(found, exact, gain, turns, modulus):
    with mp.workdps(60):
        lags = [((angle + mp.pi) % (2 * mp.pi)) / w for w, angle in turns]
        if not exact.period and len(exact.num) == len(exact.den) and abs(exact.num[0]) >= 1:
            lags.append(mp.mpf(0))
        truths = {
            "gain_up": min((k for _, k in gain if k > 1), default=mp.mpf(found.gain_up)),
            "gain_down": max((k for _, k in gain if k < 1), default=mp.mpf(found.gain_down)),
            "phase": min((180 - abs(mp.degrees(angle)) for _, angle in turns), default=mp.inf),
            "delay": min(lags, default=mp.inf),
            "modulus": modulus,
        }
        return [
            f"{name} {getattr(found, name)} for {mp.nstr(truth, 17)}, trust {found.trust[name]:.1e}"
            for name, truth in truths.items()
            if off(getattr(found, name), truth, found.trust[name])
        ]
