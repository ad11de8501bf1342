"""Poles, zeros and what cancels: closed forms, planted hidden modes, and the transfer function itself."""

from __future__ import annotations

import control
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import block_diag

from impinge.analysis.linear.linear_model import LinearModel
from impinge.analysis.linear.sampled import sampled
from impinge.analysis.responses.poles import poles_and_zeros
from impinge.errors import InputError

UNSTABLE = 8.954


def state_space(a, b, c, d=0.0, dt=0, **options):
    b, c = np.array(b, dtype=float), np.array(c, dtype=float)
    return LinearModel((a, b.reshape(len(a), -1), c.reshape(-1, len(a)), d, dt), **options)


def transformed(system, change):
    back = np.linalg.inv(change)
    return LinearModel(
        (change @ system.A @ back, change @ system.B, system.C @ back, system.D, system.dt),
        constraint_poles=system.constraint_poles,
    )


def change_of_states(seed, n, decades, condition):
    """A random similarity: rotations around a diagonal of some condition, then units that differ by decades."""
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.normal(size=(n, n)))[0] for _ in range(2))
    stretch = np.diag(np.logspace(-0.5, 0.5, n) ** np.log10(condition))
    return np.diag(10 ** rng.uniform(-decades, decades, n)) @ left @ stretch @ right


def direct(system, s):
    eye = np.eye(system.nstates)
    return np.array([(system.C @ np.linalg.solve(x * eye - system.A, system.B) + system.D)[0, 0] for x in s])


def mechanism():
    """Two constraints stabilized with a double pole at −5 each, a drifting cart, and a pole that falls over."""
    constraint = [[-5.0, 1.0], [0.0, -5.0]]
    a = block_diag(constraint, constraint, [[0, 1], [0, 0]], [[0, 1], [UNSTABLE**2, 0]])
    return state_space(a, [0, 0, 0, 0, 0, 0.4, 0, 3], [1, 2, 0.5, 1, 0, 0, 1, 0], constraint_poles=[-5] * 4)


def test_a_mass_on_a_spring_has_two_poles_and_no_zero():
    channel = poles_and_zeros(state_space([[0, 1], [-400, -4]], [0, 0.5], [1, 0]))
    assert channel.remaining_poles == pytest.approx(np.array([-2 - 1j * 396**0.5, -2 + 1j * 396**0.5]), rel=1e-12)
    assert channel.zeros.size == 0
    assert channel.cancellations == ()
    assert channel.gain == pytest.approx(0.5)


def test_speed_has_one_zero_at_the_origin_and_acceleration_two():
    a, b = [[0, 1], [-400, -4]], [0, 0.5]
    assert poles_and_zeros(state_space(a, b, [0, 1])).remaining_zeros.tolist() == [0]
    acceleration = poles_and_zeros(state_space(a, b, [-400, -4], 0.5))
    assert acceleration.remaining_zeros.tolist() == [0, 0]
    assert acceleration.gain == 0.5


def test_the_poles_of_a_double_integrator_are_exactly_zero():
    turned = transformed(state_space([[0, 1], [0, 0]], [0, 2], [1, 0]), change_of_states(3, 2, 3, 10))
    channel = poles_and_zeros(turned)
    assert np.abs(np.linalg.eigvals(turned.A)).max() > 0  # rounding tears them apart
    assert channel.remaining_poles.tolist() == [0, 0]
    assert channel.gain == pytest.approx(2, rel=1e-9)


def test_the_speed_of_a_double_integrator_hides_one_rigid_body_pole():
    channel = poles_and_zeros(state_space([[0, 1], [0, 0]], [0, 2], [0, 1]))
    assert channel.remaining_poles.tolist() == [0]
    assert [c.kind for c in channel.cancellations] == ["rigid-body"]
    assert channel.poles.tolist() == [0, 0]
    assert channel.zeros.tolist() == [0]


@pytest.mark.parametrize("decades", [0, 1.5, 3])
@pytest.mark.parametrize("condition", [1, 10, 100])
@pytest.mark.parametrize("seed", range(4))
def test_cancelled_poles_do_not_appear_in_the_transfer_function(seed, condition, decades):
    system = transformed(mechanism(), change_of_states(seed, 8, decades, condition))
    channel = poles_and_zeros(system)
    assert channel.remaining_poles == pytest.approx(np.array([-UNSTABLE, UNSTABLE]), rel=1e-9)
    assert channel.remaining_zeros.size == 0
    assert channel.gain == pytest.approx(3, rel=1e-7)
    assert sorted(c.kind for c in channel.cancellations) == ["constraint"] * 4 + ["rigid-body"] * 2
    assert channel.poles == pytest.approx(np.array([-UNSTABLE, -5, -5, -5, -5, 0, 0, UNSTABLE]), abs=1e-7)
    assert channel.zeros == pytest.approx(np.array([-5, -5, -5, -5, 0, 0]), abs=1e-7)
    assert all(c.pole == c.zero for c in channel.cancellations)


@pytest.mark.parametrize("seed", range(4))
def test_a_constraint_pole_explains_as_many_cancellations_as_it_is_given(seed):
    system = mechanism()
    system.constraint_poles = np.array([-5, -5, -5], dtype=complex)
    channel = poles_and_zeros(transformed(system, change_of_states(seed, 8, 2, 10)))
    assert sorted(c.kind for c in channel.cancellations) == ["constraint"] * 3 + ["rigid-body"] * 2 + ["structural"]


def test_a_constraint_pole_at_the_origin_is_not_called_a_rigid_body():
    system = state_space(np.diag([0.0, 0.0, -1.0]), [0, 0, 1], [0, 0, 1], constraint_poles=[0])
    assert sorted(c.kind for c in poles_and_zeros(system).cancellations) == ["constraint", "rigid-body"]


@pytest.mark.parametrize("period", [1e-3, 1e-2, 0.1])
def test_what_cancels_in_continuous_time_cancels_when_sampled(period):
    channel = poles_and_zeros(sampled(transformed(mechanism(), change_of_states(1, 8, 2, 10)), period))
    assert channel.remaining_poles == pytest.approx(np.exp(np.array([-UNSTABLE, UNSTABLE]) * period), rel=1e-9)
    assert channel.remaining_zeros == pytest.approx(np.array([-1]), abs=1e-6)
    assert channel.gain == pytest.approx(3 * (np.cosh(UNSTABLE * period) - 1) / UNSTABLE**2, rel=1e-7)
    hidden = {kind: [c.pole for c in channel.cancellations if c.kind == kind] for kind in ("constraint", "rigid-body")}
    assert hidden["constraint"] == pytest.approx([np.exp(-5 * period)] * 4, abs=1e-8)
    assert hidden["rigid-body"] == [1, 1]


@pytest.mark.parametrize("seed", range(10))
def test_neither_units_nor_rounding_between_uncoupled_states_make_a_mode_appear(seed):
    """A cart that is not seen and two constraints that are not driven, in positions and speeds of any unit."""
    rng = np.random.default_rng(seed)
    a = np.diag([1.0, 0, 1, 0, 1, 0, 1], 1)
    a[1, :2] = a[3, 2:4] = -25, -10
    a[5, [0, 6]] = 30, -7
    a[7, [2, 6]] = 11, UNSTABLE**2
    a += np.where(a == 0, 1e-16 * rng.normal(size=a.shape), 0)
    units = 10 ** rng.uniform(-2, 2, 8)
    force, view = np.array([0, 0, 0, 0, 0, 0.4, 0, 3]), np.eye(8)[6]
    system = state_space(units[:, None] * a / units, units * force, view / units, constraint_poles=[-5] * 4)
    channel = poles_and_zeros(system)
    assert channel.remaining_poles == pytest.approx(np.array([-UNSTABLE, UNSTABLE]), rel=1e-9)
    assert channel.gain == pytest.approx(3)
    assert sorted(c.kind for c in channel.cancellations) == ["constraint"] * 4 + ["rigid-body"] * 2


def test_two_hidden_jordan_blocks_of_size_four_at_one_pole_are_found():
    blocks = [np.diag([-1.0, 2.0, -12.0]), *[-5 * np.eye(4) + np.diag([2.0] * 3, 1)] * 2]
    driven, seen = [0.5, 0.7, 0.9], [0.4, 0.3, 1.0]
    system = state_space(block_diag(*blocks), driven + [0.3] * 4 + [0] * 4, seen + [0] * 4 + [0.6] * 4)
    for seed in range(30):
        channel = poles_and_zeros(transformed(system, change_of_states(seed, 11, 1, 3)))
        assert channel.remaining_poles == pytest.approx(np.array([-12, -1, 2]), rel=1e-7)


def test_delays_are_poles_at_zero():
    channel = poles_and_zeros(state_space(np.diag([1.0, 1.0], 1), [0, 0, 1], [1, 0, 0], dt=0.1))
    assert channel.remaining_poles == pytest.approx(np.zeros(3), abs=1e-12)
    assert channel(2.0) == pytest.approx(1 / 8)


def test_a_coupling_that_does_not_exist_has_neither_poles_nor_zeros_nor_gain():
    two = state_space(np.diag([-1.0, -2.0]), np.eye(2), np.eye(2), np.zeros((2, 2)), inputs=["a", "b"])
    channel = poles_and_zeros(two, "a", 1)
    assert channel.remaining_poles.size == channel.remaining_zeros.size == channel.gain == 0
    assert sorted(c.pole.real for c in channel.cancellations) == [-2, -1]
    assert channel(3.0) == 0


def test_a_mode_neither_driven_nor_seen_cancels_once():
    channel = poles_and_zeros(state_space(np.diag([-1.0, -2.0]), [1, 0], [1, 0]))
    assert [(c.pole, c.kind) for c in channel.cancellations] == [(-2, "structural")]


def test_of_two_equal_modes_one_channel_sees_one():
    channel = poles_and_zeros(state_space(np.diag([-2.0, -2.0]), [1, 1], [1, 3]))
    assert channel.remaining_poles == pytest.approx(np.array([-2]))
    assert [c.kind for c in channel.cancellations] == ["structural"]
    assert channel.gain == pytest.approx(4)


def test_poles_that_are_near_but_different_both_stay():
    channel = poles_and_zeros(state_space([[0, 1], [0, -1e-4]], [0, 1], [1, 0]))
    assert channel.remaining_poles == pytest.approx(np.array([-1e-4, 0]), rel=1e-6)
    channel = poles_and_zeros(state_space([[0, 1], [0, -1e-4]], [0, 1], [0, 1]))
    assert channel.remaining_poles == pytest.approx(np.array([-1e-4]), rel=1e-6)
    assert [c.kind for c in channel.cancellations] == ["rigid-body"]


def test_a_pure_gain_has_only_a_gain():
    channel = poles_and_zeros(control.ss([], [], [], 7.0))
    assert (channel.poles.size, channel.zeros.size, channel.gain) == (0, 0, 7)
    assert channel(1j) == 7
    hidden = poles_and_zeros(state_space([[-1.0]], [0], [1], 7.0))
    assert (hidden.remaining_poles.size, hidden.gain, len(hidden.cancellations)) == (0, 7, 1)


def test_channels_are_chosen_by_name_or_number():
    two = state_space(
        np.diag([-1.0, -2.0]), np.eye(2), [[1, 2], [3, 4]], np.zeros((2, 2)), inputs=["a", "b"], outputs=["x", "y"]
    )
    assert poles_and_zeros(two, "b", "x").gain == poles_and_zeros(two, 1, 0).gain == 2
    assert poles_and_zeros(two, "b", "x").channel == "b → x"


rates = st.sampled_from([-8.0, -5.0, -3.0, -1.0, -0.5, 0.0, 2.0, 7.0])
couplings = st.floats(0.2, 1.0)


@st.composite
def planted(draw):
    """Distinct modes that are driven and seen, and Jordan blocks, repeated at will, that are not both."""
    blocks, force, view = [], [], []
    kept = draw(st.lists(rates, min_size=1, max_size=4, unique=True))
    for rate in kept:
        blocks.append([[rate]])
        force.append(draw(couplings))
        view.append(draw(couplings))
    hidden = []
    for _ in range(draw(st.integers(1, 3))):
        rate, size, how = draw(rates), draw(st.integers(1, 2)), draw(st.sampled_from(["undriven", "unseen", "neither"]))
        blocks.append(rate * np.eye(size) + np.diag(np.ones(size - 1) * draw(st.floats(0.5, 2)), 1))
        force += [draw(couplings) if how == "unseen" else 0.0 for _ in range(size)]
        view += [draw(couplings) if how == "undriven" else 0.0 for _ in range(size)]
        hidden += [rate] * size
    direct_part = draw(st.sampled_from([0.0, 1.5]))
    system = state_space(block_diag(*blocks), force, view, direct_part)
    n = len(force)
    change = change_of_states(draw(st.integers(0, 999)), n, draw(st.sampled_from([0, 1.5, 3])), draw(st.floats(1, 30)))
    return system, transformed(system, change), kept, hidden


@settings(max_examples=150, deadline=None, derandomize=True)
@given(planted(), st.integers(0, 99))
def test_planted_modes_are_found_and_the_rest_is_the_transfer_function(case, seed):
    plain, system, kept, hidden = case
    channel = poles_and_zeros(system)
    assert channel.remaining_poles == pytest.approx(np.sort(kept), abs=1e-7)
    assert np.sort([c.pole.real for c in channel.cancellations]) == pytest.approx(np.sort(hidden), abs=1e-3)
    assert len(channel.poles) == plain.nstates
    assert len(channel.zeros) - len(hidden) == len(channel.remaining_zeros)
    rng = np.random.default_rng(seed)
    s = rng.uniform(-10, 10, 5) + 1j * rng.uniform(1, 20, 5)
    expected = direct(plain, s)
    scale = np.abs(expected).max()
    assert channel(s) == pytest.approx(expected, rel=1e-6, abs=1e-7 * scale)
    assert direct(channel.minimal, s) == pytest.approx(expected, rel=1e-6, abs=1e-7 * scale)


def test_the_table_shows_what_remains_and_what_cancels():
    system = mechanism()
    text = str(poles_and_zeros(system)).splitlines()
    assert text[0] == "u[0] → y[0], gain 3"
    assert [line.split() for line in text[1:3]] == [["pole", "-8.954"], ["pole", "8.954"]]
    assert sorted(line.split("zero")[1].split() for line in text[3:]) == [
        ["-5", "×4", "constraint"],
        ["0", "×2", "rigid-body"],
    ]
    assert "-2 ± 19.8997j" in str(poles_and_zeros(state_space([[0, 1], [-400, -4]], [0, 1], [1, 0])))


def test_the_map_is_drawn_with_units_and_kinds():
    axis = poles_and_zeros(mechanism()).plot().axes[0]
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("real part [rad/s]", "imaginary part [rad/s]")
    labels = [text.get_text() for text in axis.get_legend().get_texts()]
    assert labels == ["cancelled: constraint ×4", "cancelled: rigid-body ×2", "poles"]
    assert poles_and_zeros(sampled(mechanism(), 0.01)).plot().axes[0].get_xlabel() == "real part"


TWO = state_space(np.diag([-1.0, -2.0]), np.eye(2), np.eye(2), np.zeros((2, 2)), inputs=["force", "torque"])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((TWO,), r"expected one output, got a system with 2\. Choose one of: y\[0\], y\[1\]\."),
        ((TWO, None, 0), r"expected one input, got a system with 2\. Choose one of: force, torque\."),
        ((TWO, "farce", 0), r"expected a known input, got 'farce'\. Did you mean 'force'\?"),
        ((TWO, 2, 0), r"expected one input, got 2 for a system with 2\. Choose one of: force, torque\."),
        ((control.tf([1], [1, 1]),), r"expected a control.StateSpace, got a TransferFunction\. Convert it with"),
        ((state_space([[np.nan]], [1], [1]),), r"expected matrices of finite numbers, got nan or inf\. Look at"),
    ],
)
def test_a_channel_that_cannot_be_analyzed_is_refused(arguments, text):
    with pytest.raises(InputError, match=f"poles_and_zeros: {text}"):
        poles_and_zeros(*arguments)
