"""Results: signals, events, tables and figures, and certificates that are checked against physics."""

from __future__ import annotations

import csv
import json
import math

import casadi as ca
import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.integrate import quad

from impinge import Adaptive, Baumgarte, FixedStep, ImpingeWarning, InputError, ModelBuilder, robots, simulate
from impinge.simulation.results.certificate import energy_balance

G = 9.81
SOFT = Baumgarte(a0=100.0, a1=20.0, a2=0.0)  # linear and critically damped: closed forms exist


@pytest.fixture(scope="module")
def bouncing():
    return simulate(robots.ball(), Baumgarte(), until=1.5)


@pytest.fixture(scope="module")
def flight():
    """A ball thrown up at 3 m/s from 1 m that never lands."""
    return simulate(robots.ball(), Baumgarte(), until=0.8, start={"q_dot": 3.0})


def slider(start=0.0, speed=0.0, mass=1.0):
    """A mass on a line; returns builder, coordinate and velocity."""
    b = ModelBuilder("slider")
    x, v = b.coordinate("x", start=start, speed=speed)
    b.kinetic(mass * v**2 / 2)
    return b, x, v


def agree(found, expected, rtol=0.0, atol=0.0):
    """As many numbers as expected (or one for all), and close to them."""
    alike = np.shape(expected) in ((), np.shape(found))
    return alike and np.allclose(found, expected, rtol=rtol, atol=atol)


# Signals.


def test_signals_of_a_flight_are_those_of_the_parabola(flight):
    t = flight.t
    assert flight.ok
    assert flight.reason == ""
    assert agree(flight["q"], 1 + 3 * t - G * t**2 / 2, atol=1e-9)
    assert agree(flight["q_dot"], 3 - G * t, atol=1e-9)
    assert np.array_equal(flight["gap_floor"], flight["q"])
    assert agree(flight["energy_kinetic"] + flight["energy_potential"], 4.5 + G, atol=1e-8)
    assert not flight["force_floor"].any()


def test_every_signal_has_a_unit_and_as_many_rows_as_time(bouncing):
    assert set(bouncing.signals) == set(bouncing.units)
    assert all(signal.shape == bouncing.t.shape for signal in bouncing.signals.values())
    units = bouncing.units
    assert (units["q"], units["q_dot"], units["gap_floor"], units["force_floor"]) == ("m", "m/s", "m", "N")
    assert (units["impulse_floor"], units["energy_kinetic"], units["work_contacts"]) == ("N·s", "J", "J")


def test_an_unknown_signal_names_the_nearest(bouncing):
    with pytest.raises(
        InputError, match=r"result of model 'ball': .*signal.*, got 'gap_flor'\. Did you mean 'gap_floor'"
    ):
        bouncing["gap_flor"]
    with pytest.raises(InputError, match=r"got 'Q'\. Did you mean 'q'"):
        bouncing["Q"]


def test_a_signal_without_a_rate_has_no_crossings(bouncing):
    with pytest.raises(InputError, match="'force_floor_dot'"):
        bouncing.crossings("force_floor")


@pytest.mark.parametrize("ask", ["mode", "times", "touchdowns", "liftoffs", "is_closed"])
def test_an_unknown_contact_names_the_nearest(bouncing, ask):
    with pytest.raises(InputError, match=r"Did you mean '(floor|mode_floor)"):
        getattr(bouncing, ask)("flor")


def test_an_unknown_mode_is_not_taken_for_one_that_never_occurred(bouncing):
    with pytest.raises(InputError, match="Did you mean 'Contact'"):
        bouncing.times("floor", after="contact")


# Rows and times.


def test_rows_come_at_the_sample_times_and_on_both_sides_of_events():
    result = simulate(robots.ball(), Baumgarte(), until=1.0, sample=0.125)
    events = [event.time for event in result.events]
    expected = sorted([*np.arange(9) * 0.125, *events, *events])
    assert agree(result.t, expected, atol=1e-11)


def test_every_step_is_recorded_by_default(bouncing):
    begins = bouncing.steps[:, 0]
    assert all(np.abs(bouncing.t - begin).min() <= 1e-11 for begin in begins)
    assert bouncing.t.size >= 500
    assert agree(bouncing.steps[:, 1].sum(), 1.5, atol=1e-9)
    assert len(begins) == bouncing.certificate.steps


def test_an_event_has_both_sides_in_the_rows(bouncing):
    assert bouncing.events
    for event in bouncing.events:
        before, after = event.row, event.row + 1
        assert bouncing.t[before] == bouncing.t[after] == event.time
        assert bouncing.mode("floor", before) == event.before
        assert bouncing.mode("floor", after) == event.after
        assert event.before != event.after
        assert agree(bouncing["q_dot"][before], bouncing["q_dot"][after], atol=1e-8)


def test_times_select_events_by_the_modes_on_both_sides(bouncing):
    all_times = [event.time for event in bouncing.events]
    assert bouncing.times("floor") == all_times == sorted(all_times)
    into = bouncing.times("floor", after="Contact")
    assert into == [e.time for e in bouncing.events if e.after == "Contact"]
    assert bouncing.times("floor", before="Free", after="Contact")[0] == into[0]
    assert agree(into[0], math.sqrt(2 / G), rtol=1e-12)
    assert bouncing.times("floor", before="Contact", after="Free") == []
    assert bouncing.touchdowns("floor") == into
    assert bouncing.liftoffs("floor") == bouncing.times("floor", before="Contact")


def test_the_mode_is_named_and_closed_where_the_law_says_so(bouncing):
    assert bouncing.mode("floor", 0) == "Free"
    assert bouncing.modes["floor"] == ("Free", "Contact", "Ballistic")
    in_contact = bouncing["mode_floor"] == bouncing.modes["floor"].index("Contact")
    assert np.array_equal(bouncing.is_closed("floor"), in_contact)
    assert (bouncing["force_floor"][~in_contact] == 0).all()


def test_impulses_are_the_change_of_momentum(bouncing):
    momentum = bouncing["q_dot"] + G * bouncing.t
    assert agree(bouncing["impulse_floor"], momentum, atol=1e-7)
    delivered = sum(event.impulse for event in bouncing.events)
    last = bouncing.events[-1].row + 1
    assert agree(delivered, bouncing["impulse_floor"][last], rtol=1e-12)


def test_the_mean_step_is_the_mean_of_the_steps_inside(bouncing):
    assert agree(bouncing.mean_step(0.0, 1.5), 1.5 / bouncing.certificate.steps, rtol=1e-9)
    first = bouncing.steps[0]
    assert bouncing.mean_step(0.0, first[1] / 2) == first[1]
    assert math.isnan(bouncing.mean_step(5.0, 6.0))


# Crossings and maxima.


@pytest.mark.parametrize("level", [1.2, 1.0001, 0.9, 0.5, 1.4587])
def test_a_flight_crosses_a_height_when_the_parabola_does(flight, level):
    root = math.sqrt(9 - 2 * G * (level - 1))
    up, down = (3 - root) / G, (3 + root) / G
    rising = [up] if up > 0 else []
    falling = [down] if down < 0.8 else []
    assert agree(flight.crossings("q", level), [*rising, *falling], rtol=0, atol=1e-9)
    assert agree(flight.crossings("q", level, direction=1), rising, rtol=0, atol=1e-9)
    assert agree(flight.crossings("q", level, direction=-1), falling, rtol=0, atol=1e-9)


def test_a_height_above_the_flight_is_never_crossed(flight):
    assert flight.crossings("q", 1.0 + 4.5 / G + 1e-6).size == 0


def test_crossings_are_looked_for_only_where_asked(flight):
    late = flight.t > 0.4
    assert agree(flight.crossings("q", 1.2, where=late), [(3 + math.sqrt(9 - 0.4 * G)) / G], atol=1e-9)


def test_a_flight_has_its_top_where_the_parabola_has_it(flight):
    times, values = flight.maxima("q")
    assert agree(times, [3 / G], rtol=1e-9)
    assert agree(values, [1 + 4.5 / G], rtol=1e-11)


@pytest.mark.parametrize("height", [0.7, 1.9])
@pytest.mark.parametrize(
    "method",
    [None, Adaptive(rtol=1e-12, atol=1e-13), Adaptive(rtol=1e-5, atol=1e-5), FixedStep(1e-3)],
    ids=["default", "tight", "loose", "fixed"],
)
def test_a_ball_crosses_the_floor_when_it_lands(method, height):
    """The level is met at an event, where two rows share one time."""
    landing = math.sqrt(2 * height / G)
    result = simulate(robots.ball(), Baumgarte(), until=landing + 0.01, start={"q": height}, method=method)
    assert agree(result.crossings("q"), [landing], atol=1e-6)
    assert agree(result.crossings("q", direction=-1), [landing], atol=1e-6)
    assert result.crossings("q", direction=1).size == 0


def test_a_contact_at_rest_does_not_cross_its_surface():
    result = simulate(robots.ball(height=0.0), Baumgarte(), until=1.0)
    assert result.crossings("gap_floor").size == 0


def test_a_ball_that_lands_at_high_speed_crosses_the_floor_once():
    result = simulate(robots.ball(), Baumgarte(), until=0.002, start={"q_dot": -1000.0})
    assert agree(result.crossings("q", direction=-1), [0.001], atol=1e-6)


def test_a_crossing_on_a_row_counts_once():
    b, _, _ = slider(start=-1.0, speed=1.0)
    result = simulate(b.build(), until=2.0, sample=0.25)  # x is zero at the row of t = 1, to the last bit
    assert result["x"][result.t == 1.0] == pytest.approx(0.0, abs=1e-15)
    assert agree(result.crossings("x"), [1.0], atol=1e-12)


def test_an_oscillator_crosses_and_turns_where_the_cosine_does():
    b, x, _ = slider(start=1.0)
    b.potential(x**2 / 2)
    result = simulate(b.build(), until=20.0)
    assert agree(result.crossings("x"), np.pi * (np.arange(6) + 0.5), atol=1e-6)
    times, values = result.maxima("x")
    assert agree(times, 2 * np.pi * np.arange(1, 4), atol=1e-6)
    assert agree(values, np.ones(3), atol=1e-6)


# Tables and figures.


def test_a_table_has_every_signal_over_time_with_units(bouncing):
    frame = bouncing.to_pandas()
    assert frame.index.name == "t"
    assert np.array_equal(frame.index, bouncing.t)
    assert list(frame.columns) == list(bouncing.signals)
    for name, signal in bouncing.signals.items():
        assert np.array_equal(frame[name], signal)
    assert frame.attrs["units"] == dict(bouncing.units)
    assert frame.attrs["units"]["q_dot"] == "m/s"


def test_saved_files_can_be_read_back_to_the_last_bit(bouncing, tmp_path):
    folder = bouncing.save(tmp_path / "new" / "folder")
    assert folder == tmp_path / "new" / "folder"
    assert sorted(file.name for file in folder.iterdir()) == ["certificate.json", "events.csv", "trajectory.csv"]
    with (folder / "trajectory.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["t", *bouncing.signals]
    table = np.array(rows, dtype=float)
    assert np.array_equal(table[:, 0], bouncing.t)
    for k, signal in enumerate(bouncing.signals.values()):
        assert np.array_equal(table[:, k + 1], signal)
    with (folder / "events.csv").open(newline="") as file:
        events = list(csv.DictReader(file))
    assert [(float(e["time"]), e["contact"], e["before"], e["after"], float(e["impulse"])) for e in events] == [
        (e.time, e.contact, e.before, e.after, e.impulse) for e in bouncing.events
    ]
    assert json.loads((folder / "certificate.json").read_text()) == bouncing.certificate.to_dict()


def test_saving_twice_replaces_the_files(bouncing, flight, tmp_path):
    bouncing.save(tmp_path)
    flight.save(str(tmp_path))
    assert len((tmp_path / "events.csv").read_text().splitlines()) == 1


def rod():
    """A point mass on a rod: a pendulum in Cartesian coordinates."""
    b = ModelBuilder("rod")
    (x, vx), (y, vy) = b.coordinate("x", start=1.0), b.coordinate("y")
    m = b.parameter("m", 2.0, "kg")
    b.kinetic(m * (vx**2 + vy**2) / 2)
    b.potential(m * G * y)
    b.constraint("length", ca.sqrt(x**2 + y**2) - 1.0)
    return b.build()


def driven():
    """No contact, an input and outputs with units of their own."""
    b, x, v = slider(speed=1.0)
    b.force(b.input("drive", "N", value=2.0), along=x)
    b.output("angle", ca.atan(x), "rad")
    b.output("ratio", v / 2)
    return b.build()


def corner():
    b = ModelBuilder("corner")
    (x, vx), (y, vy) = b.coordinate("x", start=0.5, speed=-1.0), b.coordinate("y", start=0.3)
    b.kinetic((vx**2 + vy**2) / 2)
    b.potential(G * y)
    b.gap("wall", x)
    b.gap("floor", y)
    return b.build()


# For each figure its panels: the signals together in one, and the unit on its axis.
FIGURES = {
    "ball": (robots.ball, [(["q"], "[m]"), (["gap_floor"], "[m]"), (["force_floor"], "[N]"), (["floor"], "mode")]),
    "constraint only": (rod, [(["x", "y"], "[m]"), (["force_length"], "[N]")]),
    "no contacts": (driven, [(["x"], "[m]"), (["drive"], "[N]"), (["angle"], "[rad]")]),
    "two contacts": (
        corner,
        [
            (["x", "y"], "[m]"),
            (["gap_wall", "gap_floor"], "[m]"),
            (["force_wall", "force_floor"], "[N]"),
            (["wall", "floor"], "mode"),
        ],
    ),
}


@pytest.mark.parametrize("case", FIGURES)
def test_a_figure_has_a_panel_with_a_unit_for_every_kind_of_signal(case, tmp_path):
    make, panels = FIGURES[case]
    model = make()
    result = simulate(model, Baumgarte() if model.gaps else None, until=0.6)
    figure = result.plot()
    assert isinstance(figure, Figure)
    for names, unit in panels:
        (label,) = [a.get_ylabel() for a in figure.axes if [line.get_label() for line in a.lines] == names]
        assert label.endswith(unit)
    assert all(axis.get_ylabel() and axis.get_legend() for axis in figure.axes)
    assert figure.axes[-1].get_xlabel() == "time [s]"
    assert model.name in figure.get_suptitle()
    for line in [line for axis in figure.axes for line in axis.lines]:
        name = line.get_label()
        signal = result[name if name in result.signals else f"mode_{name}"]
        assert np.array_equal(line.get_xdata(), result.t)
        assert np.array_equal(line.get_ydata(), signal)
    figure.savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 1000


def test_modes_are_drawn_with_their_names(bouncing):
    axis = bouncing.plot().axes[-1]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["Free", "Contact", "Ballistic"]


@pytest.mark.parametrize("name", ["gap_wanted", "work_load", "mode_switch", "energy_feed", "impulse", "residual_guess"])
def test_an_input_is_drawn_whatever_it_is_called(name):
    b, x, _ = slider()
    b.force(b.input(name, "N"), along=x)
    figure = simulate(b.build(), until=0.1).plot()
    assert name in [line.get_label() for axis in figure.axes for line in axis.lines]


def test_a_signal_without_unit_gets_no_empty_brackets():
    labels = [axis.get_ylabel() for axis in simulate(driven(), until=0.1).plot().axes]
    assert not any("[]" in label for label in labels)


def test_a_printed_result_says_what_happened(bouncing):
    text = str(bouncing)
    assert "result of ball under baumgarte: 1.5 s simulated" in text
    assert "reached its end" in text
    assert f"{bouncing.certificate.events} events" in text
    assert "verdicts: all 2 hold" in text
    assert repr(bouncing) == text


# Certificates: contacts.

LANDING, OMEGA = 1.0, 10.0  # m/s, rad/s: the closed gap is −LANDING τ exp(−OMEGA τ) after touchdown


@pytest.fixture(scope="module")
def soft_landing():
    """A ball of 2 kg that lands with 1 m/s on a linear, critically damped floor and stays."""
    model = robots.ball(height=LANDING**2 / (2 * G), mass=2.0)
    return simulate(model, SOFT, until=1.0, method=Adaptive(rtol=1e-10, atol=1e-12, max_step=1e-3))


def soft(tau):
    """Gap, rate and force at a time after touchdown."""
    decay = math.exp(-OMEGA * tau)
    gap, rate = -LANDING * tau * decay, -LANDING * (1 - OMEGA * tau) * decay
    return gap, rate, 2.0 * (G + LANDING * OMEGA * (2 - OMEGA * tau) * decay)


def test_a_soft_landing_follows_its_closed_form(soft_landing):
    (touchdown,) = soft_landing.touchdowns("floor")
    assert agree(touchdown, LANDING / G, atol=1e-11)
    for k in np.flatnonzero(soft_landing.t > touchdown + 1e-9):
        gap, rate, force = soft(soft_landing.t[k] - touchdown)
        assert agree(soft_landing["gap_floor"][k], gap, atol=1e-9)
        assert agree(soft_landing["gap_floor_dot"][k], rate, atol=1e-8)
        assert agree(soft_landing["force_floor"][k], force, atol=1e-6)


def test_the_certificate_of_a_soft_landing_has_its_extremes(soft_landing):
    certificate = soft_landing.certificate.contacts["floor"]
    touchdown = LANDING / G
    assert agree(certificate.deepest_penetration, LANDING / (OMEGA * math.e), rtol=1e-4)  # at τ = 1/ω
    assert agree(certificate.smallest_force, 2.0 * (G - LANDING * OMEGA * math.exp(-3)), rtol=1e-4)  # at 3/ω
    assert agree(certificate.steady_penetration, -soft(0.95 - touchdown)[0], rtol=0.02)
    products = [abs(soft(tau)[0] * soft(tau)[2]) for tau in np.linspace(0, 1, 100_001)]
    assert agree(certificate.complementarity, max(products), rtol=1e-4)
    gap, _, force = soft(0.95 - touchdown)
    assert agree(certificate.steady_complementarity, abs(gap * force), rtol=0.02)


def test_the_work_of_a_contact_is_the_integral_of_force_times_speed(soft_landing):
    touchdown = LANDING / G
    work, _ = quad(lambda tau: soft(tau)[1] * soft(tau)[2], 0, 1 - touchdown, epsabs=1e-12)
    balance = soft_landing.certificate.energy
    assert agree(balance.contacts, work, rtol=1e-7)
    assert abs(balance.residual) < 1e-7
    assert balance.applied == balance.dissipated == balance.time == balance.constraints == 0


def test_a_contact_that_never_closes_has_no_force_and_no_steady_penetration(flight):
    certificate = flight.certificate.contacts["floor"]
    assert certificate.smallest_force is None
    assert certificate.steady_penetration is None
    assert certificate.deepest_penetration == 0.0
    assert certificate.complementarity == certificate.steady_complementarity == 0.0


def test_a_contact_that_is_open_at_the_end_has_no_steady_penetration():
    result = simulate(robots.ball(), Baumgarte(), until=0.8)
    assert result.mode("floor") != "Contact"
    certificate = result.certificate.contacts["floor"]
    assert certificate.steady_penetration is None
    assert certificate.deepest_penetration > 0.01
    assert certificate.smallest_force is not None


def test_certificates_do_not_depend_on_what_is_recorded():
    every = simulate(robots.ball(), Baumgarte(), until=1.5).certificate
    few = simulate(robots.ball(), Baumgarte(), until=1.5, sample=0.5).certificate
    for name in ("deepest_penetration", "smallest_force", "complementarity"):
        assert getattr(every.contacts["floor"], name) == getattr(few.contacts["floor"], name)
    assert every.energy == few.energy
    assert every.steps == few.steps


def test_deepest_penetration_is_at_least_what_the_steps_show(bouncing):
    assert bouncing.certificate.contacts["floor"].deepest_penetration >= -bouncing["gap_floor"][
        np.isin(bouncing.t, bouncing.steps[:, 0])
    ].min(initial=0.0)


def test_each_contact_has_its_own_certificate():
    result = simulate(corner(), {"wall": SOFT, "floor": SOFT}, until=0.4)
    wall, floor = result.certificate.contacts["wall"], result.certificate.contacts["floor"]
    assert floor.deepest_penetration > 0
    assert floor.smallest_force is not None
    assert wall.deepest_penetration == 0.0  # it is reached at t = 0.5
    assert wall.smallest_force is None


# Certificates: constraints.


def test_a_constraint_drifts_by_no_more_than_the_tolerance_allows():
    result = simulate(rod(), until=3.0)
    drift, rows = result.certificate.constraint_drift, np.abs(result["residual_length"])
    at_steps = np.isin(result.t, np.append(result.steps[:, 0], 3.0))
    assert agree(drift, rows[at_steps].max(), rtol=1e-9)
    assert 0 < drift < 1e-7


def test_a_rod_pulls_as_the_pendulum_says():
    """Released from the horizontal: tension 3 m g sin(depth), work nothing."""
    result = simulate(rod(), until=1.0)
    assert agree(-result["force_length"], 3 * 2.0 * G * -result["y"], atol=1e-5)
    assert abs(result.certificate.energy.constraints) < 1e-6
    assert abs(result.certificate.energy.residual) < 1e-6


def test_weak_stabilization_shows_in_the_drift():
    strong = simulate(rod(), until=3.0, method=Adaptive(rtol=1e-4, atol=1e-4))
    weak = simulate(rod(), until=3.0, method=Adaptive(rtol=1e-4, atol=1e-4), stabilization=(1e-6, 1e-3))
    assert weak.certificate.constraint_drift > strong.certificate.constraint_drift > 0


def test_a_start_within_tolerance_of_a_constraint_decays_as_its_stabilization_says():
    """ḧ + 40 ḣ + 400 h = 0 from h = 9e-7: (1 + 20 t) exp(−20 t)."""
    b, x, _ = slider(start=9e-7)
    b.constraint("pin", x)
    result = simulate(b.build(), until=0.5, method=Adaptive(rtol=1e-9, atol=1e-14))
    t = result.t
    assert agree(result["residual_pin"], 9e-7 * (1 + 20 * t) * np.exp(-20 * t), atol=1e-12)
    assert result.certificate.constraint_drift == pytest.approx(9e-7)


def test_a_moving_pin_does_the_work_that_its_mass_gains():
    """x = sin t, prescribed: the pin's work is ½ m (cos² T − 1)."""
    b, x, _ = slider(speed=1.0, mass=3.0)
    b.constraint("pin", x - ca.sin(b.time))
    result = simulate(b.build(), until=2.0)
    assert agree(result["force_pin"], -3.0 * np.sin(result.t), atol=1e-6)
    assert agree(result.certificate.energy.constraints, 1.5 * (math.cos(2.0) ** 2 - 1), atol=1e-7)
    assert abs(result.certificate.energy.residual) < 1e-7


# Certificates: energy.


def test_damping_dissipates_what_a_coasting_mass_loses():
    b, x, v = slider(speed=2.0, mass=3.0)
    b.damping(0.5 * v, along=x)
    result = simulate(b.build(), until=4.0)
    lost = 6.0 * (1 - math.exp(-2 * 0.5 / 3.0 * 4.0))
    balance = result.certificate.energy
    assert agree(balance.start, 6.0, rtol=1e-14)
    assert agree(balance.dissipated, lost, rtol=1e-8)
    assert agree(balance.end, 6.0 - lost, rtol=1e-7)
    assert balance.relative < 1e-8
    assert agree(result["work_damping"], -6.0 * (1 - np.exp(-result.t / 3.0)), atol=1e-7)


def test_an_applied_force_works_along_its_way():
    b, x, _ = slider(mass=3.0)
    b.force(b.input("u", "N"), along=x)
    result = simulate(b.build(), until=2.0, inputs={"u": 5.0})
    assert agree(result.certificate.energy.applied, 5.0 * (5.0 / 3.0 * 2.0**2 / 2), rtol=1e-10)
    assert result.certificate.energy.relative < 1e-10
    assert (result["u"] == 5.0).all()


def test_damping_and_drive_balance_in_a_forced_oscillator():
    """x = sin t of m x″ + c x′ + k x = c cos t + (k − m) sin t, started on it."""
    m, c, k, T = 2.0, 0.3, 5.0, 7.0
    b, x, v = slider(speed=1.0, mass=m)
    b.potential(k * x**2 / 2)
    b.damping(c * v, along=x)
    b.force(c * ca.cos(b.time) + (k - m) * ca.sin(b.time), along=x)
    balance = simulate(b.build(), until=T).certificate.energy
    half = (T + math.sin(T) * math.cos(T)) / 2  # ∫ cos²
    assert agree(balance.dissipated, c * half, rtol=1e-6)
    assert agree(balance.applied, c * half + (k - m) * math.sin(T) ** 2 / 2, rtol=1e-6)
    assert abs(balance.residual) < 1e-6


def lift(motion):
    """A ball of 2 kg on a plate that moves on its own."""
    b = ModelBuilder("lift")
    q, v = b.coordinate("q", start=0.0)
    b.kinetic(2.0 * v**2 / 2)
    b.potential(2.0 * G * q)
    b.gap("plate", q - motion(b.time))
    return b.build()


def test_an_accelerating_lift_does_work_on_its_load():
    """Closed from the start: force m (g + a), work force times way."""
    result = simulate(lift(lambda t: 3.0 * t**2 / 2), Baumgarte(), until=1.2)
    assert result.events == ()
    assert result.mode("plate") == "Contact"
    assert agree(result["force_plate"], 2.0 * (G + 3.0), rtol=1e-8)
    assert agree(result["gap_plate"], 0.0, atol=1e-10)
    balance = result.certificate.energy
    assert agree(balance.contacts, 2.0 * (G + 3.0) * 3.0 * 1.2**2 / 2, rtol=1e-8)
    assert balance.time == balance.applied == balance.constraints == 0.0
    assert abs(balance.residual) < 1e-7


def test_a_shaken_plate_works_as_much_as_its_load_gains():
    """z = A (1 − cos ωt) with A ω² < g: the load stays on and gains m g z + ½ m ż²."""
    A, omega, T = 0.1, 6.0, 1.7
    result = simulate(lift(lambda t: A * (1 - ca.cos(omega * t))), Baumgarte(), until=T)
    height, speed = A * (1 - math.cos(omega * T)), A * omega * math.sin(omega * T)
    assert result.mode("plate") == "Contact"
    assert agree(result["force_plate"], 2.0 * (G + A * omega**2 * np.cos(omega * result.t)), atol=1e-4)
    assert agree(result.certificate.energy.contacts, 2.0 * G * height + speed**2, atol=1e-6)
    assert abs(result.certificate.energy.residual) < 1e-6


def test_a_bouncing_ball_on_a_moving_plate_balances_its_energy():
    result = simulate(lift(lambda t: -0.3 + 0.2 * ca.sin(5 * t)), Baumgarte(), until=3.0)
    assert len(result.events) >= 4
    balance = result.certificate.energy
    assert agree(balance.end - balance.start, balance.contacts, atol=1e-5)
    independent = np.trapezoid(result["force_plate"] * result["q_dot"], result.t)
    assert agree(balance.contacts, independent, rtol=0.02)


def test_a_potential_that_depends_on_time_does_explicit_work():
    """V = −x sin t with unit mass: x = t − sin t, and ∂V/∂t = −x cos t."""
    T = 5.0
    b, x, _ = slider()
    b.potential(-x * ca.sin(b.time))
    result = simulate(b.build(), until=T)
    assert agree(result["x"], result.t - np.sin(result.t), atol=1e-7)
    work = -(T * math.sin(T) + math.cos(T) - 1) + math.sin(T) ** 2 / 2
    balance = result.certificate.energy
    assert agree(balance.time, work, atol=1e-7)
    assert agree(balance.end, (1 - math.cos(T)) ** 2 / 2 - (T - math.sin(T)) * math.sin(T), atol=1e-7)
    assert abs(balance.residual) < 1e-7


def test_a_mass_that_grows_with_time_does_explicit_work():
    """T = ½ (1 + t) v², no force: momentum (1 + t) v stays 2; −∂T/∂t = −½ v²."""
    b = ModelBuilder("snowball")
    _, v = b.coordinate("x", speed=2.0)
    b.kinetic((1 + b.time) * v**2 / 2)
    result = simulate(b.build(), until=3.0)
    assert agree(result["x"], 2 * np.log1p(result.t), atol=1e-8)
    balance = result.certificate.energy
    assert agree(balance.end, 2.0 / 4.0, atol=1e-8)
    assert agree(balance.time, -1.5, atol=1e-7)  # −∫ 2/(1 + t)² dt


def test_the_balance_adds_up_by_definition():
    work = {"applied": 2.0, "damping": -0.5, "time": 0.25, "constraints": -1.0, "contacts": 4.0}
    balance = energy_balance(10.0, 15.0, work)
    assert (balance.dissipated, balance.residual, balance.relative) == (0.5, 0.25, 0.25 / 15.0)
    nothing = energy_balance(0.0, 0.0, dict.fromkeys(work, 0.0))
    assert (nothing.residual, nothing.relative) == (0.0, 0.0)


def test_a_certificate_is_printed_and_is_plain_data(bouncing):
    certificate = bouncing.certificate
    text = str(certificate)
    assert f"{certificate.steps} steps, {certificate.rejected} rejected" in text
    assert "contact floor" in text
    assert json.loads(json.dumps(certificate.to_dict())) == certificate.to_dict()
    assert certificate.events == len(bouncing.events)
    assert certificate.evaluations > 6 * certificate.steps


# Runs that fail half-way.


def escaping():
    """x″ = 2 x³ from x = v = 1 has x = 1/(1 − t): it is gone at t = 1."""
    b, x, _ = slider(start=1.0, speed=1.0)
    b.potential(-(x**4) / 2)
    return b.build()


@pytest.mark.parametrize("method", [None, FixedStep(1e-3)], ids=["adaptive", "fixed"])
def test_a_run_that_escapes_returns_what_it_has_and_why(method):
    with pytest.warns(ImpingeWarning, match="the run of slider stopped early: at t = 1"):
        result = simulate(escaping(), until=2.0, method=method)
    assert not result.ok
    assert "at t = 1" in result.reason
    assert "finite" in result.reason or "too fast" in result.reason
    assert abs(result.t[-1] - 1.0) < 0.01
    usual = result.t < 0.9
    assert usual.sum() > 100
    assert agree(result["x"][usual] * (1 - result.t[usual]), 1.0, atol=1e-6)
    assert f"stopped early: {result.reason}" in str(result)
    assert len(result.to_pandas()) == result.t.size
    assert result.plot().axes


def test_a_run_that_leaves_the_domain_of_its_model_stops_there():
    """A square root of 1 − x in the potential: x reaches 1 soon after t = 1."""
    b, x, _ = slider(speed=1.0)
    b.potential(1e-3 * ca.sqrt(1 - x))
    b.gap("far", 5 - x)
    with pytest.warns(ImpingeWarning, match="stopped early"):
        result = simulate(b.build(), Baumgarte(), until=3.0)
    assert not result.ok
    assert "finite" in result.reason
    assert agree(result["x"][-1], 1.0, atol=1e-6)
    assert all(np.isfinite(signal).all() for signal in result.signals.values())
    assert result.certificate.steps > 0


def nowhere():
    """A potential that is not even defined at the start."""
    b, x, _ = slider()
    b.potential(ca.sqrt(x - 1))
    return b.build()


def test_a_run_that_cannot_start_returns_its_first_row():
    with pytest.warns(ImpingeWarning, match="stopped early"):
        result = simulate(nowhere(), until=1.0)
    assert not result.ok
    assert "at t = 0 s" in result.reason
    assert result.t.tolist() == [0.0]
    assert result["x"].tolist() == [0.0]
    assert result.plot().axes


def test_a_balance_that_is_no_number_does_not_look_perfect():
    with pytest.warns(ImpingeWarning, match="energy balance: nan J"):
        balance = simulate(nowhere(), until=1.0).certificate.energy
    assert math.isnan(balance.residual)
    assert balance.relative != 0.0
    work = dict.fromkeys(("applied", "damping", "time", "constraints", "contacts"), 1.0)
    assert energy_balance(1.0, math.nan, work).relative != 0.0


def test_the_certificate_of_a_failed_run_is_saved_as_valid_json(tmp_path):
    def refuse(constant):
        raise ValueError(f"{constant} is not JSON")

    with pytest.warns(ImpingeWarning, match="stopped early"):
        folder = simulate(nowhere(), until=1.0).save(tmp_path)
    json.loads((folder / "certificate.json").read_text(), parse_constant=refuse)


def test_a_run_that_records_too_much_stops_with_what_it_has(monkeypatch):
    from impinge import Baumgarte, robots, simulate
    from impinge.simulation import conduct

    monkeypatch.setattr(conduct, "_MOST_BYTES", 10_000)
    with pytest.warns(ImpingeWarning, match="the record fills"):
        result = simulate(robots.ball(), Baumgarte(), until=10.0, sample=1e-4)
    assert not result.ok
    assert "the record fills" in result.reason
    assert "give a sample spacing" in result.reason
    assert 0 < result.t[-1] < 10.0


def test_a_run_inside_a_run_and_after_a_failed_one_is_the_same_run():
    """Workspaces are used again, but never by two at a time, and as new."""
    from impinge import Baumgarte, robots, simulate

    def fall():
        return simulate(robots.ball(), Baumgarte(), until=1.0)

    class Foresight:
        period = 0.1

        def reset(self, measurement):
            self.seen = []

        def step(self, t, measurement):
            self.seen.append(fall()["q"])
            return {}

    alone, foresight = fall(), Foresight()
    outer = simulate(robots.ball(), Baumgarte(), until=1.0, controller=foresight)
    assert len(foresight.seen) == 10
    assert all(np.array_equal(seen, alone["q"]) for seen in foresight.seen)
    assert outer["q"][-1] == pytest.approx(alone["q"][-1], abs=1e-8)

    class Breaks(Foresight):
        def step(self, t, measurement):
            if t > 0.5:
                raise ZeroDivisionError
            return {}

    with pytest.raises(ZeroDivisionError):
        simulate(robots.ball(), Baumgarte(), until=1.0, controller=Breaks())
    assert np.array_equal(fall()["q"], alone["q"])
