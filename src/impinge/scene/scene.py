"""Describe a scene in a few lines: bodies, what they stand on, what moves on its own, robots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from impinge.errors import InputError, unknown_name
from impinge.model import Model, Quantity, missing_in_model
from impinge.scene.parts import Grip, Part, Robot, check_path, friction_of, inertia_of, placed
from impinge.scene.pose import quaternion, vector

if TYPE_CHECKING:
    from impinge.scene.poses import Signals

FloatArray = NDArray[np.float64]

FIXED, BODY, MOVING, LINK = "fixed", "body", "moving", "link"


class Scene:
    """Rigid bodies with shapes, and what they can touch; simulate it as you would a model.

    Args:
        name: of the scene.
        gravity: acceleration of everything that falls, m/s². Robots have their own in their energies.
        friction: coefficient of surfaces for which no other is given.

    Example:
        >>> from impinge import Box, HalfSpace, Scene
        >>> scene = Scene("drop")
        >>> scene.fixed("table", HalfSpace())
        >>> scene.body("brick", Box(0.2, 0.1, 0.06), density=1800, at=(0, 0, 0.5))
        >>> print(scene)
        scene drop
          fixed   table  HalfSpace
          body    brick  Box, 2.16 kg
    """

    def __init__(self, name: str, gravity: ArrayLike = (0.0, 0.0, -9.81), friction: float = 0.5) -> None:
        self.name = name
        self.gravity = vector(f"gravity of scene '{name}'", gravity)
        self._default = friction_of(f"scene '{name}'", friction)
        self.parts: dict[str, Part] = {}
        self.paths: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {}
        self.inputs: list[Quantity] = []
        self.robots: list[Robot] = []
        self.grips: list[Grip] = []
        self.pair_friction: dict[tuple[str, str], float] = {}
        self.ignored: set[tuple[str, str]] = set()

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"scene '{self.name}'"

    @property
    def input_places(self) -> Mapping[str, int]:
        """Where each input stands, by name."""
        return {x.name: k for k, x in enumerate(self.inputs)}

    def body(
        self,
        name: str,
        shapes: Any,
        *,
        density: float | None = None,
        mass: float | None = None,
        at: ArrayLike = (0.0, 0.0, 0.0),
        turn: Any = None,
        velocity: ArrayLike = (0.0, 0.0, 0.0),
        spin: ArrayLike = (0.0, 0.0, 0.0),
        friction: float | None = None,
        on: str = "",
    ) -> None:
        """Add a rigid body.

        Args:
            name: of the body.
            shapes: a shape, or several as `Placed`; they carry its mass.
            density: of all its shapes, kg/m³; or
            mass: of all together, kg.
            at: where its axes start, m; on a link: in the link's axes.
            turn: how they are turned: rotation vector (axis times angle), quaternion (w, x, y, z) or matrix.
            velocity: of its center of mass, m/s.
            spin: angular velocity about its own axes, rad/s.
            friction: coefficient of its surface.
            on: the robot's link on which it hangs, fixed to it.
        """
        who = self._claim(name, "body")
        if on and (on not in self.parts or self.parts[on].kind != LINK):
            raise unknown_name(who, "link", on, [part.name for part in self.parts.values() if part.kind == LINK])
        given = placed(who, shapes)
        self.parts[name] = Part(
            name,
            BODY,
            given,
            at=vector(f"place of {who}", at),
            turn=quaternion(who, turn),
            velocity=vector(f"velocity of {who}", velocity),
            spin=vector(f"spin of {who}", spin),
            inertia=inertia_of(who, given, density, mass),
            on=on,
            friction=self._friction(who, friction),
        )

    def fixed(
        self,
        name: str,
        shapes: Any,
        *,
        at: ArrayLike = (0.0, 0.0, 0.0),
        turn: Any = None,
        friction: float | None = None,
    ) -> None:
        """Add something that never moves; its mass does not matter."""
        who = self._claim(name, "fixed part")
        self.parts[name] = Part(
            name,
            FIXED,
            placed(who, shapes),
            at=vector(f"place of {who}", at),
            turn=quaternion(who, turn),
            friction=self._friction(who, friction),
        )

    def moving(
        self,
        name: str,
        path: Callable[..., Any],
        shapes: Any = (),
        *,
        inputs: Sequence[str] = (),
        friction: float | None = None,
    ) -> None:
        """Add something that moves along a known path, whatever touches it.

        Args:
            name: of the part.
            path: ``path(t, *inputs)`` in CasADi expressions: a position (3), or a position and how it is turned, as
                (axis, angle) or a 3 × 3 matrix. Inputs are held between the ticks of a controller: the path jumps
                with them, and its speed is that of t alone.
            shapes: what it carries; none for a point to hold something by.
            inputs: names of its inputs.
            friction: coefficient of its surface.
        """
        who = self._claim(name, "moving part")
        check_path(who, path, inputs)
        known = {x.name for x in self.inputs}
        for one in inputs:
            if not one.isidentifier() or one in known:
                raise InputError(who, "inputs with names of their own", f"'{one}'", "Rename it.")
        self.parts[name] = Part(name, MOVING, placed(who, shapes), friction=self._friction(who, friction))
        self.paths[name] = (path, tuple(inputs))
        self.inputs += [Quantity(one, "", about=f"of {name}") for one in inputs]

    def robot(
        self,
        model: Model,
        shapes: Mapping[str, Any] | None = None,
        *,
        parameters: Mapping[str, float] | None = None,
        friction: float | None = None,
    ) -> None:
        """Add a robot; its links become parts that shapes and bodies may be attached to.

        Shapes of a link have no mass: the model has all of the robot's. A body on a link (``body(on=...)``) adds its
        own. Parts of one robot pass through each other. A link that no coordinate moves stands like a fixed part. The
        model's outputs are signals of the scene, and controllers are given them.

        Args:
            model: with links (`ModelBuilder.link`), and without gaps (`Model.without_gaps`): in a scene contacts come
                from shapes.
            shapes: of its links, by name.
            parameters: that differ from the model's.
            friction: coefficient of its links' surfaces.
        """
        who = f"robot '{model.name}' of scene '{self.name}'"
        names = [link.name for link in model.links]
        for link in shapes or {}:
            if link not in names:
                raise unknown_name(who, "link", link, names)
        if model.gaps:
            got = ", ".join(f"'{gap.name}'" for gap in model.gaps)
            remedy = "Give robot(model.without_gaps(), ...), and its links the shapes that touch."
            raise InputError(who, "a model without gaps", f"gap {got}", remedy)
        if any(robot.model.name == model.name for robot in self.robots):
            raise InputError(who, "a name of its own for each robot", f"'{model.name}' twice", "Rename one model.")
        taken = {x.name for x in self.inputs}
        for x in model.inputs:
            if x.name in taken:
                raise InputError(who, "inputs with names of their own", f"'{x.name}' twice", "Rename one.")
        for link in names:
            part = self._claim(link, "link")
            carried = placed(part, (shapes or {}).get(link, ()))
            self.parts[link] = Part(link, LINK, carried, friction=self._friction(part, friction))
        self.robots.append(Robot(model.name, model, model.parameter_vector(parameters or {}), tuple(names)))
        self.inputs += list(model.inputs)

    def hold(
        self,
        body: str,
        by: str,
        *,
        stiffness: ArrayLike,
        damping: ArrayLike,
        center: ArrayLike = (0.0, 0.0, 0.0),
    ) -> None:
        """Hold a body by a spring and damper in six directions, as an impedance-controlled gripper does.

        It is at rest where the body starts, seen from its holder as that is at t = 0.

        Args:
            body: what is held.
            by: the moving or fixed part that holds it.
            stiffness: along and about the holder's axes, 3 × N/m and 3 × N·m/rad.
            damping: the same, 3 × N·s/m and 3 × N·m·s/rad.
            center: the point of the body at which they act (its center of compliance), in its axes, m.
        """
        who = f"grip on '{body}' in scene '{self.name}'"
        for name, kinds in ((body, (BODY,)), (by, (MOVING, FIXED))):
            if name not in self.parts or self.parts[name].kind not in kinds:
                suitable = [part.name for part in self.parts.values() if part.kind in kinds]
                raise unknown_name(who, " or ".join(kinds) + " part", name, suitable)
        if self.parts[body].on:
            raise InputError(who, "a free body", f"one that hangs on '{self.parts[body].on}'", "Hold a free one.")
        k, d = (vector(f"{what} of the {who}", x, 6) for what, x in (("stiffness", stiffness), ("damping", damping)))
        if min(k.min(), d.min()) < 0.0:
            got = f"{min(k.min(), d.min()):g}"
            raise InputError(who, "stiffness and damping of zero or more", got, "Give six of each, none below zero.")
        self.grips.append(Grip(body, by, k, d, vector(f"center of the {who}", center)))

    def around(self, near: Mapping[str, float] | None = None, *, within: float = 1e-3, time: float = 0.0) -> Model:
        """Return the scene as a model around a pose: for analyses, and for all else that models are for.

        Its contacts are those of the features that are near each other at the pose: a corner over a face, a ball beside
        an edge, two edges that cross. They go on where a face ends, so the model is the scene as long as these features
        are those that touch. Contacts are named by their parts, ``box_floor_1`` …; coordinates are the scene's, and
        velocities of a body those of the origin of its axes.

        Args:
            near: the pose, coordinates and velocities by name; what is not named is as the scene starts. It becomes the
                start of the model.
            within: how near to each other features are contacts, m.
            time: the instant at which moving parts are looked at, s.

        Example:
            >>> from impinge import Box, HalfSpace, Impact, equilibrium
            >>> scene = Scene("rest")
            >>> scene.fixed("floor", HalfSpace())
            >>> scene.body("box", Box(0.2, 0.2, 0.1), mass=2.0, at=(0, 0, 0.05))
            >>> model = scene.around()
            >>> model.contacts
            ('box_floor_1', 'box_floor_2', 'box_floor_3', 'box_floor_4')
            >>> rest = equilibrium(model, model.contacts)
            >>> round(rest.forces["force_box_floor_1"], 9)
            4.905
        """
        from impinge.scene.around.model import model_around

        inputs = self.input_places
        pose = {name: value for name, value in (near or {}).items() if name not in inputs}
        return model_around(self, pose, within, time)

    def poses(self, result: Signals, part: str) -> tuple[FloatArray, FloatArray]:
        """Return where a part is in every row of a result: that of a body's axes, a link, or what moves or stands.

        Args:
            result: of a run of the scene, or of the scene as a model.
            part: its name.

        Returns:
            Positions of its origin, rows × 3, m, and its axes as columns, rows × 3 × 3.

        Example:
            >>> from impinge import Complementarity, Scene, Sphere, robots, simulate
            >>> scene = Scene("ball")
            >>> scene.robot(robots.ball(height=5.0).without_gaps(), {"ball": Sphere(0.1)})
            >>> result = simulate(scene, Complementarity(), until=1.0)
            >>> place, axes = scene.poses(result, "ball")
            >>> place[0].tolist(), bool((place[:, 2] == result["q"]).all())
            ([0.0, 0.0, 5.0], True)
        """
        from impinge.scene.poses import poses_of

        return poses_of(self, result, part)

    def friction(self, one: str, other: str, coefficient: float) -> None:
        """Set the coefficient of friction between two parts; otherwise it is the smaller of their own."""
        self.pair_friction[self._pair(one, other)] = friction_of(f"friction of '{one}' and '{other}'", coefficient)

    def ignore(self, one: str, other: str) -> None:
        """Let two parts pass through each other."""
        self.ignored.add(self._pair(one, other))

    def _friction(self, who: str, value: float | None) -> float:
        return self._default if value is None else friction_of(who, value)

    def _pair(self, one: str, other: str) -> tuple[str, str]:
        who = f"pair of scene '{self.name}'"
        for name in (one, other):
            if name not in self.parts:
                raise unknown_name(who, "part", name, self.parts)
        if one == other:
            raise InputError(who, "two different parts", f"'{one}' twice", "Name both.")
        return (one, other) if one < other else (other, one)

    def _claim(self, name: str, kind: str) -> str:
        who = f"{kind} '{name}' of scene '{self.name}'"
        if not str(name).isidentifier():
            raise InputError(who, "a name that is a Python identifier", f"'{name}'", "Use letters, digits, _.")
        if name in self.parts:
            raise InputError(who, "a name of its own for each part", f"'{name}' twice", "Rename one of the two.")
        return who

    def __getattr__(self, name: str) -> Any:
        got = f"scene '{self.__dict__.get('name', '')}'"
        raise missing_in_model(name, got, "Simulate it; what else there is, is for models.")

    def __str__(self) -> str:
        lines = [f"scene {self.name}"]
        width = max((len(name) for name in self.parts), default=0)
        for part in self.parts.values():
            shapes = ", ".join(type(item.shape).__name__ for item in part.shapes) or "no shape"
            mass = f", {part.inertia.mass:g} kg" if part.inertia else ""
            hangs = f", on {part.on}" if part.on else ""
            lines.append(f"  {part.kind:<7} {part.name:<{width}}  {shapes}{mass}{hangs}")
        return "\n".join(lines)
