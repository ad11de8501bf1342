"""The benchmarks measure what they say. Nothing here depends on how fast the machine is."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from impinge import InputError
from impinge.bench import Row, Table, benchmarks, bounce, kernel, render, run_all, step
from impinge.bench import table as tables
from impinge.bench.ladder import Rung, front, time_at
from impinge.bench.systems import ball, five_bar
from impinge.bench.systems.closed_chain import closed_chain
from impinge.bench.systems.loops import evaluate_many


def no_race(contenders, **_):
    return dict.fromkeys(contenders, 1e-3)


def test_a_benchmark_is_a_module_that_defines_one():
    found = benchmarks()
    assert {"bounce", "kernel", "step"} <= set(found)
    assert "table" not in found
    assert "ladder" not in found


def test_finding_the_benchmarks_loads_nothing_heavy():
    heavy = ("numba", "casadi", "matplotlib", "scipy", "llvmlite", "heyoka", "sksundae", "mujoco")
    code = f"import sys, impinge.bench as b; b.benchmarks(); print(*[n for n in {heavy} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True)
    assert done.stdout.split() == []


def test_run_all_runs_what_is_asked_for_and_tells_how_far_it_is(monkeypatch):
    for module in (kernel, step):
        monkeypatch.setattr(module, "race", no_race)
    shares = []
    found = run_all(shares.append, only=["kernel", "step"])
    assert [table.per for table in found] == ["evaluation", "step"]
    assert shares == [0.5, 1.0]


def test_an_unknown_benchmark_is_an_error_that_names_the_nearest():
    with pytest.raises(InputError, match="Did you mean 'kernel'"):
        run_all(only=["kernal"])


def test_race_runs_everyone_equally_often_in_turn(monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr(tables, "thread_time", lambda: float(next(clock)))
    calls = []
    times = tables.race({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, rounds=3, least=1.0)
    assert calls == ["a", "a", "b", "b"] + ["a", "b"] * 3
    assert times == {"a": 1.0, "b": 1.0}


def test_race_repeats_short_runs(monkeypatch):
    now, calls = [0.0], {"short": 0, "long": 0}
    monkeypatch.setattr(tables, "thread_time", lambda: now[0])

    def runner(name, seconds):
        def run():
            now[0] += seconds
            calls[name] += 1

        return run

    times = tables.race({"short": runner("short", 0.001), "long": runner("long", 0.5)}, rounds=2, least=0.02)
    assert times == pytest.approx({"short": 0.001, "long": 0.5})
    assert calls == {"short": 2 + 2 * 20, "long": 2 + 2}


def test_a_straight_ladder_is_interpolated_exactly():
    rungs = [Rung(10.0**-k, 2.0 * 10 ** (k / 4)) for k in range(2, 12, 3)]
    for error in (1e-3, 3e-5, 1e-8, 1e-11):
        assert time_at(error, rungs) == pytest.approx(2.0 * error**-0.25)


def test_a_ladder_is_not_extrapolated():
    rungs = [Rung(1e-4, 1.0), Rung(1e-8, 10.0)]
    assert time_at(1e-2, rungs) == 1.0
    assert time_at(1e-9, rungs) is None
    assert time_at(1e-9, []) is None
    assert time_at(1e-9, [*rungs, Rung(0.0, 20.0)]) == 20.0


def test_a_rung_that_another_beats_does_not_count():
    good = [Rung(1e-4, 1.0), Rung(1e-8, 10.0)]
    assert front([Rung(1e-6, 50.0), *good, Rung(1e-3, 1.0)]) == good


def test_render_aligns_and_tells_what_is_missing():
    table = Table(
        "Work", "fast", (Row("us", "x", 2.5e-7, 1e-9), Row("them", "long", 1.0), tables.missing("none")), met=False
    )
    head, claim, columns, us, them, none = render(table).splitlines()
    assert head == "Work"
    assert claim.endswith("NOT MET")
    assert us.index("250 ns") + len("250 ns") == them.index("1.00 s") + len("1.00 s")
    assert columns.index("method") == us.index("x") == them.index("long")
    assert "pip install impinge[bench]" in none


def test_the_exact_ball_is_that_of_an_independent_integration():
    times = ball.scipy_solver("DOP853")(1e-13)()
    assert bounce.achieved_error(times, ball.exact_events()) < 1e-10
    assert times.size == 20


CONTENDERS = ball.contenders()


@pytest.mark.parametrize("contender", CONTENDERS, ids=lambda c: f"{c.system}-{c.method}")
def test_every_solver_finds_the_exact_events(contender):
    tightest = contender.prepare(min(contender.tolerances))
    exact = ball.exact_events()
    assert bounce.achieved_error(tightest(), exact) < 5e-9
    assert np.array_equal(tightest(), tightest())


@pytest.mark.parametrize("contender", CONTENDERS, ids=lambda c: f"{c.system}-{c.method}")
def test_every_ladder_has_the_targets_on_it(contender):
    exact = ball.exact_events()
    errors = [bounce.achieved_error(contender.prepare(tol)(), exact) for tol in contender.tolerances]
    assert min(errors) <= min(bounce.TARGETS)
    assert max(errors) >= max(bounce.TARGETS)


def test_the_claim_about_bounces_needs_both_peers():
    def times(**seconds):
        return {system: (value, "") for system, value in seconds.items()}

    assert bounce.verdict([times(impinge=1.0, SciPy=20.0, CVODE=1.1)]) is True
    assert bounce.verdict([times(impinge=1.0, SciPy=19.9, CVODE=1.1)]) is False
    assert bounce.verdict([times(impinge=1.0, SciPy=30.0, CVODE=0.9)]) is False
    assert bounce.verdict([times(impinge=1.0, SciPy=30.0)]) is None
    assert bounce.verdict([times(impinge=1.0, SciPy=10.0)]) is False
    assert bounce.verdict([times(SciPy=30.0, CVODE=10.0)]) is False


def test_missing_peers_are_rows(monkeypatch):
    for package in ("sksundae", "sksundae.cvode", "heyoka", "mujoco"):
        monkeypatch.setitem(sys.modules, package, None)
    for module in (bounce, step):
        monkeypatch.setattr(module, "race", no_race)
    for name, peers in {"bounce": {"CVODE", "heyoka"}, "step": {"MuJoCo"}}.items():
        (table,) = run_all(only=[name])
        assert {row.system for row in table.rows if row.note == tables.INSTALL} == peers


def test_the_kernel_and_the_interpreter_compute_the_same():
    model = closed_chain(kernel.LINKS)
    function, inputs = kernel.interpreted(model), kernel.state(model)
    assert function.n_instructions() == model.dynamics.instructions >= 1000
    single, mapped = (
        kernel.by_buffer(function, inputs),
        kernel.by_buffer(function.map(3), [np.tile(x, 3) for x in inputs]),
    )
    single.trigger()
    mapped.trigger()
    q, v, t, u, p = inputs
    out = np.zeros(model.dynamics.size)
    evaluate_many(model.dynamics.address, q, v, float(t[0]), u, p, out, 2)
    start = 0
    for k, (rows, columns) in enumerate(model.dynamics.outputs.values()):
        dense = np.zeros(rows * columns)
        sparsity = function.sparsity_out(k)
        dense[np.array(sparsity.find(), dtype=int)] = single.results[k]
        np.testing.assert_allclose(out[start : start + rows * columns], dense, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(mapped.results[k], np.tile(single.results[k], 3))
        start += rows * columns


def test_the_linkage_is_closed_at_the_start_and_stays_closed():
    model = five_bar.model()
    np.testing.assert_allclose(model.terms(five_bar.start_angles(), np.zeros(4))["h"], 0.0, atol=1e-15)
    assert model.dynamics.instructions > 300


def test_fixed_steps_agree_with_adaptive_ones():
    assert np.abs(step.impinge_runner()() - step.reference_angles()).max() < 1e-6


def test_mujoco_swings_the_same_linkage():
    mujoco = pytest.importorskip("mujoco")
    exact = step.reference_angles()
    coarse, fine = (np.abs(step.mujoco_runner(mujoco, "RK4", h)() - exact).max() for h in (1e-3, 2.5e-4))
    assert coarse < 5e-3
    assert fine < coarse / 3


def costs(power, depth=1e-7):
    from impinge.bench.piles import Cost

    return [Cost("impinge", "", n, 2.0, (n * np.log(n)) ** power, depth) for n in (10, 100, 1000)]


@pytest.mark.parametrize("power", [0.8, 1.0, 1.3])
def test_the_growth_of_piles_is_the_power_of_n_log_n(power):
    from impinge.bench.piles import growth

    found, scaled = growth(costs(power))
    assert found == pytest.approx(power, abs=1e-12)
    assert scaled[-1] == pytest.approx((1000 * np.log(1000) / (10 * np.log(10))) ** (power - 1))


def test_a_peer_is_matched_by_its_cheapest_setting_that_sinks_in_no_deeper():
    from impinge.bench.piles import Cost, matched

    peers = [Cost("MuJoCo", "", 10, second, 1.0, depth) for second, depth in ((3.0, 1e-3), (8.0, 2e-7), (9.0, 1e-9))]
    assert matched(costs(1.0), peers) == "4 × at 10; no setting here at 100; no setting here at 1,000"


def test_mujoco_pours_the_same_spheres_from_the_same_state():
    mujoco = pytest.importorskip("mujoco")
    from impinge.bench.systems.poured import Poured, mujoco_cost

    run = Poured(10)
    assert run.until(0.5) > 0.0
    assert run.counts["steps"] == 250
    assert 0.0 < run.penetration < 1e-6
    q, v = run.state
    assert (q.size, v.size) == (70, 60)
    parts = run.profile(repeats=1)
    assert set(parts) == {"contacts", "impulses"}
    assert (run.state[0] == q).all()  # looking into it changes nothing
    seconds, depth = mujoco_cost(mujoco, 10, (2e-3, "CG", False), (q, v), 20)
    assert seconds > 0.0
    assert 1e-6 < depth < 1e-3


def test_tables_and_figures_of_benchmarks_are_written(tmp_path, monkeypatch):
    from functools import partial

    from impinge.bench.piles import draw
    from impinge.cli import bench as command

    table = Table("Piles", "", (Row("a", "b", 1.0),), figure=partial(draw, costs(1.0), []))
    monkeypatch.setattr(command, "run_all", lambda **_: [table])
    assert command.run_benchmarks(["piles"], str(tmp_path / "out")) == 0
    assert (tmp_path / "out" / "piles.txt").read_text().startswith("Piles")
    assert (tmp_path / "out" / "piles.png").stat().st_size > 1000
