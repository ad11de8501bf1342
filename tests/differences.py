"""Derivatives of whole runs by finite differences, to compare exact ones with."""

from __future__ import annotations

import numpy as np

from impinge import Adaptive, sensitivity, simulate

EXACT = Adaptive(rtol=1e-11, atol=1e-13)
# For differences of runs with stiff contacts, which would otherwise be those of the integrator's choice of steps.
FINEST = Adaptive(rtol=1e-13, atol=1e-15)


def states(model):
    return [f"{x.name}{dot}" for dot in ("", "_dot") for x in model.coordinates]


def end(model, law, until, changes, method=EXACT, **options):
    """The state at the end of a run whose start values, parameters or inputs are changed by so much."""
    given_ = {kind: dict(options.get(kind, {})) for kind in ("start", "parameters", "inputs")}
    known = {
        "start": dict(zip(states(model), np.concatenate(model.start_vectors(given_["start"])), strict=True)),
        "parameters": dict(
            zip([x.name for x in model.parameters], model.parameter_vector(given_["parameters"]), strict=True)
        ),
        "inputs": dict(zip([x.name for x in model.inputs], model.input_vector(given_["inputs"]), strict=True)),
    }
    for name, change in changes.items():
        kind = next(kind for kind in known if name in known[kind])
        given_[kind][name] = known[kind][name] + change
    result = simulate(model, law, until=until, method=method, **given_)
    assert result.ok
    return np.array([result[name][-1] for name in states(model)]), sorted(
        ((e.contact, e.after) for e in result.events), key=lambda e: e[0]
    )


def difference(model, law, until, direction, step, method=EXACT, **options):
    """The derivative along a direction by finite differences of fourth order, and whether all runs had one history."""
    runs = [
        end(model, law, until, {name: k * step * d for name, d in direction.items()}, method, **options)
        for k in (-2, -1, 1, 2)
    ]
    (a, b, c, d), histories = zip(*runs, strict=True)
    return (8 * (c - b) - (d - a)) / (12 * step), all(history == histories[0] for history in histories)


def assert_is_the_derivative(model, law, until, by=None, step=1e-4, bound=1e-6, runs=EXACT, **options):
    found = sensitivity(model, law, until=until, by=by, method=EXACT, **options)
    columns = []
    for name in found.by:
        column, same = difference(model, law, until, {name: 1.0}, step, runs, **options)
        assert same, f"the finite differences by {name} compare different histories"
        columns.append(column)
    expected = np.array(columns).T
    scale = np.maximum(np.abs(expected).max(axis=0), 1e-3 * np.abs(expected).max())
    np.testing.assert_array_less(np.abs(found.matrix - expected) / scale, bound)
    return found
