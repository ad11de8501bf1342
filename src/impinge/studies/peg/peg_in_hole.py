"""A square peg goes into a square hole 0.1 mm wider, one millimeter beside it and tilted by one degree at first.

The soft gripper, with its center of compliance at the tip, puts it in from 0.1 to 5.5 mm beside the hole and from −2 to
2 degrees of tilt, wherever tried. From 2.2 degrees on, or with its center 40 mm above the tip or more, the peg catches
on the far rim and tips over the mouth. The stiff gripper puts it in only without tilt; else it jams in the hole. In
two-point contact the load runs along the border of what wall and rim can hold, whoever holds the peg: that takes the
soft gripper half a newton, and the stiff one more than it may use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import cos, sin
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from impinge.studies.peg.whitney import length_of, margin, mirrored, slack, stuck, tilt_of, two_point
from impinge.studies.study import Claim, Outcome, Parameter, Progress, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from impinge.contact import Law
    from impinge.scene import Scene
    from impinge.simulation.bodies.assemble import SceneResult

FloatArray = NDArray[np.float64]

WIDTH, LENGTH, MASS = 0.02, 0.06, 0.1
RIM, THICKNESS = 0.03, 0.04  # of the plate around the hole
_ABOVE = 0.003  # the tip over the plate at the start
_TARGET = 0.025  # depth
_PUSH = 10.0  # N, of the loads for the jamming diagram
# Stiffness along and about all axes, and damping: N/m, N·m/rad, N·s/m, N·m·s/rad.
GRIPPERS = {"soft": (2e3, 1.0, 30.0, 0.03), "stiff": (2e4, 300.0, 100.0, 0.4)}


def plate(scene: Scene, hole: float) -> None:
    """Add a plate with a square hole, its upper side at z = 0."""
    from impinge.geometry import Box

    far, deep = (hole + RIM) / 2, -THICKNESS / 2
    for name, sign in (("left", -1.0), ("right", 1.0)):
        scene.fixed(name, Box(RIM, hole + 2 * RIM, THICKNESS), at=(sign * far, 0.0, deep))
    for name, sign in (("front", -1.0), ("back", 1.0)):
        scene.fixed(name, Box(hole, RIM, THICKNESS), at=(0.0, sign * far, deep))


def middle_of(tip: tuple[float, float], tilt: float) -> tuple[float, float, float]:
    """Return the peg's middle from its tip's middle (x, z); it leans towards +x."""
    return tip[0] + 0.5 * LENGTH * sin(tilt), 0.0, tip[1] + 0.5 * LENGTH * cos(tilt)


def held_peg(p: Mapping[str, Any]) -> Scene:
    """Return the scene: the peg in its gripper, beside the hole and tilted."""
    from impinge.geometry import Box
    from impinge.scene import Scene

    scene = Scene("peg in hole", friction=p["friction"])
    plate(scene, WIDTH + 1e-3 * p["clearance"])
    tilt = np.radians(p["tilt"])
    start = middle_of((1e-3 * p["misalignment"], _ABOVE), tilt)
    scene.body("peg", Box(WIDTH, WIDTH, LENGTH), mass=MASS, at=start, turn=(0.0, tilt, 0.0))
    scene.moving("gripper", lambda t, x, z: (x, 0, z), inputs=("x", "z"))
    along, about, slow, turn = GRIPPERS[p["gripper"]]
    scene.hold(
        "peg",
        "gripper",
        stiffness=[along] * 3 + [about] * 3,
        damping=[slow] * 3 + [turn] * 3,
        center=(0.0, 0.0, 1e-3 * p["center"] - 0.5 * LENGTH),
    )
    return scene


class Insertion:
    """Moves the gripper: down to the plate, along it until the peg drops, then down into the hole.

    It knows the force of the grip and where the peg is, not where the hole is: only that it lies towards −x.

    Attributes:
        phase: "weigh", "approach", "search", "insert", "inserted", "jammed" or "lost".
        began: when each phase began, s.
    """

    period = 1e-3
    _WEIGH = 0.1  # s
    _APPROACH, _SEARCH, _INSERT = 0.02, 0.005, 0.03  # m/s
    _TOUCH, _PRESS, _SIDE, _LIMIT = 1.0, 3.0, 15.0, 40.0  # N
    _DROP, _FARTHEST = 5e-4, 6e-3  # m: that tells the hole; how far to look for it
    _PATIENCE, _PROGRESS = 0.2, 1e-4  # s and m: with the largest push, and without that much progress, it is jammed

    def __init__(self, stiffness: float, target: float = _TARGET) -> None:
        self.stiffness, self.target = stiffness, target

    def reset(self, measurement: Any) -> None:
        """Begin by weighing the peg."""
        self.x = self.z = self.weight = 0.0
        self.surface = self.best = self.since = 0.0
        self.began: dict[str, float] = {}
        self._enter("weigh", 0.0)

    def _enter(self, phase: str, t: float) -> None:
        self.phase = phase
        self.began[phase] = t

    def step(self, t: float, measurement: Any) -> dict[str, float]:
        """Return where the gripper goes next."""
        m, dt = measurement, self.period
        push, tip = self.weight - m.grip_peg_fz, tip_of(m.peg_x, m.peg_z, m.peg_qw, m.peg_qy)[1]
        if self.phase == "weigh" and t >= self._WEIGH:
            self.weight = m.grip_peg_fz
            self._enter("approach", t)
        elif self.phase == "approach":
            self.z -= self._APPROACH * dt
            if push > self._TOUCH:
                self.surface = tip
                self._enter("search", t)
        elif self.phase == "search":
            self.x -= self._SEARCH * dt
            self.z += 0.2 * (push - self._PRESS) / self.stiffness
            if tip < self.surface - self._DROP or m.grip_peg_fx < -self._SIDE:
                self.best, self.since = tip, t
                self._enter("insert", t)
            elif self.x < -self._FARTHEST:
                self._enter("lost", t)
        elif self.phase == "insert":
            if push < self._LIMIT:
                self.z -= self._INSERT * dt
            if tip < self.best - self._PROGRESS:
                self.best, self.since = tip, t
            if tip < self.surface - self.target:
                self._enter("inserted", t)
            elif push >= self._LIMIT and t > self.since + self._PATIENCE:
                self._enter("jammed", t)
        return {"x": self.x, "z": self.z}


def tip_of(x: Any, z: Any, qw: Any, qy: Any) -> tuple[Any, Any]:
    """Return the middle of the tip (x, z) from the peg's pose in the plane."""
    tilt = 2.0 * np.arctan2(qy, qw)
    return x - 0.5 * LENGTH * np.sin(tilt), z - 0.5 * LENGTH * np.cos(tilt)


@dataclass(frozen=True)
class Motion:
    """The motion of the peg, row by row.

    Attributes:
        x, z: middle of the tip, m.
        tilt: towards +x, rad.
        length: from the tip's corner to the rim, along the side that leans on it, m.
        load: what the walls hold: F towards +x, P down, and M/r about y at the middle of the tip, rows × 3, N.
        two_point: whether the left and the right wall both push.
    """

    x: FloatArray
    z: FloatArray
    tilt: FloatArray
    length: FloatArray
    load: FloatArray
    two_point: NDArray[np.bool_]


def motion_of(r: SceneResult) -> Motion:
    """Return how the peg moved and what its contacts held."""
    x, z = tip_of(r["peg_x"], r["peg_z"], r["peg_qw"], r["peg_qy"])
    tilt, c = 2.0 * np.arctan2(r["peg_qy"], r["peg_qw"]), r.contacts
    peg = c.parts.index("peg")
    force = np.where(c.first == peg, 1.0, -1.0)[:, None] * c.force
    arm_x, arm_z = c.place[:, 0] - x[c.row], c.place[:, 2] - z[c.row]
    moment = (arm_z * force[:, 0] - arm_x * force[:, 2]) / (0.5 * WIDTH)
    load = np.zeros((r.t.size, 3))
    np.add.at(load, c.row, np.column_stack([-force[:, 0], force[:, 2], -moment]))
    pushed = [np.zeros(r.t.size, dtype=bool) for _ in range(2)]
    for side, name in zip(pushed, ("left", "right"), strict=True):
        wall = c.between("peg", name)
        side[wall.row[np.abs(wall.normal[:, 0]) > 0.5]] = True
    length = (-z + 0.5 * WIDTH * np.sin(np.abs(tilt))) / np.cos(tilt)
    return Motion(x, z, tilt, length, load, pushed[0] & pushed[1])


def insert(p: Mapping[str, Any], law: Law | None = None, progress: Progress | None = None) -> tuple[Any, Insertion]:
    """Simulate the insertion; return the result and its controller."""
    from impinge.contact import Complementarity
    from impinge.simulation import simulate

    controller = Insertion(GRIPPERS[p["gripper"]][0])
    chosen = law or Complementarity(step=p["step"], tolerance=1e-6)
    result = simulate(held_peg(p), chosen, until=p["until"], controller=controller, sample=1e-3, progress=progress)
    return result, controller


def _two_point(p: Mapping[str, Any], m: Motion) -> dict[str, Any]:
    """Compare the two-point contact, if there was one, with its geometry and statics."""
    rows = np.flatnonzero(m.two_point)
    if not rows.size:
        return {"two_point_depth_mm": None, "two_point_error_um": None, "end_slack": None}
    hole, lean, last = WIDTH + 1e-3 * p["clearance"], np.abs(m.tilt), rows[-1]
    error = hole - WIDTH * np.cos(lean[rows]) - m.length[rows] * np.sin(lean[rows])
    edges = two_point(WIDTH, float(m.length[last]), float(lean[last]), p["friction"])
    return {
        "two_point_depth_mm": 1e3 * float(m.length[rows[0]]),
        "two_point_error_um": 1e6 * float(np.abs(error).max()),
        "end_slack": float(slack(edges if m.tilt[last] > 0.0 else mirrored(edges), m.load[last])),
    }


def jamming(p: Mapping[str, Any]) -> dict[str, Any]:
    """Load a peg in two-point contact by a grid of constant loads; compare what it does with the statics."""
    from impinge.studies.peg.peg_load import load

    length, clearance, mu, n = 1e-3 * p["length"], 1e-3 * p["clearance"], p["friction"], p["loads"]
    found, wrong, failed = [], [0.0], 0
    tilt = tilt_of(WIDTH, WIDTH + clearance, length)
    for across in np.linspace(-1.3 / mu, 1.3 / mu, n).tolist():
        for moment in (np.linspace(-1.3, 1.3, n) * (2.0 * length / (WIDTH * mu) + 1.0)).tolist():
            done = load(length, mu, _PUSH * across, _PUSH, _PUSH * 0.5 * WIDTH * moment, clearance=clearance)
            found.append([across, moment, done.slides])
            failed += not done.ok
            if done.slides == bool(stuck(WIDTH, length, tilt, mu, (across, 1.0, moment))):
                wrong.append(abs(float(margin(WIDTH, length, mu, across, moment))))
    counts = {"loads_slide": sum(x[2] for x in found), "loads_wrong": len(wrong) - 1, "loads_failed": failed}
    return {"loads": found, **counts, "loads_wrong_margin": max(wrong)}


def _run(p: Mapping[str, Any], law: Law | None, progress: Progress | None) -> Outcome:
    result, controller = insert(p, law, progress)
    m, began = motion_of(result), controller.began
    force = np.linalg.norm(result.contacts.force_on("peg", result.t.size), axis=1)
    tilt = np.radians(abs(p["tilt"]))
    hole = WIDTH + 1e-3 * p["clearance"]
    return Outcome(
        result,
        {
            "inserted": result.ok and controller.phase == "inserted",
            "jammed": controller.phase == "jammed",
            "phase": controller.phase,
            "insertion_depth_mm": -1e3 * float(m.z[-1]),
            "insertion_time": began.get("inserted"),
            "peak_force_N": float(force.max()),
            "search_mm": 1e3 * abs(controller.x),
            "final_tilt_deg": float(np.degrees(m.tilt[-1])),
            "first_two_point_mm": 1e3 * length_of(WIDTH, hole, tilt) if tilt > 0.0 else None,
            **_two_point(p, m),
            **jamming(p),
            "deepest_penetration": result.certificate.contacts["all"].deepest_penetration,
        },
    )


def _figure(p: Mapping[str, Any], outcome: Outcome) -> Figure:
    from impinge.studies.peg.peg_figure import draw

    return draw(p, outcome)


_AS_LISTED: dict[str, Any] = {}
_STIFF = {"gripper": "stiff"}
study = Study(
    name="peg-in-hole",
    title="a soft gripper fits a peg into a hole 0.1 mm wider; with a stiff one it jams",
    paper="Whitney 1982, quasi-static assembly",
    run=_run,
    figure=_figure,
    parameters=(
        Parameter("gripper", "soft", about="2 kN/m and 1 N·m/rad, or 20 kN/m and 300 N·m/rad", choices=tuple(GRIPPERS)),
        Parameter("misalignment", 1.0, "mm", "of the gripper, beside the hole"),
        Parameter("tilt", 1.0, "deg", "of the gripper; positive: the corner away from the hole is lower"),
        Parameter("clearance", 0.1, "mm", "by which the hole is wider", minimum=0.0, above=True),
        Parameter("friction", 0.2, about="coefficient of peg and plate", minimum=0.0, above=True),
        Parameter("center", 0.0, "mm", "center of compliance, above the tip"),
        Parameter(
            "length", 10.0, "mm", "from tip to rim where the jamming diagram is checked", minimum=0.0, above=True
        ),
        Parameter("loads", 9, about="simulated loads along each side of the diagram", minimum=0, effort=True),
        Parameter("step", 5e-4, "s", "length of a time step", minimum=0.0, above=True),
        Parameter("until", 2.0, "s", "end", minimum=0.0, above=True),
    ),
    claims=(
        Claim("inserted", "ours: the soft gripper inserts it", lambda o: o.metrics["inserted"], when=_AS_LISTED),
        Claim("jammed", "Whitney: with a stiff support it jams", lambda o: o.metrics["jammed"], when=_STIFF),
        Claim(
            "jam-explained",
            "Whitney: it stops where the load reaches the border of the jamming diagram",
            lambda o: o.metrics["end_slack"],
            0.0,
            tolerance=1e-6,
            when=_STIFF,
            note="with the peg's tilt: angle between the load and the cone that wall and rim can hold; without it the "
            "border is 4 % off",
        ),
        Claim(
            "two-point",
            "Whitney: D = d cos θ + l sin θ in two-point contact",
            lambda o: o.metrics["two_point_error_um"],
            0.3,
            compare="at most",
            when=_AS_LISTED,
            note="in micrometers; contacts sink in by up to 0.1 micrometer each",
        ),
        Claim(
            "diagram",
            "Whitney: loads inside the jamming diagram slide in, others are stuck",
            lambda o: o.metrics["loads_wrong_margin"],
            0.03,
            compare="at most",
            when=_AS_LISTED,
            note="largest distance from the border of a load that did otherwise, over half the diagram's size; the "
            "simulated moment is constant to 1 %, which is 3 % of that size at the ends",
        ),
    ),
    quick=("loads=3",),
)
