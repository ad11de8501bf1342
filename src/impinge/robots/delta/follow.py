"""Forward kinematics: Newton's method (8) from the last pose, and all that a controller asks of the pose it finds."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from impinge.compile import Matrix, Struct, Vector, call, entry, jit
from impinge.errors import InputError, show
from impinge.robots.delta.arm import PARAMETERS
from impinge.robots.delta.kernels import loop_kernel, pose_kernel

FloatArray = NDArray[np.float64]

_WHO = "forward kinematics"
# A pose whose margin is smaller is near a singularity; in the middle of the workspace it is 0.22.
SINGULAR = 0.01
_L2 = [x.name for x in PARAMETERS].index("l2")

# A step of Newton's method (rad) after which its quadratic convergence has used up the digits.
_SETTLED = 1e-8
_MOST_STEPS = 12
# A step of Newton's method that is larger (rad) leads elsewhere.
_FARTHEST = 0.5
# How far the motors go at once, rad per margin, and how often at most.
_WALK, _MOST_WALK = 0.5, 200


class _Room(NamedTuple):
    """What one follower of a pose reads and writes."""

    loop: int
    pose: int
    p: Vector
    y: Vector
    y_dot: Vector
    q: Vector
    last: Vector
    h: Vector  # h, h_x, h_y
    A: Matrix  # 6 × 16: h_x | h_y, −h, identity; the first block is eliminated
    g_y: Vector
    out: Vector
    steps: Vector  # size of each Newton step of the last walking step
    trial: Vector  # the same while it lasts
    report: Vector  # MARGIN, SIGN, COUNT
    kept: Vector
    found: Vector  # margin where it failed


MARGIN, SIGN, COUNT = 0, 1, 2
_CONVERGED, _LOST, _NEAR_SINGULAR = 0, 1, 2


@jit
def _eliminate(h: Any, length: float, A: Any, report: Any) -> bool:
    """Solve h_x X = [h_y, −h, 1] by Gauss and Jordan with partial pivoting; return False if h_x is singular.

    ``report`` receives the margin, zero at a singularity, and the sign of det h_x. The margin is 1/‖X‖ per length,
    where ‖X‖² counts the mismatch of arms 2 and 3 like those of the others: it is the same for all three arms.
    """
    for i in range(6):
        for j in range(6):
            A[i, j] = h[6 + 6 * j + i]
            A[i, 10 + j] = 1.0 if i == j else 0.0
        for j in range(3):
            A[i, 6 + j] = h[42 + 6 * j + i]
        A[i, 9] = -h[i]
    sign = 1.0
    for k in range(6):
        pivot = k
        for i in range(k + 1, 6):
            if abs(A[i, k]) > abs(A[pivot, k]):
                pivot = i
        if not abs(A[pivot, k]) > 0.0:
            return False
        if pivot != k:
            sign = -sign
            for j in range(k, 16):
                A[k, j], A[pivot, j] = A[pivot, j], A[k, j]
        if A[k, k] < 0.0:
            sign = -sign
        scale = 1.0 / A[k, k]
        for j in range(k + 1, 16):
            A[k, j] *= scale
        for i in range(6):
            factor = A[i, k]
            if i != k and factor != 0.0:
                for j in range(k + 1, 16):
                    A[i, j] -= factor * A[k, j]
    total = 0.0
    for i in range(6):
        for j in range(10, 13):
            total += 2.0 * (A[i, j] * (A[i, j] + A[i, j + 3]) + A[i, j + 3] * A[i, j + 3])
    report[MARGIN] = 1.0 / (np.sqrt(total) * length)
    report[SIGN] = sign
    return report[MARGIN] > SINGULAR


@jit
def _newton(room: Any) -> int:
    """Solve h(x, y) = 0 for x by Newton's method (8) from where ``room.q`` is; return what came of it.

    ``room.A`` then holds the elimination at the solution.
    """
    q, h, A = room.q, room.h, room.A
    begun = room.report[SIGN]
    for k in range(room.trial.size):
        call(room.loop, (q, room.p, h))
        if not _eliminate(h, room.p[_L2], A, room.report):
            return _NEAR_SINGULAR
        size = 0.0
        for i in range(6):
            q[i + 1 + i // 2] += A[i, 9]
            size = max(size, abs(A[i, 9]))
        room.trial[k] = size
        if not size <= _FARTHEST:
            return _LOST
        if size <= _SETTLED:
            room.report[COUNT] = k + 1
            call(room.loop, (q, room.p, h))
            if not _eliminate(h, room.p[_L2], A, room.report):
                return _NEAR_SINGULAR
            return _CONVERGED if begun * room.report[SIGN] >= 0.0 else _LOST
    return _LOST


@entry
def _follow(room: _Room) -> int:
    """Follow the motor angles from the last pose to ``room.y``, then evaluate the pose; return what came of it.

    Newton's method may reach another way to assemble the robot from afar. So it walks, in steps that are small
    against the distance from a singularity: a tick of a controller is one of them.
    """
    q, report = room.q, room.report
    for i in range(9):
        room.last[i] = q[i]
    for i in range(report.size):
        room.kept[i] = report[i]
    status = _LOST
    for _ in range(_MOST_WALK):
        far = 0.0
        for i in range(3):
            far = max(far, abs(room.y[i] - q[3 * i]))
        share = min(1.0, _WALK * report[MARGIN] / far) if far > 0.0 else 1.0
        for i in range(3):
            q[3 * i] = room.y[i] if share == 1.0 else q[3 * i] + share * (room.y[i] - q[3 * i])
        status = _newton(room)
        if status != _CONVERGED or share == 1.0:
            break
        status = _LOST
    if status != _CONVERGED:
        for i in range(9):
            q[i] = room.last[i]
        room.found[0] = report[MARGIN]
        for i in range(report.size):
            report[i] = room.kept[i]
        return status
    for k in range(room.trial.size):
        room.steps[k] = room.trial[k]
    for j in range(3):
        for i in range(6):
            room.g_y[6 * j + i] = -room.A[i, 6 + j]
    call(room.pose, (q, room.g_y, room.y_dot, room.p, room.out))
    return _CONVERGED


def three(who: str, what: str, values: Any) -> tuple[float, float, float]:
    """Return three finite numbers, or raise the error that says what they should be."""
    try:
        x, y, z = values
        if isfinite(x + y + z):
            return x, y, z
    except (TypeError, ValueError):
        pass
    got = show(values.tolist() if hasattr(values, "tolist") else values)
    raise InputError(f"{who} of the delta robot", f"{what} of three finite numbers", got, "Give three numbers.")


class DeltaPose:
    """A pose that follows the measured motor angles.

    Args:
        p: parameters, as `DeltaKinematics` orders them.
        q: all nine joint angles at the start.

    Attributes:
        q, z, z_dot: joint angles, the flange's position and velocity.
        J_c: control Jacobian ∂z/∂y (17), 3 × 3; undefined at singularities.
        J_v: virtual Jacobian ∂z/∂q (13), 3 × 9.
        gravity: motor torques that balance gravity: SᵀG with S = ∂q/∂y, the τ of (21). The paper calls (21)
            six-dimensional and solves it by Newton's method; it is nine linear equations in nine unknowns, and
            HS = 0 and SᵀB = 1 leave these three.
        inertia: by name, 3 × 3. ``exact`` is SᵀMS. ``printed`` is eq. 26, which drops the force of the
            constraints; about half of it in the middle of the workspace.
        margin: distance from a singularity, 0.22 in the middle of the workspace.
        steps: sizes of the last Newton steps, rad.
    """

    def __init__(self, p: FloatArray, q: FloatArray) -> None:
        if q.shape != (9,) or not np.isfinite(q).all():
            raise InputError(
                "pose of the delta robot", "nine finite joint angles", show(q.tolist()), "Start it from inverse(z)."
            )
        loop, pose = loop_kernel(), pose_kernel()
        room = _Room(
            loop=loop.address,
            pose=pose.address,
            p=p,
            y=np.array(q[[0, 3, 6]]),
            y_dot=np.zeros(3),
            q=np.array(q),
            last=np.array(q),
            h=np.zeros(loop.size),
            A=np.zeros((6, 16)),
            g_y=np.zeros(18),
            out=np.zeros(pose.size),
            steps=np.zeros(_MOST_STEPS),
            trial=np.zeros(_MOST_STEPS),
            report=np.array([1.0, 0.0, 0.0]),
            kept=np.zeros(3),
            found=np.zeros(1),
        )
        self._room, self._packed = room, Struct(room)
        self._address = self._packed.address
        self._y, self._y_dot, self._report = room.y, room.y_dot, room.report
        self.q = room.q
        blocks, start = {}, 0
        for name, (rows, columns) in pose.outputs.items():
            block = room.out[start : start + rows * columns]
            blocks[name] = block if columns == 1 else block.reshape((rows, columns), order="F")
            start += rows * columns
        self.z, self.z_dot, self.gravity = blocks["z"], blocks["z_dot"], blocks["gravity"]
        self.J_c, self.J_v = blocks["J_c"], blocks["J_v"]
        self.inertia = {"exact": blocks["exact"], "printed": blocks["printed"]}
        self.update(room.y)

    @property
    def margin(self) -> float:
        """Smallest motion of the loops for a motion of the passive joints, per length of a distal link."""
        return float(self._report[MARGIN])

    @property
    def steps(self) -> FloatArray:
        """Sizes of the Newton steps of the last update, rad."""
        return self._room.steps[: int(self._report[COUNT])].copy()

    @property
    def S(self) -> FloatArray:
        """∂q/∂y, 9 × 3: its columns are the motions that the loops allow."""
        S = np.zeros((9, 3))
        S[[0, 3, 6]], S[[1, 2, 4, 5, 7, 8]] = np.eye(3), self._room.g_y.reshape((6, 3), order="F")
        return S

    def update(self, y: Sequence[float] | FloatArray, y_dot: Sequence[float] | FloatArray = (0.0, 0.0, 0.0)) -> None:
        """Follow the motor angles to y, rad, which move at y_dot, rad/s.

        Raises:
            InputError: near a singularity, or if y is too far from the last pose to follow; the pose stays.
        """
        self._y[:], self._y_dot[:] = three(_WHO, "motor angles", y), three(_WHO, "motor rates", y_dot)
        status = _follow.unchecked(self._address)
        if status == _CONVERGED:
            return
        if status == _NEAR_SINGULAR:
            raise InputError(
                f"{_WHO} of the delta robot",
                f"a pose away from singularities (margin above {SINGULAR:g})",
                f"margin {self._room.found[0]:.2g} on the way to motor angles {show(list(map(float, y)))} rad",
                "Keep the motors away from where the distal links are parallel; simulation needs no such margin.",
            )
        raise InputError(
            f"{_WHO} of the delta robot",
            "motor angles that the robot can reach from its last pose",
            f"{show(list(map(float, y)))} rad after {show(self.q[[0, 3, 6]].tolist())} rad",
            "Update it at every tick; start it from inverse(z).",
        )
