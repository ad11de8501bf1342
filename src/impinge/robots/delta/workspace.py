"""Where the delta robot reaches, and how well it moves there: maps over a plane.

Two kinds of singularity bound a good workspace. Where an arm is stretched, J_c of eq. 17 loses rank and the flange
does not follow the motors; its smallest singular value tells. Where the distal links are parallel to one plane, h_x
does and the motors no longer hold the flange; the margin tells. It is also zero where a universal joint locks
(sin q_i2 = 0, a distal pair along its arm): no way for a machine to go, though J_c stays finite nearby.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from impinge.compile import Kernel
from impinge.errors import InputError, show
from impinge.robots.delta.arm import PARAMETERS
from impinge.robots.delta.kernels import inverse_kernel, loop_kernel, pose_kernel
from impinge.robots.delta.kinematics import DeltaKinematics

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FloatArray = NDArray[np.float64]
Line = float | Sequence[float] | FloatArray | None

_POINTS = 201
_UNDEFINED = 1e-9  # margin below which rounding decides J_c
# The loops are first − second and first − third arm: this product of their coefficients makes all arms count alike.
_ALIKE = np.kron([[2.0, 1.0], [1.0, 2.0]], np.eye(3))
_L2 = [x.name for x in PARAMETERS].index("l2")


@dataclass(frozen=True)
class Workspace:
    """A map of the delta robot's workspace over a plane.

    Row i, column j of each array belongs to ``y[i]`` and ``x[j]``, as matplotlib draws it. Numbers are NaN where an
    arm does not reach, and those of J_c at singularities of the forward kinematics.

    Attributes:
        across, up: the coordinates that vary, e.g. ``"z1"`` and ``"z2"``, and ``fixed`` the one that does not.
        x, y: their values, m; ``at`` that of the fixed one.
        reachable: whether inverse kinematics have a solution; links may cross, and joints have no stops.
        smallest, largest: singular values of J_c, slowest and fastest motion of the flange, m/rad.
        margin: of the forward kinematics, zero at a singularity: smallest motion of the loops for a motion of the
            passive joints, per length of a distal link, as `DeltaPose.margin` has it.
    """

    across: str
    up: str
    fixed: str
    x: FloatArray
    y: FloatArray
    at: float
    reachable: NDArray[np.bool_]
    smallest: FloatArray
    largest: FloatArray
    margin: FloatArray

    @property
    def condition(self) -> FloatArray:
        """Condition number of J_c: 1 where the flange moves equally fast in every direction."""
        with np.errstate(divide="ignore"):
            return self.largest / self.smallest

    def plot(self) -> Figure:
        """Draw the slowest motion, the condition number and the margin; what is out of reach stays gray."""
        from matplotlib.colors import LogNorm
        from matplotlib.figure import Figure

        height = 1.2 + 3.4 * float(np.ptp(self.y) / np.ptp(self.x))
        figure = Figure(figsize=(14, min(max(height, 3.0), 14.0)), layout="constrained")
        panels: tuple[tuple[str, FloatArray, Any], ...] = (
            ("slowest motion σ_min(J_c) [mm/rad]", 1000 * self.smallest, None),
            ("condition number of J_c [1]", self.condition, LogNorm(1, 100)),
            ("margin of forward kinematics [1]", self.margin, None),
        )
        for axis, (title, values, norm) in zip(figure.subplots(1, 3), panels, strict=True):
            shown = np.ma.masked_invalid(values)
            drawn = axis.pcolormesh(1000 * self.x, 1000 * self.y, shown, norm=norm, shading="nearest", rasterized=True)
            figure.colorbar(drawn, ax=axis, extend="neither" if norm is None else "max")
            axis.set(title=title, xlabel=f"{_label(self.across)} [mm]", ylabel=f"{_label(self.up)} [mm]")
            axis.set(aspect="equal", facecolor="0.85")
            if self.reachable.any():
                axis.set_xlim(_around(self.x, self.reachable.any(axis=0)))
                axis.set_ylim(_around(self.y, self.reachable.any(axis=1)))
            if self.up == "z3":
                axis.invert_yaxis()  # z₃ points down
        figure.suptitle(f"Workspace of the delta robot at {_label(self.fixed)} = {1000 * self.at:g} mm; gray: no reach")
        return figure


def workspace(kinematics: DeltaKinematics, z1: Line = None, z2: Line = None, z3: Line = 0.4) -> Workspace:
    """Map reach and conditioning over a plane: two coordinates vary, the third is a number.

    The robot is on the side of inverse kinematics where its elbows point outward.

    Args:
        kinematics: of the robot.
        z1: increasing grid or a number, m; ``None`` for 201 values as far as an arm is long.
        z2: the same.
        z3: the same, from the base down.

    Raises:
        InputError: unless two of the three are increasing grids and one is a number.

    Example:
        >>> map = workspace(DeltaKinematics(), z1=[-0.1, 0.0, 0.1], z2=[0.0, 0.32], z3=0.4)
        >>> map.reachable.tolist()
        [[True, True, True], [False, True, False]]
        >>> upright = workspace(DeltaKinematics(), z1=0.0, z3=None)
        >>> upright.across, upright.up, upright.margin.shape
        ('z2', 'z3', (201, 201))
    """
    given = {"z1": z1, "z2": z2, "z3": z3}
    far = kinematics.parameters["l1"] + kinematics.parameters["l2"]
    spans = {"z1": (-far, far), "z2": (-far, far), "z3": (0.0, far)}
    lines = {k: np.linspace(*spans[k], _POINTS) if v is None else _line(k, v) for k, v in given.items()}
    grids, numbers = ([k for k, v in lines.items() if v.ndim == n] for n in (1, 0))
    if len(grids) != 2:
        raise InputError(
            "workspace of the delta robot",
            "two coordinates as grids and one as a number",
            f"{len(grids)} as grids",
            "Write e.g. workspace(robot, z3=0.4), or workspace(robot, z1=0.0, z3=None) for a vertical plane.",
        )
    across, up = grids
    points = np.stack(np.broadcast_arrays(*(_laid_out(lines[k], k, up) for k in lines)), axis=-1)
    found = _evaluate(kinematics.p, points.reshape(-1, 3))
    maps = {name: values.reshape(points.shape[:2]) for name, values in found.items()}
    (fixed,) = numbers
    return Workspace(across, up, fixed, lines[across], lines[up], float(lines[fixed]), **maps)


def _around(line: FloatArray, reached: Any) -> tuple[float, float]:
    """Return what to show of a coordinate, mm: what is reached of it, and a little more."""
    low, high = line[reached].min(), line[reached].max()
    edge = 0.05 * (high - low) + np.diff(line).max()
    return 1000 * max(low - edge, line[0]), 1000 * min(high + edge, line[-1])


def _label(name: str) -> str:
    return name.translate(str.maketrans("123", "₁₂₃"))


def _laid_out(line: FloatArray, name: str, up: str) -> FloatArray:
    return line[:, None] if name == up else line


def _line(name: str, value: Any) -> FloatArray:
    """Return a coordinate as a number or an increasing grid."""
    try:
        line = np.array(value, dtype=float)
    except (TypeError, ValueError):
        line = np.array([np.nan])
    good = np.isfinite(line).all() and line.ndim < 2
    if not good or (line.ndim == 1 and (line.size < 2 or not (np.diff(line) > 0).all())):
        raise InputError(
            f"{name} of the workspace",
            "a finite number, or a grid of at least two increasing ones, in m",
            show(value),
            "Write e.g. np.linspace(-0.2, 0.2, 101).",
        )
    return line


def _evaluate(p: FloatArray, points: FloatArray) -> dict[str, Any]:
    """Return what a map shows, at points (n × 3)."""
    joints = _at_each(inverse_kernel(False), p, points, np.zeros((len(points), 6)))
    reachable = (joints["reach"][:, :, 0] >= 0).all(axis=1)
    smallest, largest, margin = np.full((3, len(points)), np.nan)
    margin[reachable] = 0.0
    q = joints["q"][:, :, 0]
    loops = _at_each(loop_kernel(), p, q[reachable])
    regular = np.linalg.det(loops["h_x"]) != 0
    rows = np.flatnonzero(reachable)[regular]
    inverse = np.linalg.inv(loops["h_x"][regular])
    margin[rows] = 1 / (np.sqrt(np.sum((inverse @ _ALIKE) * inverse, axis=(1, 2))) * p[_L2])
    defined = margin[rows] > _UNDEFINED
    g_y = -inverse[defined] @ loops["h_y"][regular][defined]
    rows = rows[defined]
    n = len(rows)
    pose = _at_each(pose_kernel(), p, q[rows], g_y.transpose(0, 2, 1).reshape(n, 18), np.zeros((n, 3)))
    sizes = np.linalg.svd(pose["J_c"], compute_uv=False)
    largest[rows], smallest[rows] = sizes[:, 0], sizes[:, -1]
    return {"reachable": reachable, "smallest": smallest, "largest": largest, "margin": margin}


def _at_each(kernel: Kernel, p: FloatArray, *rows: FloatArray) -> dict[str, FloatArray]:
    """Evaluate a kernel whose last input are the parameters, and return n matrices for each output.

    Bound to one row of numbers, each evaluation takes a microsecond.
    """
    table = np.hstack(rows)
    row, out = np.zeros(table.shape[1]), np.zeros(kernel.size)
    ends = np.cumsum(list(kernel.inputs.values())[:-1])
    call = kernel.bind(*np.split(row, ends[:-1]), p, out)
    found = np.empty((len(table), kernel.size))
    for k, values in enumerate(table):
        row[:] = values
        call()
        found[k] = out
    outputs, begin = {}, 0
    for name, (height, width) in kernel.outputs.items():
        block = found[:, begin : begin + height * width].reshape(len(table), width, height)
        outputs[name] = block.transpose(0, 2, 1)
        begin += height * width
    return outputs
