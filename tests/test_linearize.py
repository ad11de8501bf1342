"""Linear models against finite differences of the simulator, against its runs, and against closed forms."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import control
import mechanisms
import models
import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

import impinge
from impinge import Adaptive, Baumgarte, ImpingeError, InputError, StartError, equilibrium, linearize, robots, simulate
from impinge.analysis.point import Point, closed_rows, in_mode, mode_indices, row_names
from impinge.compile import Struct
from impinge.model import Model
from impinge.robots.maze import RINGS
from impinge.simulation.dynamics import evaluate
from impinge.simulation.plant import FORCE, RATE, VALUE

G, BALL = 9.81, 6.35e-3
EXACT = 1e-6  # of every entry, down to
NOISE = 1e-9  # of the largest in its row
FINE = Adaptive(rtol=1e-12, atol=1e-14)


@dataclass(frozen=True)
class Case:
    """A point of a mechanism in a mode; ``size`` is how far a coordinate must go to make a difference."""

    model: Model = field(repr=False)
    mode: tuple[str, ...]
    point: Point
    size: np.ndarray
    input_size: float = 1.0
    law: object = field(default_factory=Baumgarte)
    stabilization: tuple[float, float] = (400.0, 40.0)
    off: bool = True  # whether forces have derivatives off the manifold too

    @property
    def closed(self) -> list[int]:
        return closed_rows(self.model, mode_indices(self.model, "", self.mode))

    def linear(self, **kwargs):
        return linearize(self.model, self.point, self.mode, law=self.law, stabilization=self.stabilization, **kwargs)


class Simulator:
    """The simulator's right-hand side and its signals in the mode of a case; slips keep their anchors."""

    def __init__(self, case: Case) -> None:
        self.case, self.model = case, case.model
        closed = mode_indices(case.model, "test", case.mode)
        self.plant, self.w = in_mode(case.model, case.point, closed, case.law, case.stabilization, "test")
        self.packed = Struct(self.plant), Struct(self.w)
        self.derivative = np.zeros(self.w.y.size)
        self.nq = len(case.model.coordinates)
        rows = row_names(case.model)
        self.outputs = [x.name for x in case.model.outputs]
        self.names = [f"{x.name}_ddot" for x in case.model.coordinates]
        self.names += [name for x in case.model.coordinates for name in (x.name, f"{x.name}_dot")] + self.outputs
        self.names += [name for value, force in rows for name in (value, f"{value}_dot", force)]
        self.accelerations, self.signals = slice(0, self.nq), slice(self.nq, None)

    def __call__(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        nq, w, t = self.nq, self.w, self.case.point.time
        w.y[: 2 * nq], w.u[:] = x, u
        evaluate(*self.packed, t, w.y, self.derivative)
        y = self.model.signals(x[:nq], x[nq:], t, u, self.plant.parameters)["y"]
        m = len(row_names(self.model))
        rows = w.rows[[VALUE, RATE, FORCE], :m].T.ravel()
        return np.concatenate([self.derivative[nq : 2 * nq], np.stack([x[:nq], x[nq:]], 1).ravel(), y, rows])

    def sizes(self) -> np.ndarray:
        """What every signal is the difference of: a sum of terms without their signs."""
        x = np.concatenate([self.case.point.q, self.case.point.v])
        values = np.abs(self(x, self.case.point.u))
        nv, m = self.nq, len(row_names(self.model))
        response = self.w.out[nv + 4 * m + 3 :][: nv * m].reshape((m, nv))
        force = np.abs(self.w.rows[FORCE, :m])
        values[self.accelerations] += np.abs(self.w.out[:nv]) + np.abs(response).T @ force
        for i in range(m):
            values[len(values) - 3 * m + 3 * i + 2] = force.max()
        return values


def extrapolated(f: Callable[[float], np.ndarray], h: float) -> np.ndarray:
    """The derivative at zero: central differences of three steps, extrapolated to sixth order."""
    D = [(f(step) - f(-step)) / (2 * step) for step in (h, h / 2, h / 4)]
    D = [(4 * D[1] - D[0]) / 3, (4 * D[2] - D[1]) / 3]
    return (16 * D[1] - D[0]) / 15


def agree(found, expected, weights, sizes):
    """Every entry within EXACT of itself or NOISE of what its row is made of, columns counted in their weights."""
    scaled = np.abs(expected) * weights
    floor = NOISE * (sizes[:, None] + scaled.max(axis=1, initial=0.0, keepdims=True))
    wrong = np.argwhere(np.abs(found - expected) * weights > EXACT * scaled + floor)
    assert not wrong.size, [(tuple(k), found[tuple(k)], expected[tuple(k)]) for k in wrong[:6]]


def steps_of(case: Case) -> tuple[np.ndarray, np.ndarray]:
    weights = np.concatenate([case.size, 5 * case.size, np.full(len(case.point.u), case.input_size)])
    return weights, 0.02 * weights


def check_stabilized(case: Case, columns=None) -> None:
    """All matrices of the stabilized form, for perturbations in all directions: off the manifold too."""
    simulator = Simulator(case)
    x, u = np.concatenate([case.point.q, case.point.v]), case.point.u
    weights, steps = steps_of(case)
    nx = x.size

    def along(k):
        e = np.eye(nx + u.size)[k]
        return lambda h: simulator(x + h * e[:nx], u + h * e[nx:])

    chosen = np.arange(nx + u.size) if columns is None else np.array(columns)
    expected = np.stack([extrapolated(along(k), steps[k]) for k in chosen], axis=1)
    names = simulator.names[simulator.signals]
    linear = case.linear(form="stabilized", outputs=names)
    found = np.block([[linear.A[nx // 2 :], linear.B[nx // 2 :]], [linear.C, linear.D]])[:, chosen]
    agree(found, expected, weights[chosen], simulator.sizes())
    assert np.array_equal(linear.A[: nx // 2], np.eye(nx)[nx // 2 :])
    assert not linear.B[: nx // 2].any()


def row_matrix(case: Case, q, v, u):
    """A, the values and the rates of the closed rows."""
    terms = case.model.terms(q, v, case.point.time, u, case.point.parameters)
    A = np.vstack([terms["H"], terms["J"], terms["T"]])[case.closed]
    value = np.concatenate([terms["h"], terms["gap"], terms["slip"]])[case.closed]
    rate = np.concatenate([terms["h_dot"], terms["gap_dot"], terms["slip_dot"]])[case.closed]
    return A, value, rate


def lifted(case: Case, kept: list[int], ξ: np.ndarray) -> np.ndarray:
    """The state on the manifold whose kept coordinates and velocities are moved by ξ."""
    q, v, u = case.point.q.copy(), case.point.v.copy(), case.point.u
    free = kept[: len(kept) // 2]
    rest = [k for k in range(q.size) if k not in free]
    target = row_matrix(case, q, v, u)[1]
    q[free] += ξ[: len(free)]
    v[free] += ξ[len(free) :]
    for _ in range(12):
        A, value, _ = row_matrix(case, q, v, u)
        q[rest] -= np.linalg.lstsq(A[:, rest], value - target, rcond=1e-9)[0]
    A, _, rate = row_matrix(case, q, v, u)
    v[rest] -= np.linalg.lstsq(A[:, rest], rate, rcond=1e-9)[0]
    return np.concatenate([q, v])


def check_reduced(case: Case) -> None:
    """All matrices of the reduced form, for perturbations along the manifold; and its number of states."""
    simulator = Simulator(case)
    names = simulator.names[simulator.signals]
    linear, whole = case.linear(outputs=names), case.linear(form="stabilized", outputs=names)
    labels, nx = whole.state_labels, len(whole.state_labels)
    kept = [labels.index(name) for name in linear.state_labels]
    rank = np.linalg.matrix_rank(row_matrix(case, case.point.q, case.point.v, case.point.u)[0], tol=1e-8)
    assert len(kept) == 2 * (nx // 2 - rank)
    assert [k + nx // 2 for k in kept[: len(kept) // 2]] == kept[len(kept) // 2 :]
    weights, steps = steps_of(case)
    n, u = len(kept), case.point.u
    chosen = np.array([*kept, *range(nx, nx + u.size)], dtype=int)

    def along(j):
        e = np.eye(n + u.size)[j]
        return lambda h: simulator(lifted(case, kept, h * e[:n]), u + h * e[n:])

    if not chosen.size:
        assert linear.A.size == 0
        return
    expected = np.stack([extrapolated(along(j), steps[k]) for j, k in enumerate(chosen)], axis=1)
    sizes = simulator.sizes()
    sizes[simulator.signals] += np.abs(np.hstack([whole.C, whole.D]) * weights).max(axis=1)
    sizes[simulator.accelerations] += np.abs(np.hstack([whole.A, whole.B]) * weights)[nx // 2 :].max(axis=1)
    signals = np.hstack([linear.C, linear.D])
    agree(signals, expected[simulator.signals], weights[chosen], sizes[simulator.signals])
    moving = kept[: n // 2]
    found = np.hstack([linear.A, linear.B])[n // 2 :]
    agree(found, expected[simulator.accelerations][moving], weights[chosen], sizes[simulator.accelerations][moving])
    assert np.array_equal(np.hstack([linear.A, linear.B])[: n // 2], np.eye(n + u.size)[n // 2 : n])


def moving(case: Case, wish: np.ndarray) -> Case:
    """The case with the velocity on the manifold that is nearest to a wish."""
    A, _, rate = row_matrix(case, case.point.q, wish, case.point.u)
    v = wish - np.linalg.lstsq(A, rate, rcond=1e-9)[0] if A.size else wish
    return replace(case, point=replace(case.point, v=v))


def holding(case: Case) -> Case:
    """The case, if its mode can hold there; else another one is drawn."""
    try:
        case.linear()
    except StartError as error:
        assume("to push" not in str(error))
        raise
    return case


# Random points.


def spread(middle: float, share: float):
    return st.floats(middle * (1 - share), middle * (1 + share))


def around(width: float):
    return st.floats(-width, width)


laws = st.builds(Baumgarte, a0=st.floats(1, 900), a1=st.floats(0, 60), a2=st.floats(0, 1e6), a3=st.floats(0, 1e4))
stabilizations = st.tuples(st.floats(1, 900), st.floats(1, 60))


def vectors(n: int, width: float):
    return st.lists(around(width), min_size=n, max_size=n).map(np.array)


def law_for(draw, model: Model):
    """One law for all contacts, or one for each."""
    return draw(laws) if draw(st.booleans()) else {contact: draw(laws) for contact in model.contacts}


@st.composite
def maze_points(draw, ring: int):
    """The ball rolling on a ring, somewhere on its upper side where it is pushed on."""
    model = mechanisms.maze()
    parameters = {
        "J_m": draw(spread(1e-3, 0.5)),
        "m_b": draw(spread(8.4e-3, 0.5)),
        "r_b": draw(spread(BALL, 0.1)),
        "g": draw(spread(G, 0.2)),
    }
    R = RINGS[ring - 1] + parameters["r_b"]
    θ = draw(around(0.6))
    turn = draw(around(0.5)) - θ + (0.0 if ring % 2 else np.pi / 2)  # the gate is elsewhere
    q = np.array([turn, R * np.sin(θ), R * np.cos(θ), draw(around(20.0))])
    point = Point(q, np.zeros(4), np.array([draw(around(0.02))]), parameters)
    case = Case(model, (f"ring{ring}",), point, np.array([0.5, R, R, 0.5]), 0.01, law_for(draw, model))
    v = draw(vectors(4, 1.0)) * np.array([3.0, np.sqrt(0.3 * G * R), np.sqrt(0.3 * G * R), 10.0])
    return holding(moving(case, v))


@st.composite
def four_bar_points(draw):
    model = mechanisms.four_bar()
    parameters = {name: draw(spread(value, 0.08)) for name, value in mechanisms.FOUR_BAR.items()}
    parameters["c"] = draw(st.floats(0, 1))
    q = np.array(list(mechanisms.four_bar_pose(draw(around(np.pi)), parameters).values()))
    point = Point(q, np.zeros(3), draw(vectors(2, 20.0)), parameters)
    case = Case(model, (), point, np.full(3, 0.3), 1.0, None, draw(stabilizations))
    return moving(case, draw(vectors(3, 5.0)))


@st.composite
def crank_points(draw):
    """The coupled cranks away from their dead centers; off the manifold their forces jump."""
    model = mechanisms.coupled_cranks()
    parameters = {"r": draw(spread(0.3, 0.3)), "d": draw(spread(0.5, 0.3)), "m": draw(spread(3.0, 0.5))}
    q = np.array(list(mechanisms.coupled_cranks_pose(draw(st.floats(0.4, 2.7)), parameters).values()))
    point = Point(q, np.zeros(6), draw(vectors(1, 20.0)), parameters)
    case = Case(model, (), point, np.full(6, 0.3), 1.0, None, draw(stabilizations), off=False)
    return moving(case, draw(vectors(6, 3.0)))


@st.composite
def beam_points(draw):
    """The beam on three supports; off the manifold, where it is tilted, the forces jump."""
    model = mechanisms.beam()
    parameters = {
        "A": draw(spread(0.5, 0.3)),
        "m": draw(spread(5.0, 0.5)),
        "e": draw(around(0.1)),
        "c": draw(spread(1, 1)),
    }
    u = np.array([draw(around(5.0)), draw(st.floats(0, 20))])
    point = Point(np.array([0.0, 0.0, draw(around(0.6))]), np.zeros(3), u, parameters)
    case = Case(model, ("left", "right", "roller"), point, np.full(3, 0.3), 1.0, law_for(draw, model), off=False)
    return holding(moving(case, draw(vectors(3, 2.0))))


@st.composite
def table_points(draw):
    model = models.table()
    point = Point(np.zeros(3), np.zeros(3), np.zeros(0))
    modes = st.sampled_from([("leg0", "leg1", "leg2", "leg3"), ("leg0", "leg3"), ("leg1", "leg2", "leg3"), ("leg2",)])
    return Case(model, draw(modes), point, np.full(3, 0.3), 1.0, law_for(draw, model))


@st.composite
def block_points(draw, sticking: bool, corners=None):
    """The block on one or both corners on a floor that moves; on both it slides, if it does not stick."""
    model = mechanisms.block(sticking)
    mode = draw(st.sampled_from([("left",), ("right",), ("left", "right"), ("left", "right", "wall")]))
    mode = mode if corners is None else corners
    parameters = {
        "a": draw(spread(0.2, 0.3)),
        "h": draw(spread(0.1, 0.3)),
        "m": draw(spread(2.0, 0.5)),
        "c": draw(st.floats(0, 3)),
        "f": draw(around(0.02)),
    }
    a, h, f = (parameters[name] for name in "ahf")
    time = draw(st.floats(0, 2))
    lean = {("left",): draw(st.floats(0, 0.5)), ("right",): -draw(st.floats(0, 0.5))}.get(mode, 0.0)
    side = {("left",): -1, ("right",): 1}.get(mode, 0)
    height = f * np.sin(5.0 * time) - side * a * np.sin(lean) + h * np.cos(lean)
    x = 1.0 - a if "wall" in mode else draw(around(0.5))
    u = np.array([draw(around(3.0)), draw(st.floats(0, 20))])
    point = Point(np.array([x, height, lean]), np.zeros(3), u, parameters, time)
    case = Case(model, mode, point, np.full(3, 0.1), 1.0, law_for(draw, model))
    return holding(moving(case, draw(vectors(3, 0.5))))


@st.composite
def track_points(draw):
    model = mechanisms.track()
    parameters = {
        "m": draw(spread(1.0, 0.5)),
        "c": draw(st.floats(0, 2)),
        "f": draw(around(0.02)),
        "k": draw(spread(1.5, 0.3)),
    }
    x, time = draw(around(0.8)), draw(st.floats(0, 2))
    z = parameters["k"] * x**2 / 2 - 0.2 * x**3 + parameters["f"] * np.sin(7.0 * time)
    point = Point(np.array([x, z]), np.zeros(2), draw(vectors(1, 3.0)), parameters, time)
    case = Case(model, ("floor",), point, np.full(2, 0.2), 1.0, law_for(draw, model))
    return holding(moving(case, draw(vectors(2, 1.0))))


@st.composite
def free_points(draw):
    """No row at all is closed: the pendulum in flight, far from its wall."""
    point = Point(draw(st.lists(around(0.4), min_size=1, max_size=1).map(np.array)), draw(vectors(1, 2.0)), np.zeros(0))
    return Case(models.pendulum(wall=True), (), point, np.full(1, 0.3), 1.0, draw(laws))


SMOOTH = {
    **{f"maze ring {ring}": maze_points(ring) for ring in (1, 2, 3, 4)},
    "four-bar": four_bar_points(),
    "table": table_points(),
    "block": block_points(sticking=False),
    "sticking block": block_points(sticking=True),
    "block stuck on both corners": block_points(sticking=True, corners=("left", "right")),
    "track": track_points(),
    "free": free_points(),
}
MECHANISMS = {**SMOOTH, "coupled cranks": crank_points(), "beam": beam_points()}
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)  # a smaller counterexample would not tell more
FEW = settings(max_examples=8, deadline=None, phases=PHASES)
MANY = settings(max_examples=400, deadline=None, phases=PHASES)


@pytest.mark.parametrize("mechanism", SMOOTH)
@FEW
@given(data=st.data())
def test_the_stabilized_model_is_the_derivative_of_the_simulator_in_all_directions(mechanism, data):
    check_stabilized(data.draw(SMOOTH[mechanism]))


@pytest.mark.parametrize("mechanism", MECHANISMS)
@FEW
@given(data=st.data())
def test_the_reduced_model_is_the_derivative_of_the_simulator_along_the_manifold(mechanism, data):
    check_reduced(data.draw(MECHANISMS[mechanism]))


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
@MANY
@given(data=st.data())
def test_both_forms_are_derivatives_of_the_simulator_at_many_points(mechanism, data):
    case = data.draw(MECHANISMS[mechanism])
    check_reduced(case)
    if case.off:
        check_stabilized(case)
