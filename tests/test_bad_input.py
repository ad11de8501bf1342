"""Bad input: every way to start a run wrongly has its message, which says who, expected, got and what to do."""

from __future__ import annotations

from fractions import Fraction

import casadi as ca
import numpy as np
import pytest

from impinge import Adaptive, Baumgarte, FixedStep, InputError, ModelBuilder, StartError, robots, simulate
from impinge.errors import ImpingeWarning
from impinge.simulation.system.inertia import surely_inertia

LAW = Baumgarte()
NAN, INF = float("nan"), float("inf")


def refused(error, text, call, *arguments, **options):
    """Expect an error whose text matches and whose four parts are all there."""
    with pytest.raises(error, match=text) as caught:
        call(*arguments, **options)
    parts = (caught.value.who, caught.value.expected, caught.value.got, caught.value.remedy)
    assert all(parts)
    assert caught.value.remedy[-1] in ".?"
    assert str(caught.value) == "{}: expected {}, got {}. {}".format(*parts)


def run(model=None, law=LAW, until=0.1, **options):
    return simulate(robots.ball() if model is None else model, law, until=until, **options)


def two_masses(**starts):
    """Two masses with a wall and a stop each."""
    b = ModelBuilder("pair")
    for name in ("left", "right"):
        x, v = b.coordinate(name, start=starts.get(name, 1.0), speed=starts.get(f"{name}_dot", 0.0))
        b.kinetic(v**2 / 2)
        b.gap(f"wall_{name}", x, unit="mm")
    return b.build()


def pinned():
    b = ModelBuilder("pinned")
    (x, vx), (y, vy) = b.coordinate("x", start=1.0), b.coordinate("y")
    m = b.parameter("m", 1.0)
    b.kinetic(m * (vx**2 + vy**2) / 2)
    b.constraint("rod", x**2 + y**2 - 1)
    return b.build()


def driven():
    b = ModelBuilder("driven")
    x, v = b.coordinate("x")
    b.kinetic(v**2 / 2)
    b.force(b.input("push", "N") + b.input("pull", "N"), along=x)
    return b.build()


def test_what_is_right_is_not_refused():
    """The other tests change one thing of runs that work."""
    assert run().ok
    assert run(two_masses()).ok
    assert run(pinned(), None).ok
    assert run(driven(), None, controller=Steady()).ok


# Numbers and names.


@pytest.mark.parametrize("value", [NAN, INF, -INF, "heavy", None])
def test_a_parameter_must_be_a_finite_number(value):
    text = rf"parameter 'm' of model 'ball': expected a finite number, got {value!r}\. Give it a finite value\."
    refused(InputError, text, run, parameters={"m": value})


def test_an_unknown_parameter_names_the_nearest():
    refused(InputError, r"model 'ball': expected .*parameter.*, got 'G'\. Did you mean 'g'\?", run, parameters={"G": 1})
    refused(InputError, r"model 'ball': .* got 'stiffness'\. Known: g, m\.", run, parameters={"stiffness": 1.0})
    refused(
        InputError, r"model 'pair': expected .*parameter.*, got 'm'\. There is no parameter here: leave it out\.",
        run, two_masses(), parameters={"m": 1.0},
    )  # fmt: skip


@pytest.mark.parametrize("value", [NAN, INF])
def test_a_start_value_must_be_a_finite_number(value):
    text = rf"start value 'q_dot' of model 'ball': expected a finite number, got {value!r}\. Give it a finite value\."
    refused(InputError, text, run, start={"q_dot": value})


def test_an_unknown_start_value_names_the_nearest():
    text = r"model 'ball': expected .*start value.*, got 'qdot'\. Did you mean 'q_dot'"
    refused(InputError, text, run, start={"qdot": 1.0})
    refused(InputError, r"got 'height'\. Known: q, q_dot\.", run, start={"height": 1.0})


def test_an_input_must_be_known_and_finite():
    text = r"model 'driven': expected .*input.*, got 'pushed'\. Did you mean 'push'"
    refused(InputError, text, run, driven(), None, inputs={"pushed": 1.0})
    text = r"input 'push' of model 'driven': expected a finite number, got nan\. Give it a finite value\."
    refused(InputError, text, run, driven(), None, inputs={"push": NAN})


@pytest.mark.parametrize("until", [0.0, -1.0])
def test_the_end_must_come_after_the_start(until):
    text = (
        rf"simulation of model 'ball': expected an end time above zero, got until = {until:g} s\. Runs start at t = 0\."
    )
    refused(InputError, text, run, until=until)


@pytest.mark.parametrize("until", [NAN, INF, "soon", None])
def test_the_end_must_be_a_finite_number(until):
    text = r"end time of the simulation of model 'ball': expected a finite number, got .*\. Give it a finite value\."
    refused(InputError, text, run, until=until)


@pytest.mark.parametrize("sample", [0.0, -0.1])
def test_samples_must_be_some_time_apart(sample):
    text = rf"expected a sample spacing above zero, got sample = {sample:g} s\. Leave it out for every step\."
    refused(InputError, text, run, sample=sample)


@pytest.mark.parametrize("sample", [NAN, INF])
def test_the_sample_spacing_must_be_a_finite_number(sample):
    text = rf"sample spacing of the simulation of model 'ball': expected a finite number, got {sample!r}\."
    refused(InputError, text, run, sample=sample)


@pytest.mark.parametrize("gains", [(0.0, 40.0), (400.0, 0.0), (-1.0, 1.0), (400.0,), (1.0, 2.0, 3.0), ()])
def test_stabilization_takes_two_gains_above_zero(gains):
    got = ", ".join(f"{a:g}" for a in gains)
    text = (
        r"simulation of model 'ball': expected stabilization gains \(a0, a1\) above zero, "
        rf"got \({got}\)\. A critically damped pair is \(w², 2w\)\."
    )
    refused(InputError, text, run, stabilization=gains)


def test_stabilization_gains_must_be_finite_numbers():
    text = r"stabilization of the simulation of model 'ball': expected a finite number, got nan\."
    refused(InputError, text, run, stabilization=(NAN, 1.0))


# Methods.


@pytest.mark.parametrize(
    "options",
    [
        {"rtol": 0.0},
        {"rtol": -1e-6},
        {"rtol": 1.0},
        {"rtol": NAN},
        {"atol": 0.0},
        {"atol": 2.0},
        {"atol": NAN},
        {"max_step": 0.0},
        {"max_step": -1.0},
        {"max_step": NAN},
    ],
    ids=str,
)
def test_tolerances_must_lie_between_zero_and_one(options):
    ((name, value),) = options.items()
    text = (
        r"method Adaptive: expected 0 < rtol < 1, 0 < atol < 1 and max_step > 0, "
        rf"got .*{name} = {value:g}.*\. The defaults, rtol = 1e-8 and atol = 1e-10, suit most models\."
    )
    refused(InputError, text, Adaptive, **options)


@pytest.mark.parametrize("step", [0, 0.0, -1e-3, NAN, INF])
def test_a_fixed_step_must_be_above_zero(step):
    text = rf"method FixedStep: expected a step above zero, in seconds, got {step:g}\. Give e\.g\. 1e-3\."
    refused(InputError, text, FixedStep, step)


# Laws.


@pytest.mark.parametrize(
    "gains",
    [{"a0": 0.0}, {"a0": -1.0}, {"a1": -1e-3}, {"a2": -1.0}, {"a0": NAN}, {"a1": NAN}, {"a2": INF}, {"a0": INF}],
    ids=str,
)
def test_gains_outside_their_stability_condition_are_refused(gains):
    ((name, value),) = gains.items()
    text = (
        r"law 'baumgarte': expected finite a0 > 0, a1 >= 0, a2 >= 0 and a3 >= 0, for which the closed gap is stable, "
        rf"got .*{name} = {value:g}.*\. Choose a0 from the time the gap may take to close"
    )
    refused(InputError, text, Baumgarte, **gains)


def test_gains_on_the_edge_of_their_stability_condition_are_taken():
    assert Baumgarte(a0=1e-9, a1=0.0, a2=0.0).gains == (1e-9, 0.0, 0.0, 0.0)


def test_a_model_with_contacts_needs_a_law():
    text = (
        r"simulation of model 'pair': expected a law for its contacts \(wall_left, wall_right\), got none\. "
        r"Pass law=Baumgarte\(\), or a dict from contact to law\."
    )
    refused(InputError, text, run, two_masses(), None)


def test_a_law_for_an_unknown_contact_names_the_nearest():
    laws = {"wall_left": LAW, "wall_rigth": LAW}
    text = r"simulation of model 'pair': expected .*contact.*, got 'wall_rigth'\. Did you mean 'wall_right'"
    refused(InputError, text, run, two_masses(), laws)


def test_every_contact_needs_a_law():
    text = r"expected a law for every contact, got none for 'wall_right'\. Add it to the dict of laws\."
    refused(InputError, text, run, two_masses(), {"wall_left": LAW})


@pytest.mark.parametrize("law", ["baumgarte", 3, object(), Baumgarte], ids=["text", "number", "object", "class"])
def test_a_law_must_be_a_law(law):
    text = (
        r"simulation of model '\w+': expected a law for contact '\w+', got .+\. Pass an object such as Baumgarte\(\)\."
    )
    refused(InputError, text, run, None, law)
    refused(InputError, text, run, two_masses(), {"wall_left": LAW, "wall_right": law})


# Start states.


def test_a_massless_start_is_refused():
    text = (
        r"start of model 'ball': expected a positive definite inertia matrix, got smallest eigenvalue 0\. "
        r"Give every coordinate a mass or an inertia above zero\."
    )
    refused(StartError, text, run, parameters={"m": 0.0})
    text = r"expected a positive definite inertia matrix, got smallest eigenvalue -2\."
    refused(StartError, text, run, parameters={"m": -2.0})


def coupled(weights):
    """Three coordinates of which only two combinations have inertia: M is singular, also after rounding."""
    b = ModelBuilder("coupled")
    v = [b.coordinate(f"x{k}")[1] for k in range(3)]
    for row in weights:
        b.kinetic(sum(w * speed for w, speed in zip(row, v, strict=True)) ** 2 / 2)
    return b.build()


@pytest.mark.parametrize("seed", range(12))
def test_a_singular_inertia_is_refused_whichever_way_it_rounds(seed):
    weights = np.random.default_rng(seed).normal(size=(2, 3)).tolist()
    text = r"start of model 'coupled': expected a positive definite inertia matrix, got .*\. Give every coordinate a"
    refused(StartError, text, run, coupled(weights), None)


@pytest.mark.parametrize("n", range(1, 9))
def test_what_is_surely_an_inertia_matrix_is_one_and_what_clearly_is_one_is_seen(n):
    rng, found = np.random.default_rng(n), []
    for decades in np.linspace(0.0, 16.0, 400):
        size = 10.0 ** rng.uniform(-3.0, 3.0, n)
        Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
        M = size[:, None] * (Q * 10.0 ** -rng.uniform(0.0, decades, n)) @ Q.T * size
        M = 0.5 * (M + M.T)
        scale = np.sqrt(np.diag(M))
        least = np.linalg.eigvalsh(M / np.outer(scale, scale))[0]
        found.append(surely_inertia(M, np.zeros((n, n))))
        assert not found[-1] or least > 2e-13
        assert found[-1] or least < 0.1
        off = M.copy()
        off[0, -1] *= 1.0 + 1e-6
        assert n == 1 or abs(off - M).max() < 1e-11 or not surely_inertia(off, np.zeros((n, n)))
    for wrong in (np.nan, np.inf, 0.0, -1.0):
        assert not surely_inertia(np.diag([*np.ones(n - 1), wrong]), np.zeros((n, n)))


def test_inertia_is_judged_at_the_start_pose():
    b = ModelBuilder("pose")
    x, v = b.coordinate("x", start=1.0)
    b.kinetic(x * v**2 / 2)
    model = b.build()
    assert run(model, None, until=0.01).ok
    refused(StartError, r"smallest eigenvalue -1\.", run, model, None, start={"x": -1.0})


def test_an_inertia_that_is_not_finite_is_refused():
    b = ModelBuilder("spike")
    x, v = b.coordinate("x")
    b.kinetic(v**2 / x)
    text = r"start of model 'spike': expected a finite, symmetric inertia matrix, got M = \[\[(inf|nan)\]\]\."
    refused(StartError, text, run, b.build(), None)


def test_an_inertia_that_is_not_symmetric_is_refused():
    b = ModelBuilder("lopsided")
    b.coordinate("x")
    b.coordinate("y")
    b.inertia([[1.0, 0.5], [0.0, 1.0]], ca.SX(2, 1))
    text = r"expected a finite, symmetric inertia matrix, got M = \[\[1\.0, 0\.5\], \[0\.0, 1\.0\]\]\."
    refused(StartError, text, run, b.build(), None)


def test_a_start_off_a_constraint_is_refused():
    text = (
        r"start of model 'pinned': expected residual zero of constraint 'rod' within 1e-06, got 0\.21\. "
        r"Choose start values that satisfy the constraint\."
    )
    refused(StartError, text, run, pinned(), None, start={"x": 1.1})
    assert run(pinned(), None, start={"x": 1.0 + 1e-7}).ok


def test_a_start_that_moves_off_a_constraint_is_refused():
    text = (
        r"start of model 'pinned': expected rate zero of constraint 'rod' within 1e-06, got 0\.6\. Choose start values"
    )
    refused(StartError, text, run, pinned(), None, start={"x_dot": 0.3})
    assert run(pinned(), None, start={"y_dot": 0.3}).ok  # along the constraint


def test_a_constraint_that_is_no_number_at_the_start_is_refused():
    b = ModelBuilder("undefined")
    x, v = b.coordinate("x")
    b.kinetic(v**2 / 2)
    b.constraint("root", ca.sqrt(x - 1))
    refused(StartError, r"expected residual zero of constraint 'root' within 1e-06, got nan\.", run, b.build(), None)


def test_a_start_inside_a_surface_is_refused():
    text = (
        r"start of model 'pair': expected gap 'wall_right' of zero or more, got -0\.25 mm\. "
        r"Choose start values at which the two do not overlap\."
    )
    refused(StartError, text, run, two_masses(), start={"right": -0.25})
    refused(StartError, r"expected gap 'floor' of zero or more, got -1e-05 m\.", run, start={"q": -1e-5})


@pytest.mark.parametrize("height", [0.0, -1e-7, 1e-300])
def test_a_start_on_a_surface_is_taken(height):
    result = run(start={"q": height})
    assert result.ok
    assert result.mode("floor") == "Contact"


def test_a_gap_that_is_no_number_at_the_start_is_refused():
    b = ModelBuilder("undefined")
    x, v = b.coordinate("x")
    b.kinetic(v**2 / 2)
    b.gap("root", ca.sqrt(x - 1))
    refused(StartError, r"expected gap 'root' of zero or more, got nan m\.", run, b.build())


# Controllers.


class Steady:
    """A controller that commands the same for ever and counts how often it is asked."""

    def __init__(self, period=0.01, command=(0.0, 0.0)):
        self.period, self.command = period, command
        self.resets, self.steps = 0, 0

    def reset(self, measurement):
        self.resets += 1

    def step(self, t, measurement):
        self.steps += 1
        return self.command


class Parts:
    """A controller that has only the parts named."""

    def __init__(self, *parts):
        if "period" in parts:
            self.period = 0.01
        if "reset" in parts:
            self.reset = lambda measurement: None
        if "step" in parts:
            self.step = lambda t, measurement: [0.0, 0.0]


@pytest.mark.parametrize("missing", ["period", "reset", "step"])
def test_a_controller_without_one_of_its_parts_is_refused(missing):
    controller = Parts(*{"period", "reset", "step"} - {missing})
    text = (
        r"simulation of model 'driven': expected a controller with period, reset\(measurement\) and "
        r"step\(t, measurement\), got .*Parts.*\. Give the object these three members\."
    )
    refused(InputError, text, run, driven(), None, controller=controller)
    refused(InputError, text, run, driven(), None, controller=[Steady(), controller])


@pytest.mark.parametrize("period", [0, 0.0, -0.01, NAN, INF, "fast", None, 1e-12, Fraction(0)])
def test_a_period_must_be_above_zero(period):
    text = (
        r"controller Steady: expected a period above zero, in seconds, "
        r"got .+\. Give e\.g\. period = 0\.002 for 500 Hz\."
    )
    refused(InputError, text, run, driven(), None, controller=Steady(period))


def test_no_controller_is_asked_before_all_are_checked():
    good = Steady()
    for bad in (Steady(period=0.0), Parts("period")):
        with pytest.raises(InputError):
            run(driven(), None, controller=[good, bad])
    assert (good.resets, good.steps) == (0, 0)


def test_a_command_of_the_wrong_size_is_refused():
    text = (
        r"controller Steady of model 'driven': expected a command of 2 numbers \(push, pull\), got 3\. "
        r"Return one number for each input, in order, or a dict by name\."
    )
    refused(InputError, text, run, driven(), None, controller=Steady(command=[1.0, 2.0, 3.0]))
    text = r"expected a command of 0 numbers \(the model has no input\), got 1\."
    refused(InputError, text, run, controller=Steady(command=1.0))


def test_a_command_for_an_unknown_input_names_the_nearest():
    text = r"controller Steady of model 'driven': expected .*input.*, got 'pul'\. Did you mean 'pull'"
    refused(InputError, text, run, driven(), None, controller=Steady(command={"pul": 1.0}))


@pytest.mark.parametrize("command", ["full speed", {"push": "hard"}, [[1.0], [2.0, 3.0]]], ids=str)
def test_a_command_that_is_no_number_is_refused(command):
    refused(InputError, r"controller Steady", run, driven(), None, controller=Steady(command=command))


def test_a_forgotten_return_is_refused():
    text = (
        r"controller Steady of model 'driven': expected a command, got none\. Let its step\(t, measurement\) return one"
    )
    refused(InputError, text, run, driven(), None, controller=Steady(command=None))


class Other(Steady):
    """A controller of another name."""


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [([1.0, 2.0], {"pull": 1.0}, "pull"), ({"push": 1.0}, {"push": 1.0}, "push"), ([1.0, 2.0], [1.0, 2.0], "push")],
)
def test_two_controllers_on_one_input_are_refused(one, other, shared):
    text = rf"input '{shared}' of model 'driven': expected one controller that commands it, got two, Steady and Other"
    refused(InputError, text, run, driven(), None, controller=[Steady(command=one), Other(command=other)])


def test_two_controllers_on_inputs_of_their_own_go_together():
    result = run(driven(), None, controller=[Steady(command={"push": 1.0}), Other(command={"pull": 2.0})])
    assert (result["push"][-1], result["pull"][-1]) == (1.0, 2.0)


@pytest.mark.parametrize("value", [NAN, INF])
@pytest.mark.parametrize("when", [0, 5])
def test_a_command_that_is_not_finite_ends_the_run_with_its_reason(value, when):
    class Failing(Steady):
        def step(self, t, measurement):
            self.steps += 1
            return {"pull": value if self.steps > when else 1.0}

    with pytest.warns(ImpingeWarning, match="stopped early"):
        result = run(driven(), None, controller=Failing())
    assert not result.ok
    assert f"commanded {value} for input 'pull' at t = {0.01 * when:g} s" in result.reason
    assert np.isclose(result.t[-1], 0.01 * when)
    assert all(np.isfinite(signal).all() for signal in result.signals.values())


# Things of the wrong kind altogether.


def test_a_controller_class_is_not_a_controller():
    class Ready(Steady):
        period = 0.01

    refused(InputError, r"expected a controller", run, driven(), None, controller=Ready)


@pytest.mark.parametrize("method", ["rk4", FixedStep, 1e-3], ids=["text", "class", "number"])
def test_a_method_must_be_a_method(method):
    refused(InputError, r"simulation of model 'ball'.*expected .*(Adaptive|method)", run, method=method)


def test_stabilization_must_be_a_pair():
    refused(InputError, r"simulation of model 'ball'.*stabilization", run, stabilization=400.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Baumgarte(a0="stiff"),
        lambda: Baumgarte(a1=None),
        lambda: Baumgarte(a2=10**400),
        lambda: FixedStep("short"),
        lambda: Adaptive(rtol="tiny"),
    ],
    ids=["text gain", "no gain", "huge gain", "text step", "text tolerance"],
)
def test_gains_steps_and_tolerances_must_be_numbers(make):
    refused(InputError, r"(law 'baumgarte'|method \w+): expected", make)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, Fraction])
def test_numbers_of_every_kind_are_numbers(kind):
    """As in a sweep over np.arange(100, 500, 100)."""
    assert [float(gain) for gain in Baumgarte(a0=kind(100), a1=kind(20), a2=kind(1000)).gains] == [100, 20, 1000, 0]
    law = Baumgarte(a0=kind(100), a1=kind(20), a2=kind(1000))
    result = run(law=law, until=kind(1), parameters={"m": kind(2)}, start={"q": kind(3)}, sample=kind(1))
    assert result.ok
    assert result["q"][0] == 3.0
    assert run(method=FixedStep(kind(1))).ok
    assert Adaptive(max_step=kind(1)).max_step == 1


@pytest.mark.parametrize("kind", ["start", "parameters", "inputs"])
def test_values_that_are_no_dict_are_refused_with_an_example(kind):
    with pytest.raises(InputError, match=r"expected a dict from \w+( value)? to number, got \(1"):
        simulate(robots.ball(), Baumgarte(), until=1.0, **{kind: [1, 2]})
