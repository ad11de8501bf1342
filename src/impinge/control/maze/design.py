"""The design of the maze's two compensators, ring by ring, on linear models with the contact closed."""

from __future__ import annotations

from collections.abc import Mapping

import control
import numpy as np

from impinge.analysis.linear.linear_model import LinearModel
from impinge.analysis.linear.linearize import linearize
from impinge.analysis.linear.sampled import sampled
from impinge.contact.law import Law
from impinge.control.blocks.lead import Lead
from impinge.control.design import gain_on_root_locus
from impinge.errors import InputError
from impinge.model import Model

# Where the linear models are taken: away from every gate, rad.
_ANGLE = 0.7
_DAMPING = 0.35


def ring_radii(model: Model, parameters: Mapping[str, float]) -> dict[str, float]:
    """Return the distance of the ball's center from the axis on each ring, outermost first, m."""
    values = dict(zip((p.name for p in model.parameters), model.parameter_vector(parameters), strict=True))
    rings = [name for name in model.contacts if name.startswith("ring")]
    return {name: float(values[f"r_m{k + 1}"] + values["r_b"]) for k, name in enumerate(rings)}


def ring_models(
    model: Model, parameters: Mapping[str, float], *, law: Law | None = None, form: str = "reduced"
) -> dict[str, LinearModel]:
    """Return the linear model from torque to ``x`` and ``angle`` with the ball on top of each ring."""
    return {
        ring: linearize(
            model,
            {"q1": _ANGLE, "q3": radius},
            mode=[ring],
            outputs=["x", "angle"],
            form="stabilized" if form == "stabilized" else "reduced",
            law=law,
            parameters=parameters,
        )
        for ring, radius in ring_radii(model, parameters).items()
    }


def ball_loop(linear: LinearModel, ball: Lead) -> control.StateSpace:
    """Return the first loop as 1 + L(s) = 0 closes it: its feedback is positive."""
    return -control.ss(ball.transfer) * linear["x", "torque"]


def balanced(linear: LinearModel, ball: Lead) -> control.StateSpace:
    """Return the linear model with the first loop closed, from the second loop's torque to ``x`` and ``angle``."""
    feedback = control.ss(ball.transfer) * np.array([[1.0, 0.0]])
    closed = control.feedback(linear, feedback, sign=1)
    return control.ss(closed, inputs=["torque"], outputs=["x", "angle"])


def turn_loop(linear: LinearModel, ball: Lead, turn: Lead) -> control.StateSpace:
    """Return the second loop as 1 + L(s) = 0 closes it, the first being closed."""
    return -control.ss(turn.transfer) * balanced(linear, ball)["angle", "torque"]


def closed_loop(linear: LinearModel, ball: Lead, turn: Lead) -> control.StateSpace:
    """Return the linear model with both loops closed."""
    return control.feedback(balanced(linear, ball), control.ss(turn.transfer) * np.array([[0.0, 1.0]]), sign=1)


def sampled_closed_loop(linear: LinearModel, ball: Lead, turn: Lead, period: float) -> control.StateSpace:
    """Return the same with the compensators sampled, in discrete time."""
    blocks = (control.ss(lead.sampled(period).transfer) for lead in (ball, turn))
    return control.feedback(sampled(linear, period), np.array([[1.0, 1.0]]) * control.append(*blocks), sign=1)


def design(models: Mapping[str, LinearModel], ball: Lead, turn: Lead) -> tuple[Lead, Lead]:
    """Return the compensators with gains for all rings: those given, or if zero, from the root loci."""
    if ball.gain == 0:
        loops = {ring: ball_loop(linear, Lead(ball.zero, ball.pole)) for ring, linear in models.items()}
        ball = Lead(ball.zero, ball.pole, gain_on_root_locus(loops, _DAMPING))
    if turn.gain == 0:
        loops = {ring: turn_loop(linear, ball, Lead(turn.zero, turn.pole)) for ring, linear in models.items()}
        turn = Lead(turn.zero, turn.pole, gain_on_root_locus(loops, _DAMPING))
    return ball, turn


def check_stable(models: Mapping[str, LinearModel], ball: Lead, turn: Lead) -> None:
    """Raise the error that names the ring on which the closed loop is unstable, if there is one."""
    for ring, linear in models.items():
        worst = max(closed_loop(linear, ball, turn).poles(), key=lambda pole: pole.real)
        if worst.real >= 0:
            raise InputError(
                f"maze controller on {ring}",
                "compensators that stabilize the linear model of every ring",
                f"a closed-loop pole at {worst.real:.3g}{worst.imag:+.3g}j rad/s with gains {ball.gain:.4g} and "
                f"{turn.gain:.4g}",
                "Leave the gains at 0 to have them designed by root locus, or change zeros and poles.",
            )
