"""The result of a run: signals by name, events with both sides, and a certificate."""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from impinge.errors import unknown_name
from impinge.simulation.results.certificate import Certificate, said

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FloatArray = NDArray[np.float64]


def hermite(t: FloatArray, y: FloatArray, rate: FloatArray, k: int) -> Polynomial:
    """Return the cubic in t − t[k] through values and rates of rows k and k + 1."""
    h = float(t[k + 1] - t[k])
    slope = (y[k + 1] - y[k]) / h
    cubic = (rate[k] + rate[k + 1] - 2 * slope) / h**2
    return Polynomial([y[k], rate[k], (3 * slope - 2 * rate[k] - rate[k + 1]) / h, cubic])


def _where(chosen: NDArray[np.bool_]) -> list[int]:
    return [int(k) for k in np.flatnonzero(chosen)]


def _root(p: Polynomial, length: float) -> float:
    """Return a root of a polynomial that changes sign between 0 and a length, by bisection."""
    low, high, sign = 0.0, float(length), p(0.0) > 0
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if (p(middle) > 0) == sign else (low, middle)
    return 0.5 * (low + high)


@dataclass(frozen=True)
class Event:
    """A contact that changed its mode, or was struck (then both modes may be the same).

    Attributes:
        time: s.
        contact: its name.
        before, after: mode names on both sides of the instant.
        impulse: what the contact delivered since its previous event, N·s (N·m·s if its gap is an angle).
        row: index of the result's row just before; ``row + 1`` is just after.
        impact: what it delivered at this very instant, at which velocities jumped; 0 if they did not.
        halt: length of the impulse along its slips that stopped them at this very instant, N·s, if the contact never
            slides and closed under a compliant law; else 0.
    """

    time: float
    contact: str
    before: str
    after: str
    impulse: float
    row: int
    impact: float = 0.0
    halt: float = 0.0


@dataclass(frozen=True, repr=False)
class Result:
    """Signals over time. ``result["q"]`` is a signal, ``result.t`` the time.

    At an event, two rows share one time: the state before and after. Signals, for a coordinate ``x``,
    a contact ``c`` and a constraint ``h``: ``x``, ``x_dot``, ``gap_c``, ``gap_c_dot``, ``force_c``, ``mode_c``
    (index into ``modes["c"]``), ``impulse_c``, ``residual_h``, ``force_h``; for a contact with sliding directions
    ``slip_c``, ``slip_c_dot`` and ``friction_c`` (numbered ``slip_c_1`` … if there are several), for a surface that
    ends ``extent_c``; inputs and outputs by their names;
    ``energy_kinetic``, ``energy_potential``, ``work_applied``, ``work_damping``, ``work_time``,
    ``work_constraints``, ``work_contacts``.

    Attributes:
        units, kinds: for each signal, its unit and what it is: coordinate, velocity, gap, force, input, ...
        modes, closed: for each contact, the names of its law's modes and whether it is closed in them.
        laws: for each contact, the name of its law.
        event_table: what ``events`` are made of, n × 8: time, contact and its modes before and after as indices,
            impulse, row, impact, halt.
        ok: whether the run reached its end; if not, ``reason`` says why and the rest is what there is. Whether it kept
            its promises is ``certificate.ok``.
        steps: start and length of every accepted step, n × 2.
        tolerance: absolute tolerance of the integration; smaller motion is not resolved.
    """

    model: str
    t: FloatArray
    signals: Mapping[str, FloatArray]
    units: Mapping[str, str]
    kinds: Mapping[str, str]
    laws: Mapping[str, str]
    modes: Mapping[str, tuple[str, ...]]
    closed: Mapping[str, tuple[bool, ...]]
    event_table: FloatArray
    steps: FloatArray
    certificate: Certificate
    tolerance: float
    ok: bool
    reason: str

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """The events in order of time; they are made when they are asked for first."""
        names, modes = list(self.modes), list(self.modes.values())
        found = []
        for time, c, before, after, impulse, row, impact, halt in self.event_table.tolist():
            contact = int(c)
            of = modes[contact]
            found.append(Event(time, names[contact], of[int(before)], of[int(after)], impulse, int(row), impact, halt))
        return tuple(found)

    def __contains__(self, name: object) -> bool:
        return name in self.signals

    def __getitem__(self, name: str) -> FloatArray:
        if name not in self.signals:
            raise unknown_name(f"result of model '{self.model}'", "signal", name, self.signals)
        return self.signals[name]

    def mode(self, contact: str, row: int = -1) -> str:
        """Return the name of a contact's mode in a row, the last one by default."""
        return self._modes(contact)[int(self.mode_index(contact)[row])]

    def mode_index(self, contact: str) -> FloatArray:
        """Return, for every row, the index of a contact's mode among ``modes``."""
        self._modes(contact)
        return self[f"mode_{contact}"]

    def times(self, contact: str, before: str | None = None, after: str | None = None) -> list[float]:
        """Return the times of a contact's events, optionally only those from or to a mode."""
        known = self._modes(contact)
        for mode in (before, after):
            if mode is not None and mode not in known:
                raise unknown_name(f"contact '{contact}' of model '{self.model}'", "mode", mode, known)
        mine = [event for event in self.events if event.contact == contact]
        return [event.time for event in mine if before in (None, event.before) and after in (None, event.after)]

    def touchdowns(self, contact: str) -> list[float]:
        """Return the times at which a contact closes; an impact after which it is open again is one of them."""
        return self._changes(contact, closes=True)

    def liftoffs(self, contact: str) -> list[float]:
        """Return the times at which a contact opens; an impact that it does not stay closed after is one of them."""
        return self._changes(contact, closes=False)

    def impacts(self, contact: str) -> tuple[FloatArray, FloatArray]:
        """Return times (s) and impulses (N·s, or N·m·s) of the impacts in which a contact took part.

        Only rigid laws that are simulated event by event have impacts, at which velocities jump. Elsewhere one is a
        touchdown and a liftoff, and the impulse is that of the event at which the contact opens.
        """
        self._modes(contact)
        mine = [(e.time, e.impact) for e in self.events if e.contact == contact and e.impact > 0.0]
        return np.array([time for time, _ in mine]), np.array([impulse for _, impulse in mine])

    def is_closed(self, contact: str) -> NDArray[np.bool_]:
        """Return, for every row, whether a contact is closed."""
        modes = self.mode_index(contact).astype(int)
        return np.array(self.closed[contact])[modes]

    def _modes(self, contact: str) -> tuple[str, ...]:
        if contact not in self.modes:
            raise unknown_name(f"result of model '{self.model}'", "contact", contact, self.modes)
        return self.modes[contact]

    def _changes(self, contact: str, closes: bool) -> list[float]:
        closed = dict(zip(self._modes(contact), self.closed[contact], strict=True))
        return [
            e.time
            for e in self.events
            if e.contact == contact
            and (
                (closed[e.before] != closed[e.after] and closed[e.after] == closes)
                or (max(e.impact, e.halt) > 0.0 and not closed[e.before] and not closed[e.after])
            )
        ]

    def crossings(
        self, name: str, level: float = 0.0, direction: int = 0, where: NDArray[np.bool_] | None = None
    ) -> FloatArray:
        """Return the times at which a signal with a recorded rate crosses a level.

        Between rows the signal is the cubic through its values and its rates ``{name}_dot``. It has crossed
        when it is beyond the level by more than the run's own tolerance; less is rounding.

        Args:
            name: a coordinate or a gap.
            level: what it crosses.
            direction: +1 upwards, −1 downwards, 0 both.
            where: rows that may begin an interval to look at.
        """
        y, rate, times = self[name] - level, self[f"{name}_dot"], []
        clear = _where(np.abs(y) > self.tolerance)
        for first, last in itertools.pairwise(clear):
            if (y[first] > 0) == (y[last] > 0) or direction * y[last] < 0:
                continue
            k = first + int(np.argmax((y[first + 1 : last + 1] > 0) == (y[last] > 0)))
            if where is None or where[k]:
                h = self.t[k + 1] - self.t[k]
                times.append(self.t[k] + (_root(hermite(self.t, y, rate, k), h) if h > 0 else 0.0))
        return np.array(times)

    def maxima(self, name: str) -> tuple[FloatArray, FloatArray]:
        """Return times and values of the local maxima of a signal with a recorded rate (cubic between rows)."""
        y, rate = self[name], self[f"{name}_dot"]
        times, values = [], []
        for k in _where((rate[:-1] > 0) & (rate[1:] <= 0) & (np.diff(self.t) > 0)):
            cubic = hermite(self.t, y, rate, k)
            top = _root(cubic.deriv(), self.t[k + 1] - self.t[k])
            times.append(self.t[k] + top)
            values.append(cubic(top))
        return np.array(times), np.array(values)

    def mean_step(self, start: float, end: float) -> float:
        """Return the mean length of the accepted steps that lie at least partly between two times, s."""
        begins, lengths = self.steps[:, 0], self.steps[:, 1]
        inside = (begins < end) & (begins + lengths > start)
        return float(lengths[inside].mean()) if inside.any() else float("nan")

    def to_pandas(self) -> pd.DataFrame:
        """Return the signals as a table indexed by time; units are in ``.attrs["units"]``."""
        import pandas as pd

        frame = pd.DataFrame(dict(self.signals), index=pd.Index(self.t, name="t"))
        frame.attrs["units"] = dict(self.units)
        return frame

    def plot(self) -> Figure:
        """Draw coordinates, gaps, forces, modes and inputs over time."""
        from impinge.simulation.results.plot import overview

        return overview(self)

    def save(self, folder: str | Path) -> Path:
        """Write ``trajectory.csv``, ``events.csv`` and ``certificate.json`` into a folder and return it."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        self.write_tables(path)
        (path / "certificate.json").write_text(json.dumps(self.certificate.to_dict(), indent=2) + "\n")
        return path

    def write_tables(self, path: Path) -> None:
        """Write ``trajectory.csv`` and ``events.csv`` into an existing folder."""
        with (path / "trajectory.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["t", *self.signals])
            writer.writerows(np.column_stack([self.t, *self.signals.values()]).tolist())
        with (path / "events.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["time", "contact", "before", "after", "impulse"])
            writer.writerows([e.time, e.contact, e.before, e.after, e.impulse] for e in self.events)

    def __str__(self) -> str:
        laws = " and ".join(dict.fromkeys(self.laws.values()))
        end = "reached its end" if self.ok else f"stopped early: {self.reason}"
        head = f"result of {self.model}{f' under {laws}' if laws else ''}: {self.t[-1]:g} s simulated"
        leaps = f", {self.certificate.leaps} steps over contacts" if self.certificate.leaps else ""
        lines = [
            f"{head}, {self.t.size} rows, {len(self.event_table)} events{leaps}, {end}",
            f"verdicts: {said(self.certificate.verdicts)}",
            *(f"  BROKEN  {verdict}" for verdict in self.certificate.broken),
        ]
        return "\n".join(lines)

    __repr__ = __str__

    def complaint(self) -> str:
        """Return what is to be said of a run that ended early or broke a promise; of others, nothing."""
        broken = "; ".join(map(str, self.certificate.broken))
        parts = [] if self.ok else [f"stopped early: {self.reason}"]
        parts += [f"broke {len(self.certificate.broken)} of its promises: {broken}"] if broken else []
        return f"the run of {self.model} {' and '.join(parts)}" if parts else ""
