"""Each integrator has the order that it says, between events and across them; and other solvers agree."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from impinge import Adaptive, Baumgarte, FixedStep, robots, simulate
from models import G, pendulum

ANGLES = tuple(np.linspace(0.8, 1.3, 21).tolist())
HIGH = tuple(np.linspace(2.0, 2.6, 41).tolist())  # many starts, so that events fall anywhere in a step
WALL = Baumgarte(a0=100, a1=4, a2=1e3)
FLOOR = Baumgarte(a0=100, a1=20, a2=1e6)


def every(h):
    """Return Dormand–Prince with steps of h: tolerances this loose accept them all."""
    return Adaptive(rtol=0.99, atol=1e-6, max_step=h)


def order(lengths, errors):
    """Return the exponent of the power law through the errors."""
    return np.polyfit(np.log(lengths), np.log(errors), 1)[0]


def mean(errors):
    return math.sqrt(np.mean(np.square(errors)))


# The same problems for other solvers: phases, each with its right-hand side and the guard that ends it.


def swing(t, y):
    return [y[1], -G * math.sin(y[0])]


def against_wall(t, y):
    gap = y[0] + 0.5
    return [y[1], -(WALL.a0 * gap + WALL.a1 * y[1] + WALL.a2 * gap**3)]


PENDULUM = (
    (swing, lambda t, y: y[0] + 0.5),
    (against_wall, lambda t, y: against_wall(t, y)[1] + G * math.sin(y[0])),
)


def fall(t, y):
    return [y[1], -G]


def on_floor(t, y):
    return [y[1], -(FLOOR.a0 * y[0] + FLOOR.a1 * y[1] + FLOOR.a2 * y[0] ** 3)]


BALL = ((fall, lambda t, y: y[0]), (on_floor, lambda t, y: on_floor(t, y)[1] + G))


def scipy_phase(right_hand_side, guard, t, y, end, outputs):
    """Integrate until the guard falls or the end; return states on the way, then time, state and whether it fell."""

    def falls(t, y):
        return guard(t, y)

    falls.terminal, falls.direction = True, -1
    done = solve_ivp(
        right_hand_side, (t, end), y, method="DOP853", rtol=1e-13, atol=1e-15, events=falls, dense_output=True
    )
    inside = outputs[(outputs > t) & (outputs <= done.t[-1])]
    return [done.sol(x) for x in inside], done.t[-1], done.y[:, -1], done.status == 1


def cvode_phase(right_hand_side, guard, t, y, end, outputs):
    """Do what `scipy_phase` does with CVODE."""
    from sksundae.cvode import CVODE

    def fill(t, y, derivative):
        derivative[:] = right_hand_side(t, y)

    def falls(t, y, values):
        values[0] = guard(t, y)

    falls.terminal, falls.direction = [True], [-1]
    solver = CVODE(fill, method="Adams", rtol=1e-12, atol=1e-14, eventsfn=falls, num_events=1, max_num_steps=100_000)
    times = np.unique(np.concatenate([[t], outputs[(outputs > t) & (outputs < end)], [end]]))
    done = solver.solve(times, np.array(y))
    fell = done.t_events is not None and len(done.t_events) > 0
    last, state = (done.t_events[0], done.y_events[0]) if fell else (done.t[-1], done.y[-1])
    inside = (done.t > t) & np.isin(done.t, outputs) & (done.t <= last)
    return done.y[inside], last, np.array(state), fell


def hybrid(phases, y, end, outputs=(), solve=scipy_phase):
    """Run through the phases in turn; return the states at the output times, the final state and the event times."""
    t, k, events, states = 0.0, 0, [], []
    outputs = np.asarray(outputs, dtype=float)
    while t < end:
        inside, t, y, fell = solve(*phases[k % 2], t, y, end, outputs)
        states.extend(inside)
        if not fell:
            break
        events.append(t)
        k += 1
    return np.array(states), y, events


@functools.cache
def reference_swing(angle, end):
    done = solve_ivp(swing, (0, end), [angle, 0.0], method="DOP853", rtol=1e-13, atol=1e-15)
    return done.y[:, -1]


@functools.cache
def reference_bounce(angle, end):
    _, y, events = hybrid(PENDULUM, [angle, 0.0], end)
    assert len(events) == 2
    return y, events


@functools.cache
def reference_press(speed, end):
    done = solve_ivp(on_floor, (0, end), [0.0, speed], method="DOP853", rtol=1e-13, atol=1e-15)
    return done.y[:, -1]


def miss(result, y):
    return math.hypot(result["q"][-1] - y[0], result["q_dot"][-1] - y[1])


METHODS = pytest.mark.parametrize(
    ("method", "nominal", "counts"),
    [(FixedStep, 4, (80, 113, 160, 226, 320)), (every, 5, (57, 80, 113, 160))],
    ids=["fixed", "adaptive"],
)


@METHODS
def test_the_order_on_a_smooth_swing_is_nominal(method, nominal, counts):
    end, errors = 2.0, []
    for n in counts:
        runs = [
            (angle, simulate(pendulum(), until=end, start={"q": angle}, method=method(end / n))) for angle in ANGLES
        ]
        assert all(np.median(run.steps[:, 1]) == pytest.approx(end / n) for _, run in runs)
        errors.append(mean([miss(run, reference_swing(angle, end)) for angle, run in runs]))
    assert order(end / np.array(counts), errors) == pytest.approx(nominal, abs=0.3)


@METHODS
def test_the_order_in_contact_with_the_cubic_law_is_nominal(method, nominal, counts):
    # The ball presses into the floor and comes half-way back: one smooth motion, up to before it lifts off.
    end, errors = 0.03, []
    for n in np.array(counts) // 2:
        missed = []
        for speed in np.linspace(-1.5, -0.5, 11):
            result = simulate(robots.ball(height=0.0), FLOOR, until=end, start={"q_dot": speed}, method=method(end / n))
            assert result.events == ()
            missed.append(miss(result, reference_press(speed, end)))
        errors.append(mean(missed))
    assert order(end / (np.array(counts) // 2), errors) == pytest.approx(nominal, abs=0.3)


def test_tighter_tolerances_shorten_steps_by_the_nominal_order():
    end, lengths, errors = 2.0, [], []
    for tolerance in np.logspace(-8, -12, 9):
        method = Adaptive(rtol=tolerance, atol=tolerance, max_step=math.inf)
        runs = [(angle, simulate(pendulum(), until=end, start={"q": angle}, method=method)) for angle in ANGLES]
        lengths.append(np.mean([run.mean_step(0, end) for _, run in runs]))
        errors.append(mean([miss(run, reference_swing(angle, end)) for angle, run in runs]))
    assert order(lengths, errors) == pytest.approx(5, abs=0.3)


@METHODS
def test_the_order_across_a_bounce_is_nominal(method, nominal, counts):
    # Touchdown, lift-off and the state after both: the events' own errors must not be of a lower order.
    end, final, touch, lift = 1.8, [], [], []
    counts = 2 * np.array(counts)
    for n in counts:
        missed = []
        for angle in HIGH:
            result = simulate(pendulum(wall=True), WALL, until=end, start={"q": angle}, method=method(end / n))
            y, events = reference_bounce(angle, end)
            touchdown, liftoff = (result.times("wall", after=mode)[0] for mode in ("Contact", "Ballistic"))
            missed.append((miss(result, y), touchdown - events[0], liftoff - events[1]))
        for errors, values in zip((final, touch, lift), np.transpose(missed), strict=True):
            errors.append(mean(values))
    lengths = end / counts
    assert order(lengths, final) == pytest.approx(nominal, abs=0.3)
    assert order(lengths, touch) == pytest.approx(nominal, abs=0.3)
    assert order(lengths, lift) == pytest.approx(nominal, abs=0.3)


def test_a_step_is_split_at_an_event_and_the_grid_goes_on():
    # Steps that end on the grid begin on it too, also after an event has fallen between two of its points.
    step = 0.002
    result = simulate(robots.ball(height=0.3), FLOOR, until=1.0, method=FixedStep(step))
    assert len(result.events) >= 3
    starts = result.steps[:, 0]
    on_grid = np.abs(starts / step - np.round(starts / step)) < 1e-6
    assert sorted(set(np.round(starts[on_grid] / step).astype(int))) == list(range(500))
    for begin in starts[~on_grid]:
        assert min(abs(begin - event.time) for event in result.events) < 1e-11


@pytest.mark.parametrize("solve", [scipy_phase, cvode_phase], ids=["scipy", "cvode"])
def test_a_trajectory_of_two_bounces_agrees_with_another_solver(solve):
    if solve is cvode_phase:
        pytest.importorskip("sksundae")
    end, spacing = 1.2, 0.01
    tight = Adaptive(rtol=1e-11, atol=1e-13)
    result = simulate(robots.ball(), FLOOR, until=end, sample=spacing, method=tight)
    outputs = spacing * np.arange(1, 120)
    states, final, events = hybrid(BALL, [1.0, 0.0], end, outputs, solve)
    assert len(events) >= 4
    changes = [event.time for event in result.events if "Contact" in (event.before, event.after)]
    assert changes == pytest.approx(events, abs=1e-8)
    rows = [int(np.flatnonzero(np.abs(result.t - t) < 1e-9)[0]) for t in outputs]
    assert len(states) == len(rows)
    assert result["q"][rows] == pytest.approx(states[:, 0], abs=1e-8)
    assert result["q_dot"][rows] == pytest.approx(states[:, 1], abs=1e-8)
    assert (result["q"][-1], result["q_dot"][-1]) == pytest.approx(final, abs=1e-8)


def test_the_default_tolerance_keeps_two_bounces_within_a_micrometre():
    result = simulate(robots.ball(), FLOOR, until=1.2)
    _, final, events = hybrid(BALL, [1.0, 0.0], 1.2)
    changes = [event.time for event in result.events if "Contact" in (event.before, event.after)]
    assert changes == pytest.approx(events, abs=1e-6)
    assert result["q"][-1] == pytest.approx(final[0], abs=1e-6)
