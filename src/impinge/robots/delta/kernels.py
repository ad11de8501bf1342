"""The delta robot's kinematics as machine code.

Okasha and Bortoff 2020, eq. 6–20. Inverse kinematics are in closed form. The paper's (9)–(11) go through cot q₁₃
and csc q₁₃, singular in the middle of the workspace; here each arm's loop closure is solved for its motor angle,
A cos q₁ + B sin q₁ = C, and the rest follows by atan2: regular wherever the arm reaches.
"""

from __future__ import annotations

import functools
from typing import Any

import casadi as ca

from impinge.compile import Kernel, compile_kernel
from impinge.robots.delta.arm import PARAMETERS, TURNS, Arm, flange, loop, rotation

# Where the paper's x (passive angles) and y (motor angles) stand in q.
ACTIVE, PASSIVE = [0, 3, 6], [1, 2, 4, 5, 7, 8]


def _symbols() -> tuple[Any, Any, list[Arm]]:
    p, q = ca.SX.sym("p", len(PARAMETERS)), ca.SX.sym("q", 9)
    named = {x.name: p[k] for k, x in enumerate(PARAMETERS)}
    return p, q, [Arm(q[3 * i : 3 * i + 3], named) for i in range(3)]


@functools.cache
def inverse_kernel(inward: bool) -> Kernel:
    """Return the kernel from flange motion (z, ż, z̈) to joints: q, and y with its first two derivatives.

    ``reach`` is A² + B² − C² of each arm over its largest value: negative where the arm does not reach.
    """
    p, _, arms = _symbols()
    z, speed, acceleration = (ca.SX.sym(name, 3) for name in ("z", "z_dot", "z_ddot"))
    joints, reach = [], []
    for turn, arm in zip(TURNS, arms, strict=True):
        own, n = rotation(turn).T @ z, arm.p
        x, y, w = own[0], own[1] - (n["l0"] - n["l3"]), own[2]
        A, B, C = 2 * n["l1"] * y, 2 * n["l1"] * w, x**2 + y**2 + w**2 + n["l1"] ** 2 - n["l2"] ** 2
        square = A**2 + B**2 - C**2
        root = ca.sqrt(ca.fmax(square, 0))
        motor = ca.atan2(B, A) + (1 if inward else -1) * ca.atan2(root, C)
        along, down = y - n["l1"] * ca.cos(motor), w - n["l1"] * ca.sin(motor)
        joints += [motor, ca.atan2(ca.hypot(x, down), along), ca.atan2(x, down)]
        reach.append(square / (4 * n["l1"] ** 2 * n["l2"] ** 2))
    q = ca.vertcat(*joints)
    motors = q[ACTIVE]
    rate = ca.jtimes(motors, z, speed)
    outputs = {
        "q": q,
        "y": motors,
        "y_dot": rate,
        "y_ddot": ca.jtimes(rate, z, speed) + ca.jtimes(motors, z, acceleration),
        "reach": ca.vertcat(*reach),
    }
    return compile_kernel("delta_inverse", {"z": z, "z_dot": speed, "z_ddot": acceleration, "p": p}, outputs)


@functools.cache
def loop_kernel() -> Kernel:
    """Return the kernel of h(x, y) with its Jacobians by the passive angles x and the motor angles y."""
    p, q, arms = _symbols()
    h = loop(arms)
    H = ca.jacobian(h, q)
    outputs = {"h": h, "h_x": ca.densify(H[:, PASSIVE]), "h_y": ca.densify(H[:, ACTIVE])}
    return compile_kernel("delta_loop", {"q": q, "p": p}, outputs)


@functools.cache
def pose_kernel() -> Kernel:
    """Return the kernel of all that a controller asks of a pose, given ∂g/∂y of eq. 18 and ẏ."""
    p, q, arms = _symbols()
    g_y, y_dot = ca.SX.sym("g_y", 6, 3), ca.SX.sym("y_dot", 3)
    S = ca.SX(9, 3)
    S[ACTIVE, :], S[PASSIVE, :] = ca.SX.eye(3), g_y
    M = ca.diagcat(*(arm.inertia() for arm in arms))
    G = ca.vertcat(*(arm.gravity() for arm in arms))
    position = sum(flange(arms), ca.SX(3, 1)) / 3
    J_v = ca.jacobian(position, q)
    J_c = J_v @ S
    outputs = {
        "z": position,
        "z_dot": J_c @ y_dot,
        "gravity": S.T @ G,
        "J_c": ca.densify(J_c),
        "exact": ca.densify(S.T @ M @ S),
        "printed": ca.densify(M[ACTIVE, ACTIVE] + M[ACTIVE, PASSIVE] @ g_y),
        "J_v": ca.densify(J_v),
    }
    return compile_kernel("delta_pose", {"q": q, "g_y": ca.vec(g_y), "y_dot": y_dot, "p": p}, outputs)
