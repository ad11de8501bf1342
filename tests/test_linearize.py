"""Linear models against finite differences of the simulator, against its runs, and against closed forms."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import casadi as ca
import control
import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.optimize import linear_sum_assignment

import mechanisms
import models
from impinge import Adaptive, Baumgarte, ImpingeError, InputError, StartError, equilibrium, linearize, robots, simulate
from impinge.analysis.linear.mode import in_mode
from impinge.analysis.linear.point import Point, closed_rows, mode_indices, row_names
from impinge.compile import Struct
from impinge.contact import HuntCrossley, KelvinVoigt
from impinge.model import Model, ModelBuilder
from impinge.robots.maze import RINGS
from impinge.simulation.system.dynamics import evaluate
from impinge.simulation.system.plant import FORCE, RATE, VALUE

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
    jumps: tuple[str, ...] = ()  # signals of open contacts that jump there

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
        self.plant, self.w, *_ = in_mode(case.model, case.point, closed, case.law, case.stabilization, "test")
        self.packed = Struct(self.plant), Struct(self.w)
        self.derivative = np.zeros(self.w.y.size)
        self.nq = len(case.model.coordinates)
        rows = row_names(case.model)
        self.outputs = [x.name for x in case.model.outputs]
        self.names = [f"{x.name}_ddot" for x in case.model.coordinates]
        self.names += [name for x in case.model.coordinates for name in (x.name, f"{x.name}_dot")] + self.outputs
        self.names += [name for value, force in rows for name in (value, f"{value}_dot", force)]
        self.kept = [k for k, name in enumerate(self.names) if name not in case.jumps]
        self.names = [self.names[k] for k in self.kept]
        self.accelerations, self.signals = slice(0, self.nq), slice(self.nq, None)

    def __call__(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        return self.all_signals(x, u)[self.kept]

    def all_signals(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
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
        values = np.abs(self.all_signals(x, self.case.point.u))
        m = len(row_names(self.model))
        response = self.w.terms.response
        force = np.abs(self.w.rows[FORCE, :m])
        values[self.accelerations] += np.abs(self.w.terms.free) + np.abs(response).T @ force
        for i in range(m):
            values[len(values) - 3 * m + 3 * i + 2] = force.max()
        return values[self.kept]


def extrapolated(f: Callable[[float], np.ndarray], h: float) -> np.ndarray:
    """The derivative at zero: central differences of three steps, extrapolated to sixth order."""
    D = [(f(step) - f(-step)) / (2 * step) for step in (h, h / 2, h / 4)]
    D = [(4 * D[1] - D[0]) / 3, (4 * D[2] - D[1]) / 3]
    return (16 * D[1] - D[0]) / 15


def agree(found, expected, weights, sizes, exact=EXACT, noise=NOISE):
    """Every entry exact, up to noise in what its row is made of; columns counted in their weights."""
    scaled = np.abs(expected) * weights
    floor = noise * (sizes[:, None] + scaled.max(axis=1, initial=0.0, keepdims=True))
    wrong = np.argwhere(np.abs(found - expected) * weights > exact * scaled + floor)
    assert not wrong.size, [(tuple(k), found[tuple(k)], expected[tuple(k)]) for k in wrong[:6]]


def steps_of(case: Case) -> tuple[np.ndarray, np.ndarray]:
    weights = np.concatenate([case.size, 5 * case.size, np.full(len(case.point.u), case.input_size)])
    return weights, 0.005 * weights


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
    """The case, if its mode can hold there and all its forces have derivatives; else another one is drawn."""
    try:
        simulator = Simulator(case)
        case.linear(outputs=simulator.names[simulator.signals])
    except (StartError, InputError) as error:
        assume("to push" not in str(error) and "at their limits" not in str(error))
        raise
    return case


# Random points.


def spread(middle: float, share: float):
    return st.floats(middle * (1 - share), middle * (1 + share))


def around(width: float):
    return st.floats(-width, width).map(lambda x: round(x, 9))


laws = st.builds(Baumgarte, a0=st.floats(1, 900), a1=st.floats(0, 60), a2=st.floats(0, 1e6), a3=st.floats(0, 1e4))
TIMES = st.floats(0, 2)
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
    case = Case(
        model, (f"ring{ring}",), point, np.array([0.5, R, R, 0.5]), 0.01, law_for(draw, model), jumps=("slip_center",)
    )
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
def block_points(draw, sticking: bool, corners=None, times=TIMES):
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
    time = draw(times)
    lean = {("left",): draw(st.floats(0.05, 0.5)), ("right",): -draw(st.floats(0.05, 0.5))}.get(mode, 0.0)
    side = {("left",): -1, ("right",): 1}.get(mode, 0)
    height = f * np.sin(5.0 * time) - side * a * np.sin(lean) + h * np.cos(lean)
    x = 1.0 - a if "wall" in mode else draw(around(0.5))
    u = np.array([draw(around(3.0)), draw(st.floats(0, 20))])
    point = Point(np.array([x, height, lean]), np.zeros(3), u, parameters, time)
    case = Case(model, mode, point, np.full(3, 0.1), 1.0, law_for(draw, model))
    return holding(moving(case, draw(vectors(3, 0.5))))


@st.composite
def track_points(draw, times=TIMES):
    model = mechanisms.track()
    parameters = {
        "m": draw(spread(1.0, 0.5)),
        "c": draw(st.floats(0, 2)),
        "f": draw(around(0.02)),
        "k": draw(spread(1.5, 0.3)),
    }
    x, time = draw(around(0.8)), draw(times)
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
MANY = settings(max_examples=100, deadline=None, phases=PHASES)


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


# Where rows are redundant only on the manifold, the directions in which they stay so.


@FEW
@given(beam_points())
def test_a_beam_that_sinks_level_into_three_supports_follows_the_stabilized_model(case):
    check_stabilized(case, columns=[0, 2, 3, 5, 6, 7])


@FEW
@given(crank_points())
def test_the_inputs_of_a_redundant_chain_act_as_in_the_simulator(case):
    check_stabilized(case, columns=[5, 11, 12])  # the tilt of the rod keeps the rows redundant


# The simulator's own runs, seen from outside.

FORWARD = np.array([-137 / 60, 5.0, -5.0, 10 / 3, -5 / 4, 1 / 5])  # derivative at the first of six equidistant values


def run_of(case: Case, x, u, until, sample):
    """A run of `simulate` from a state on the manifold, with the contacts of the mode closed all the time."""
    model, nq = case.model, len(case.model.coordinates)
    A, _, before = row_matrix(case, x[:nq], x[nq:], u)
    gaps = [k for k, row in enumerate(case.closed) if model.row_slices[1].start <= row < model.row_slices[1].stop]
    # Rounding must not open a gap: start below, without a change of rates.
    q = x[:nq] - 1e-12 * np.linalg.pinv(A, rcond=1e-9)[:, gaps].sum(axis=1)
    A, _, rate = row_matrix(case, q, x[nq:], u)
    v = x[nq:] - np.linalg.pinv(A, rcond=1e-9) @ (rate - before)
    named = [c.name for c in model.coordinates]
    run = simulate(
        model,
        case.law,
        until=until,
        sample=sample,
        start=dict(zip([*named, *(f"{name}_dot" for name in named)], [*q, *v], strict=True)),
        inputs=dict(zip([i.name for i in model.inputs], u, strict=True)),
        parameters=case.point.parameters,
        stabilization=case.stabilization,
        method=FINE,
    )
    assert run.ok
    assert {name for name in model.contacts if run.is_closed(name)[1:].all()} == set(case.mode)
    return run


def check_runs(case: Case) -> None:
    """The reduced form against differences of short runs: forces at their start, slopes of their velocities."""
    names = [name for _, name in row_names(case.model)] + [x.name for x in case.model.outputs]
    linear, whole = case.linear(outputs=names), case.linear(form="stabilized", outputs=names)
    kept = [whole.state_labels.index(name) for name in linear.state_labels]
    weights, _ = steps_of(case)
    n, u = len(kept), case.point.u
    moving = linear.state_labels[n // 2 :]
    h = 2e-4

    def seen(x, u):
        run = run_of(case, x, u, 5 * h, h)
        rows = [int(np.flatnonzero(np.abs(run.t - k * h) < 1e-11)[-1]) for k in range(6)]  # the right side of an event
        return np.array([*(FORWARD @ run[name][rows] / h for name in moving), *(run[name][rows[0]] for name in names)])

    chosen = np.array([*kept, *range(len(whole.state_labels), len(weights))], dtype=int)
    expected = []
    for j, k in enumerate(chosen):
        e, step = np.eye(n + u.size)[j], 0.005 * weights[k]
        D = [
            (seen(lifted(case, kept, d * e[:n]), u + d * e[n:]) - seen(lifted(case, kept, -d * e[:n]), u - d * e[n:]))
            / (2 * d)
            for d in (step, step / 2)
        ]
        expected.append((4 * D[1] - D[0]) / 3)
    sizes = np.abs(seen(lifted(case, kept, np.zeros(n)), u)) + 1.0
    found = np.vstack([np.hstack([linear.A, linear.B])[n // 2 :], np.hstack([linear.C, linear.D])])
    agree(found, np.stack(expected, axis=1), weights[chosen], sizes, exact=1e-5, noise=1e-6)


NOW = st.just(0.0)
RUNS = {
    **{f"maze ring {ring}": maze_points(ring) for ring in (1, 2, 3, 4)},
    "four-bar": four_bar_points(),
    "block": block_points(sticking=False, corners=("left", "right"), times=NOW),
    "sticking block": block_points(sticking=True, corners=("left",), times=NOW),
    "track": track_points(times=NOW),
    "coupled cranks": crank_points(),
    "beam": beam_points(),
}


@pytest.mark.parametrize("mechanism", RUNS)
@settings(max_examples=2, deadline=None, phases=PHASES)
@given(data=st.data())
def test_differences_of_runs_are_what_the_reduced_model_says(mechanism, data):
    check_runs(data.draw(RUNS[mechanism]))


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", RUNS)
@settings(max_examples=30, deadline=None, phases=PHASES)
@given(data=st.data())
def test_differences_of_runs_are_what_the_reduced_model_says_at_many_points(mechanism, data):
    check_runs(data.draw(RUNS[mechanism]))


def resting(model, mode, near, size, input_size=1.0, law=None, inputs=None, **kwargs) -> Case:
    rest = equilibrium(model, mode, near, inputs=inputs, **kwargs)
    return Case(model, mode, rest, np.array(size), input_size, law or Baumgarte(30.0, 13.0), (30.0, 13.0))


def ring_top(ring: int) -> dict[str, float]:
    return {"q1": 0.3 if ring % 2 else 1.3, "q3": RINGS[ring - 1] + BALL}


def balanced_on_a_corner() -> dict[str, float]:
    return {"angle": float(-np.arctan2(0.2, 0.1)), "z": float(np.hypot(0.2, 0.1))}


AT_REST = {
    **{
        f"maze ring {ring}": lambda ring=ring: resting(
            mechanisms.maze(), (f"ring{ring}",), ring_top(ring), [0.5, 0.02, 0.02, 0.5], 0.01
        )
        for ring in (1, 2, 3, 4)
    },
    "four-bar": lambda: resting(
        mechanisms.four_bar(), (), mechanisms.four_bar_pose(1.0), [0.3] * 3, inputs={"load": 1.0}
    ),
    "coupled cranks": lambda: resting(mechanisms.coupled_cranks(), (), mechanisms.coupled_cranks_pose(0.8), [0.3] * 6),
    "beam": lambda: resting(
        mechanisms.beam(), ("left", "right", "roller"), {"s": 0.2}, [0.3] * 3, inputs={"push": 0, "press": 0}
    ),
    "block": lambda: resting(mechanisms.block(), ("left", "right"), {}, [0.1] * 3, inputs={"push": 0, "press": 0}),
    "block on a corner": lambda: resting(
        mechanisms.block(sticking=True), ("right",), balanced_on_a_corner(), [0.1] * 3, inputs={"push": 0, "press": 0}
    ),
    "hoop": lambda: resting(mechanisms.hoop(), (), {"x": 0.4, "z": -0.9}, [0.3] * 2, inputs={"u": 3.0}),
    "track": lambda: resting(mechanisms.track(), ("floor",), {}, [0.3] * 2, inputs={"u": 2.0}, parameters={"c": 0.4}),
}


@pytest.mark.parametrize("mechanism", AT_REST)
def test_runs_near_rest_follow_the_linear_model_up_to_the_square_of_the_perturbation(mechanism):
    case = AT_REST[mechanism]()
    names = [force for row, (_, force) in enumerate(row_names(case.model)) if row in case.closed]
    linear, whole = case.linear(outputs=names), case.linear(form="stabilized")
    n, nu = len(linear.state_labels), len(case.point.u)
    kept = [whole.state_labels.index(name) for name in linear.state_labels]
    weights, _ = steps_of(case)
    weights = np.concatenate([weights[kept], weights[2 * len(case.point.q) :]])
    direction = weights * np.random.default_rng(3).uniform(-1, 1, n + nu)
    until = 0.1
    flow = expm(until * np.vstack([np.hstack([linear.A, linear.B]), np.zeros((nu, n + nu))]))
    start = lifted(case, kept, np.zeros(n))
    reference = run_of(case, start, case.point.u, until, until)

    def missed(part):
        moved = part * direction
        run = run_of(case, lifted(case, kept, moved[:n]), case.point.u + moved[n:], until, until)
        states, forces = (
            np.array([run[name][-1] - reference[name][-1] for name in group]) for group in (linear.state_labels, names)
        )
        end = flow @ moved
        predicted = linear.C @ end[:n] + linear.D @ end[n:]
        size = np.abs(forces).max(initial=1e-3) + np.abs([reference[name][-1] for name in names]).max(initial=0)
        return np.concatenate([(states - end[:n]) / weights[:n], (forces - predicted) / size])

    errors = [np.abs(missed(part)).max() for part in (4e-3, 2e-3, 1e-3)]
    assert errors[0] < 4e-4
    assert errors[1] < errors[0] / 3.5 + 1e-9
    assert errors[2] < errors[1] / 3.5 + 1e-9


SUNK = {
    "table": lambda: resting(models.table(), ("leg0", "leg1", "leg2", "leg3"), {}, [0.3] * 3),
    "block": AT_REST["block"],
    "track": AT_REST["track"],
    "four-bar": AT_REST["four-bar"],
}


@pytest.mark.parametrize("mechanism", SUNK)
@pytest.mark.parametrize("seed", range(3))
def test_runs_that_start_a_micrometre_inside_return_as_the_stabilized_model_says(mechanism, seed):
    case = SUNK[mechanism]()
    linear = case.linear(form="stabilized")
    nq = len(case.point.q)
    rng = np.random.default_rng(seed)
    A = row_matrix(case, case.point.q, case.point.v, case.point.u)[0]
    shift = np.linalg.pinv(A) @ -rng.uniform(0.2, 1.0, len(A))  # every closed row negative, or as far as they can be
    shift *= 8e-7 / np.abs(A @ shift).max()
    assert (A @ shift).max() < 0
    x = np.concatenate([case.point.q, case.point.v])
    moved = np.concatenate([shift, 0.5 * shift])
    until = 0.2
    runs = [run_of(case, start, case.point.u, until, until) for start in (x, x + moved)]
    found = np.array([runs[1][name][-1] - runs[0][name][-1] for name in linear.state_labels])
    expected = expm(until * linear.A) @ moved
    assert np.abs(expected[:nq]).max() > 1e-8
    assert np.allclose(found, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


# Poles, and closed forms.


def unmatched(found, expected):
    """The largest distance between poles paired one to one."""
    assert len(found) == len(expected)
    distance = np.abs(np.subtract.outer(np.array(found), np.array(expected)))
    return distance[linear_sum_assignment(distance)].max(initial=0.0)


@pytest.mark.parametrize("mechanism", [*AT_REST, "table"])
def test_at_rest_the_stabilized_poles_are_the_reduced_ones_and_the_constraint_poles(mechanism):
    case = {**AT_REST, **SUNK}[mechanism]()
    reduced, stabilized = case.linear(), case.linear(form="stabilized")
    A = row_matrix(case, case.point.q, case.point.v, case.point.u)[0]
    assert len(reduced.constraint_poles) == 0
    assert len(stabilized.constraint_poles) == 2 * np.linalg.matrix_rank(A, tol=1e-9)
    # A double pole at the origin, as of a body that nothing holds, is only known to the root of rounding.
    together = [*reduced.poles(), *stabilized.constraint_poles]
    assert unmatched(stabilized.poles(), together) < 1e-6 * max(1.0, np.abs(together).max())
    assert unmatched(stabilized.constraint_poles, [-3.0, -10.0] * (len(stabilized.constraint_poles) // 2)) < 1e-9


@pytest.mark.parametrize("mechanism", AT_REST)
def test_the_reduced_model_knows_nothing_of_law_and_stabilization(mechanism):
    case = AT_REST[mechanism]()
    names = [name for pair in row_names(case.model) for name in pair]
    one = case.linear(outputs=names)
    other = replace(case, law=Baumgarte(7.0, 0.5, 1e8, 1e3), stabilization=(900.0, 2.0)).linear(outputs=names)
    for name in "ABCD":
        a, b = getattr(one, name), getattr(other, name)
        assert np.allclose(a, b, rtol=1e-10, atol=1e-10 * (1 + np.abs(a).max(initial=0)))


def test_constraint_poles_are_those_of_each_law():
    law = {"left": Baumgarte(6.0, 5.0), "right": Baumgarte(12.0, 7.0), "wall": Baumgarte(1.0, 0.0)}
    linear = linearize(mechanisms.block(), {"z": 0.1}, ("left", "right"), law=law, form="stabilized")
    assert unmatched(linear.constraint_poles, [-2, -3, -3, -4]) < 1e-9
    assert unmatched(linear.poles(), [-2, -3, -3, -4, 0, 0]) < 1e-6


@pytest.mark.parametrize("ring", [1, 2, 3, 4])
@settings(max_examples=10, deadline=None)
@given(J_m=st.floats(1e-4, 1e-2), m_b=st.floats(1e-3, 0.1), g=st.floats(1, 20), turn=st.floats(-0.5, 0.5))
def test_the_ball_falls_off_the_top_of_a_ring_as_the_energies_say(ring, J_m, m_b, g, turn):
    top = ring_top(ring)
    top["q1"] += turn
    parameters = {"J_m": J_m, "m_b": m_b, "g": g}
    linear = linearize(mechanisms.maze(), top, [f"ring{ring}"], parameters=parameters)
    r_m = RINGS[ring - 1]
    R = r_m + BALL
    p = np.sqrt(g / (R * (7 / 5 - 4 / 25 * m_b * r_m**2 / (J_m + 2 / 5 * m_b * r_m**2))))
    assert unmatched(linear.poles(), [p, -p, 0, 0]) < 1e-6 * p
    assert linear.poles().real.max() == pytest.approx(p, rel=1e-9)
    angle = linearize(mechanisms.maze(), top, [f"ring{ring}"], outputs=["angle"], parameters=parameters)
    assert unmatched(angle.zeros(), np.array([1, -1]) * np.sqrt(5 * g / (7 * R))) < 1e-6 * p


def test_on_the_outermost_ring_the_ball_falls_at_8_954_rad_per_second():
    linear = linearize(mechanisms.maze(), ring_top(1), ["ring1"])
    assert linear.poles().real.max() == pytest.approx(8.954, abs=1e-3)


def test_gains_25_and_10_put_four_poles_of_the_maze_at_minus_5():
    law = Baumgarte(a0=25, a1=10, a2=1e6)
    linear = linearize(mechanisms.maze(), ring_top(1), ["ring1"], form="stabilized", law=law)
    assert unmatched(linear.constraint_poles, [-5] * 4) < 1e-6
    assert unmatched(linear.poles(), [-5, -5, -5, -5, 0, 0, 8.953947, -8.953947]) < 1e-5


@settings(max_examples=20, deadline=None)
@given(l=st.floats(0.1, 10), g=st.floats(0.5, 30), m=st.floats(0.1, 10), speed=around(2.0))
def test_a_bead_on_a_hoop_is_a_pendulum(l, g, m, speed):  # noqa: E741
    parameters = {"l": l, "g": g, "m": m}
    bottom = linearize(mechanisms.hoop(), {"z": -l}, parameters=parameters, outputs=["x", "force_circle"])
    top = linearize(mechanisms.hoop(), {"z": l}, parameters=parameters)
    w = np.sqrt(g / l)
    assert bottom.state_labels == ["x", "x_dot"]
    assert unmatched(bottom.poles(), [1j * w, -1j * w]) < 1e-9 * w
    assert unmatched(top.poles(), [w, -w]) < 1e-9 * w
    assert np.allclose(bottom.B, [[0], [1 / m]], rtol=1e-12)
    passing = linearize(
        mechanisms.hoop(), {"z": -l, "x_dot": speed}, parameters=parameters, outputs=["z_dot", "force_circle"]
    )
    # λ = −m (g z/l … ) points inwards: −m (g cos + v²/l), and z_dot = x x_dot / l
    assert np.allclose(passing.C, [[speed / l, 0], [0, -2 * m * speed / l]], rtol=1e-9, atol=1e-12 * m * w)


def test_beside_the_axis_of_a_hoop_the_height_is_what_moves():
    assert linearize(mechanisms.hoop(), {"x": 1.0, "z": 0.0}).state_labels == ["z", "z_dot"]


@settings(max_examples=10, deadline=None)
@given(a=st.floats(0.05, 1), h=st.floats(0.05, 1))
def test_a_block_on_its_corner_falls_as_a_pendulum(a, h):
    at = {"angle": -np.arctan2(a, h), "z": np.hypot(a, h)}
    linear = linearize(mechanisms.block(sticking=True), at, ["right"], parameters={"a": a, "h": h})
    p = np.sqrt(3 * G / (4 * np.hypot(a, h)))
    assert unmatched(linear.poles(), [p, -p]) < 1e-9 * p


@settings(max_examples=10, deadline=None)
@given(k=st.floats(0.1, 5), c=st.floats(0, 3), m=st.floats(0.2, 5))
def test_a_bead_at_the_bottom_of_a_track_swings_with_its_curvature(k, c, m):
    linear = linearize(mechanisms.track(), mode=["floor"], parameters={"k": k, "c": c, "m": m})
    expected = np.roots([1, c / m, k * G])
    assert unmatched(linear.poles(), expected) < 1e-6


@settings(max_examples=20, deadline=None)
@given(s=st.floats(-0.9, 0.9), e=around(0.05), press=st.floats(0, 50))
def test_redundant_forces_change_as_the_smallest_ones_that_carry_the_load(s, e, press):
    names = ["force_left", "force_right", "force_roller"]
    expected = mechanisms.beam_forces(s, e=e, press=press)
    assume(expected.min() > 1e-6)
    at, mode = {"s": s, "press": press}, ["left", "right", "roller"]
    linear = linearize(mechanisms.beam(), at, mode, outputs=names, parameters={"e": e})
    slope = mechanisms.beam_forces(s + 1e-30j, e=e, press=press).imag / 1e-30
    assert linear.state_labels == ["s", "s_dot"]
    assert np.allclose(linear.C, np.column_stack([slope, np.zeros(3)]), rtol=1e-9, atol=1e-9)
    pressed = mechanisms.beam_forces(s, e=e, press=press + 1e-30j).imag / 1e-30
    assert np.allclose(linear.D, np.column_stack([np.zeros(3), pressed]), rtol=1e-9, atol=1e-12)


# Names, units, sizes.


@pytest.mark.parametrize("mechanism", [*AT_REST, "table"])
def test_every_signal_of_a_result_may_be_an_output_in_the_same_unit(mechanism):
    case = {**AT_REST, **SUNK}[mechanism]()
    x = np.concatenate([case.point.q, case.point.v])
    run = run_of(case, x, case.point.u, 1e-3, 1e-3)
    other = {"mode", "impulse", "input", "energy", "work", "extent"}
    names = [name for name, kind in run.kinds.items() if kind not in other]
    linear = case.linear(outputs=names)
    assert linear.output_labels == names
    assert dict(zip(names, linear.output_units, strict=True)) == {name: run.units[name] for name in names}
    assert linear.input_units == tuple(i.unit for i in case.model.inputs)
    assert linear.state_units == tuple(run.units[name] for name in linear.state_labels)


def test_a_linear_model_knows_where_it_comes_from():
    linear = linearize(mechanisms.maze(), ring_top(1), ["ring1"])
    assert isinstance(linear, control.StateSpace)
    assert (linear.mode, linear.form, linear.name) == (("ring1",), "reduced", "maze")
    assert linear.output_labels == ["angle", "x", "distance"]
    assert linear.input_labels == ["torque"]
    assert linearize(mechanisms.hoop()).output_labels == ["x", "z", "x_dot", "z_dot"]


def test_inputs_and_outputs_come_in_the_order_that_is_asked_for():
    at = mechanisms.four_bar_pose(1.0)
    every = linearize(mechanisms.four_bar(), at, outputs=["height", "speed", "power", "force_loop_x"])
    some = linearize(mechanisms.four_bar(), at, inputs=["load", "torque"], outputs=["force_loop_x", "height"])
    assert some.input_labels == ["load", "torque"]
    assert np.array_equal(some.B, every.B[:, ::-1])
    assert np.array_equal(some.C, every.C[[3, 0]])
    assert np.array_equal(some.D, every.D[[3, 0]][:, ::-1])
    assert np.array_equal(linearize(mechanisms.four_bar(), at, inputs=["load"]).B, every.B[:, [1]])


def test_a_mode_may_be_one_name_and_its_order_means_nothing():
    assert linearize(mechanisms.track(), mode="floor").mode == ("floor",)
    at = {"z": 0.1}
    assert linearize(mechanisms.block(), at, ["right", "left", "right"]).mode == ("left", "right")


@pytest.mark.parametrize("form", ["reduced", "stabilized"])
@pytest.mark.parametrize("outputs", [["q", "q_dot"], ["force_floor", "q"], ["q", "q_dot", "force_floor"]])
def test_a_model_without_inputs_has_a_linear_model_with_several_outputs(form, outputs):
    linear = linearize(robots.ball(), {"q": 0.0}, ["floor"], outputs=outputs, form=form)
    assert (linear.nstates, linear.ninputs, linear.noutputs) == (0 if form == "reduced" else 2, 0, len(outputs))
    assert linear.C.shape == (len(outputs), linear.nstates)


def test_a_model_without_inputs_and_with_one_output_is_said_to_be_too_little():
    with pytest.raises(InputError, match="expected an input, or two outputs, got no input and output 'q'"):
        linearize(robots.ball(), {"q": 0.0}, ["floor"], outputs=["q"])


def test_a_table_on_four_legs_has_no_state_left():
    linear = linearize(models.table(), {"z": 0.0}, models.table().contacts)
    assert (linear.nstates, linear.output_labels[:3]) == (0, ["z", "pitch", "roll"])


@pytest.mark.parametrize("error", [1e-10, 1e-9, 1e-8, 1e-7, 8e-7])
def test_a_point_as_near_to_its_constraints_as_is_asked_has_the_states_of_one_on_them(error):
    pose = mechanisms.coupled_cranks_pose(0.8)
    pose["a1"] += error / 0.3
    exact = linearize(mechanisms.coupled_cranks(), mechanisms.coupled_cranks_pose(0.8))
    near = linearize(mechanisms.coupled_cranks(), pose)
    assert near.state_labels == exact.state_labels
    assert unmatched(near.poles(), exact.poles()) < 1e-3


def test_a_point_brings_its_own_parameters_and_time():
    rest = equilibrium(mechanisms.hoop(), near={"z": -2.0}, inputs={"u": 0.0}, parameters={"l": 2.0})
    assert unmatched(linearize(mechanisms.hoop(), rest).poles(), [1j * np.sqrt(G / 2), -1j * np.sqrt(G / 2)]) < 1e-6
    time = 0.1
    point = Point(
        np.array([0.0, 0.02 * np.sin(0.7)]), np.array([0.0, 0.14 * np.cos(0.7)]), np.zeros(1), {"f": 0.02}, time
    )
    shaken = linearize(mechanisms.track(), point, ["floor"])
    # The floor comes up with −f w² sin: gravity as the bead feels it.
    felt = G - 0.02 * 7.0**2 * np.sin(0.7)
    assert unmatched(shaken.poles(), [1j * np.sqrt(1.5 * felt), -1j * np.sqrt(1.5 * felt)]) < 1e-9


# What cannot be linearized.


def says(*parts: str) -> str:
    """A pattern that finds these parts in this order."""
    return ".*".join(re.escape(part) for part in parts)


@pytest.mark.parametrize(
    ("kwargs", "parts"),
    [
        ({"inputs": ["torqe"]}, ("linear model of 'maze'", "a known input", "'torqe'", "Did you mean 'torque'?")),
        ({"inputs": []}, ("linear model of 'maze'", "at least one input", "none")),
        ({"outputs": ["angle", "forc_ring1"]}, ("a known output", "'forc_ring1'", "Did you mean", "'force_ring1'")),
        ({"form": "minimal"}, ("a known form", "'minimal'", "Known: reduced, stabilized.")),
        ({"mode": ["ring9"]}, ("a known contact of the mode", "'ring9'", "Did you mean")),
        ({"at": {"q9": 1.0}}, ("point of model 'maze'", "a known coordinate, velocity or input", "'q9'")),
        ({"at": {"q1": float("nan")}}, ("'q1' of model 'maze'", "a finite number", "nan")),
        ({"parameters": {"mass": 1.0}}, ("model 'maze'", "a known parameter", "'mass'")),
        ({"parameters": {"g": float("inf")}}, ("'g' of model 'maze'", "a finite number", "inf")),
        ({"law": {"ring": Baumgarte()}}, ("a known contact", "'ring'")),
        ({"law": 3.0}, ("a law for contact 'ring1'", "3.0")),
        ({"stabilization": (0.0, 1.0)}, ("stabilization gains (a0, a1) above zero", "(0, 1)")),
    ],
)
def test_a_name_or_number_that_means_nothing_is_named(kwargs, parts):
    given = {"at": ring_top(1), "mode": ["ring1"], **kwargs}
    with pytest.raises(InputError, match=says(*parts)):
        linearize(mechanisms.maze(), **given)


def test_an_output_that_is_asked_for_twice_is_refused():
    with pytest.raises(ImpingeError):
        linearize(models.cart(), outputs=["x", "x"])


def test_an_input_that_is_asked_for_twice_is_refused():
    with pytest.raises(ImpingeError):
        linearize(models.cart(), inputs=["u", "u"])


def test_a_point_of_another_model_is_refused():
    with pytest.raises(ImpingeError, match="ball"):
        linearize(models.pendulum(), equilibrium(robots.ball(), ["floor"]))


def pulled():
    return linearize(mechanisms.block(), {"z": 0.1, "press": -30.0}, ["left", "right"])


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (
            lambda: linearize(mechanisms.track(), {"z": 0.1}, ["floor"]),
            ("linear model of 'track'", "gap_floor zero within 1e-06", "got 0.1 m", "equilibrium(...)"),
        ),
        (
            lambda: linearize(mechanisms.track(), {"z_dot": 0.2}, ["floor"]),
            ("gap_floor_dot zero within 1e-06", "got 0.2 m/s"),
        ),
        (
            lambda: linearize(mechanisms.four_bar(), {**mechanisms.four_bar_pose(1.0), "rocker": 0.3}),
            ("linear model of 'four_bar'", "residual_loop_x zero", "m. Find"),
        ),
        (
            lambda: linearize(mechanisms.four_bar(), {**mechanisms.four_bar_pose(1.0), "crank_dot": 1.0}),
            ("residual_loop_x_dot zero", "m/s"),
        ),
        (
            lambda: linearize(mechanisms.block(sticking=True), {"z": 0.1, "x_dot": 0.1}, ["left", "right"]),
            ("slip_left_dot zero within 1e-06", "got 0.1 m/s"),
        ),
        (pulled, ("contact 'left' to push", "force -5.19 N: the mode cannot hold there")),
        (
            lambda: linearize(mechanisms.maze(), {**ring_top(1), "q1": 1.65}, ["ring1"]),
            ("a surface under contact 'ring1' (extent above zero)", "got extent -0.0", "Move the point"),
        ),
        (
            lambda: linearize(mechanisms.track(), {"z": -0.1}),
            ("gap 'floor', which the mode has open, of zero or more", "got -0.1 m"),
        ),
    ],
)
def test_a_point_at_which_the_mode_does_not_hold_says_why(make, parts):
    with pytest.raises(StartError, match=says(*parts)):
        make()


# Parameters, contacts that would pull, rows that depend on each other, other instants.


def test_parameters_count_at_a_point_that_has_its_own_too():
    maze, rest = robots.maze(), equilibrium(robots.maze(), ["ring1"], {"q1": 0.7, "q3": 0.09})
    expected = linearize(maze, dict(rest.pose), ["ring1"], parameters={"J_m": 1e-6})
    found = linearize(maze, rest, ["ring1"], parameters={"J_m": 1e-6})
    assert np.allclose(found.A, expected.A, rtol=1e-9, atol=1e-9)
    assert not np.allclose(found.A, linearize(maze, rest, ["ring1"]).A, rtol=1e-3)


@pytest.mark.parametrize("point", [True, False])
def test_a_parameter_that_does_not_exist_is_refused_with_the_nearest_names(point):
    rest = equilibrium(robots.ball(), ["floor"])
    with pytest.raises(ImpingeError, match=r"expected a known parameter, got 'mm'\. Did you mean 'm'"):
        linearize(robots.ball(), rest if point else {"q": 0.0}, ["floor"], parameters={"mm": 1.0})


LAWS = {
    "kelvin-voigt": KelvinVoigt(1e4, 10.0),
    "hunt-crossley": HuntCrossley(1e6, 1.5, damping=2.0),
}


@pytest.mark.parametrize("law", LAWS)
@settings(max_examples=20, deadline=None)
@given(depth=st.floats(1e-6, 1e-3), rate=st.floats(-3, 3))
def test_a_compliant_contact_has_the_slope_that_its_force_has_and_none_where_it_would_pull(law, depth, rate):
    one, ball = LAWS[law], robots.ball()
    k, *rest = one.gains

    def force(gap, speed):
        if law == "kelvin-voigt":
            return max(0.0, -(k * gap + rest[0] * speed))
        return max(0.0, k * (-gap) ** 1.5 * (1 - rest[1] * speed))

    assume(abs(rate - (k * depth / rest[0] if law == "kelvin-voigt" else 1 / rest[1])) > 1e-2)
    linear = linearize(ball, {"q": -depth, "q_dot": rate}, ["floor"], outputs=["q", "force_floor"], law=one)
    h = 1e-4 * depth
    slopes = [
        (force(-depth + h, rate) - force(-depth - h, rate)) / (2 * h),
        (force(-depth, rate + 1e-5) - force(-depth, rate - 1e-5)) / 2e-5,
    ]
    assert linear.C[1] == pytest.approx(slopes, rel=1e-5, abs=1e-5)
    assert linear.mode == (("floor",) if force(-depth, rate) > 0 else ())


def test_rows_that_depend_on_each_other_are_named():
    table = linearize(models.table(), {"z": 0.0}, [f"leg{k}" for k in range(4)], outputs=["z", "pitch"])
    assert table.redundant == tuple(f"gap_leg{k}" for k in range(4))
    block = mechanisms.block(sticking=True)
    assert linearize(block, {"z": 0.1}, ["left", "right"]).redundant == ("slip_left", "slip_right")
    assert linearize(block, {"z": 0.1}, ["left"], form="stabilized").redundant == ()


def test_a_point_where_a_rank_drops_has_no_linear_model():
    b = ModelBuilder("dead_point")
    (a, va), (c, vc) = b.coordinate("a"), b.coordinate("c")
    b.kinetic(va**2 + vc**2 + 0.3 * va * vc)
    b.constraint("branch", ca.cos(a) - ca.cos(c))
    model = b.build()
    with pytest.raises(StartError, match=says("a singular point of residual_branch", "motions branch")):
        linearize(model)
    assert linearize(model, {"a": 0.3, "c": 0.3}).nstates == 2
    flat = mechanisms.coupled_cranks_pose(0.0)  # cranks in line with their rod: they may go on either way
    with pytest.raises(StartError, match="a singular point of"):
        linearize(mechanisms.coupled_cranks(), flat)


@settings(max_examples=10, deadline=None)
@given(time=st.floats(0, 5), x=st.floats(-0.3, 0.3))
def test_a_moving_surface_is_where_and_as_fast_as_it_is_at_any_instant(time, x):
    track, parameters = mechanisms.track(), {"f": 0.02}
    p = track.parameter_vector(parameters)
    at = track.terms_at([x, 0.0], [0.0, 0.0], time, [0.0], p)
    point = {"x": x, "z": -at["gap"][0], "z_dot": -at["gap_partial"][0]}
    linear = linearize(track, point, ["floor"], outputs=["z", "z_dot"], parameters=parameters, time=time)
    case = Case(track, ("floor",), Point(*track.start_vectors(point), np.zeros(1), parameters, time), np.ones(2))
    check_reduced(case)
    assert np.allclose(linear.A, case.linear().A)
