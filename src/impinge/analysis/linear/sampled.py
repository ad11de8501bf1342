"""The discrete-time model that a computer sees between a hold and a sampler."""

from __future__ import annotations

import math

import control
import numpy as np
from scipy.linalg import expm

from impinge.analysis.linear.linear_model import LinearModel
from impinge.errors import InputError, as_number, show


def sampled(system: control.StateSpace, period: float) -> control.StateSpace:
    """Return the zero-order-hold equivalent: exact at the samples for an input that is held between them.

    Names are kept; of a `LinearModel` also mode, form and units, and its constraint poles p become exp(p T).

    Args:
        system: a model in continuous time.
        period: the sampling period T in s.

    Example:
        >>> import control
        >>> cart = sampled(control.ss([[0, 1], [0, 0]], [[0], [1]], [[1, 0]], 0), 0.1)
        >>> cart.B.ravel()
        array([0.005, 0.1  ])
    """
    if not isinstance(system, control.StateSpace):
        raise InputError("sampled", "a control.StateSpace", f"a {type(system).__name__}", "Convert it with control.ss.")
    if system.isdtime(strict=True):
        raise InputError("sampled", "a system in continuous time", f"one with dt = {system.dt}", "Sample only once.")
    if not 0 < as_number(period) < math.inf:
        raise InputError("sampled", "a period above 0 s", show(period), "Give the sampling period in seconds.")
    n, m = system.nstates, system.ninputs
    held = expm(np.block([[system.A, system.B], [np.zeros((m, n + m))]]) * float(period))
    matrices = (held[:n, :n], held[:n, n:], system.C, system.D, float(period))
    names = {"states": system.state_labels, "inputs": system.input_labels, "outputs": system.output_labels}
    if not isinstance(system, LinearModel):
        return control.StateSpace(*matrices, remove_useless_states=False, name=f"{system.name}$sampled", **names)
    return LinearModel(
        matrices,
        mode=system.mode,
        form=system.form,
        constraint_poles=np.exp(system.constraint_poles * float(period)),
        units=(system.state_units, system.input_units, system.output_units),
        name=f"{system.name}$sampled",
        **names,
    )
