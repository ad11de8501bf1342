"""`simulate`: check everything, run the compiled loop, tick the controllers, hand over the result."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from impinge.compile import Struct, prepare
from impinge.contact.law import ContactLaw, Law, law_code
from impinge.contact.laws.complementarity import Complementarity
from impinge.errors import ImpingeWarning, InputError, show, unknown_name
from impinge.model import Model, check_model, finite
from impinge.scene.scene import Scene
from impinge.simulation.check import friction_of, laws_of
from impinge.simulation.clock import Controller
from impinge.simulation.conduct import BUDGET, Run
from impinge.simulation.events.event_driven import EventDriven
from impinge.simulation.events.halt import halt
from impinge.simulation.events.instant import DONE
from impinge.simulation.events.leap import leap
from impinge.simulation.events.settle import settle
from impinge.simulation.events.standstill import stand_still
from impinge.simulation.events.still import stop_slips
from impinge.simulation.events.strike import strike
from impinge.simulation.integrate.implicit import implicit_step
from impinge.simulation.integrate.method import Adaptive, FixedStep, Method
from impinge.simulation.integrate.rosenbrock import RODAS5P
from impinge.simulation.locate.proof import no_proof
from impinge.simulation.model_view import ModelView, View
from impinge.simulation.results.assemble import assemble
from impinge.simulation.results.inside import look
from impinge.simulation.results.observe import note
from impinge.simulation.results.record import ROWS, add_current, measure
from impinge.simulation.results.result import Result
from impinge.simulation.scenes.model import SceneModel
from impinge.simulation.steps.stepping import TimeStepping, stepping_law, stepping_plant
from impinge.simulation.system.dynamics import find_press, right_hand_side
from impinge.simulation.system.interface import System
from impinge.simulation.system.plant import TIME, Plant, columns
from impinge.simulation.system.pool import Room, room_for
from impinge.simulation.system.tables import contact_tables, coordinate_tables

FloatArray = NDArray[np.float64]

_DEFAULT_SAMPLES = 500
# Forces of dampers are as uncertain as they are at this many times the tolerance of velocities.
_GRAIN = 10.0
# A rigid contact takes a load over where it is no deeper than this share of what a soft one may be.
_RIGID = 1e-4
_DEFAULT_STEPS = 50  # at least, unless the method says otherwise


def simulate(
    model: Model | Scene,
    law: ContactLaw | Mapping[str, ContactLaw] | None = None,
    *,
    until: float,
    start: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, float] | None = None,
    controller: Controller | Sequence[Controller] = (),
    method: Method | None = None,
    stabilization: tuple[float, float] = (400.0, 40.0),
    sample: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Simulate a model or a scene from t = 0: event by event, or in steps if its law is `Complementarity`.

    Args:
        model: what moves; a scene of many bodies is for `Complementarity`.
        law: how its contacts behave; one for all, or one for each by name.
        until: end time, s.
        start: start values that differ from the model's, by signal name (``x``, ``x_dot``).
        parameters: parameters that differ from the model's.
        inputs: inputs held constant, as far as no controller commands them.
        controller: sampled controllers, each with its own period.
        method: `Adaptive` (the default) or `FixedStep`; none if the law steps, which has its own.
        stabilization: (α₀, α₁) of bilateral constraints, ḧ + α₁ḣ + α₀h = 0; a law that steps needs none.
        sample: spacing of recorded rows, s. By default every step is recorded, and at least 500 rows event by event.
        progress: called now and then with the simulated time.

    Returns:
        The result; if the run fails half-way, what there is, with ``ok`` False and the reason.

    Warns:
        ImpingeWarning: if the run ends early, or if its certificate says that it broke a promise.

    Raises:
        ImpingeError: if something is wrong before the run starts.

    Example:
        >>> from impinge import Baumgarte, robots
        >>> result = simulate(robots.ball(), Baumgarte(a0=100, a1=20, a2=1e6), until=2.0)
        >>> [round(t, 6) for t in result.times("floor", after="Contact")]
        [0.451524, 1.015104, 1.304346]
    """
    if not isinstance(model, Scene):
        check_model("simulate", model)
    who = f"simulation of {'scene' if isinstance(model, Scene) else 'model'} '{model.name}'"
    end = finite(f"end time of the {who}", until)
    spacing = end / _DEFAULT_SAMPLES if sample is None else finite(f"sample spacing of the {who}", sample)
    if end <= 0:
        raise InputError(who, "an end time above zero", f"until = {end:g} s", "Runs start at t = 0.")
    if spacing <= 0:
        raise InputError(who, "a sample spacing above zero", f"sample = {spacing:g} s", "Leave it out for every step.")
    controllers = list(controller) if isinstance(controller, Sequence) else [controller]
    if isinstance(model, Scene) and isinstance(law, Complementarity):
        from impinge.simulation.bodies.run import simulate_scene

        _check_stepped(who, law, method)
        for name in parameters or {}:
            raise unknown_name(who, "parameter", name, ())
        spaced = None if sample is None else spacing
        return warned(simulate_scene(model, law, end, start or {}, inputs or {}, controllers, spaced, progress))
    system = SceneModel(model) if isinstance(model, Scene) else model
    view = view_of(system)
    p = system.parameter_vector(parameters or {})
    q, v = system.start_vectors(start or {})
    u = system.input_vector(inputs or {})
    laws = laws_of(system, law, ContactLaw)
    stepped = stepping_law(system, law, laws) if isinstance(system, Model) else None
    view.check_start(laws, q, v, u, p)
    view.start(q, v, u)
    if stepped is not None and isinstance(system, Model):
        _check_stepped(who, stepped, method)
        plant = stepping_plant(system, stepped, laws, p, spacing, sample is None)
        kernel, flight = system.stepping, None
    else:
        chosen = Adaptive() if method is None else method
        if not isinstance(chosen, Adaptive | FixedStep):
            raise InputError(
                who, "a method, Adaptive(...) or FixedStep(...)", repr(method), "Leave it out for the default."
            )
        driven = laws_of(system, law)
        prepare((*EventDriven.code, *law_code(driven)))
        kernel = system.dynamics
        flight = view.airborne
        plant = plant_of(system, driven, p, stabilization, chosen, end)._replace(
            flight=0 if flight is None else flight.address,
            proof=view.proof(p) if chosen.prove else no_proof(),
            sample=spacing,
            every_step=sample is None,
        )
    with room_for(plant, kernel, flight) as room:
        packed = Struct(plant), room.packed
        loop: EventDriven | TimeStepping = EventDriven(system, laws, room.w, packed)
        if stepped is not None and isinstance(system, Model):
            loop = TimeStepping(system, stepped, plant, room)
        run = _ModelRun(system, view, plant, room, packed, loop, progress)
        room.w.y[: q.size + v.size] = np.concatenate([q, v])
        room.w.u[:] = u
        reason = run.through(end, controllers)
        _show(system, view, run.log.rows[: run.log.used[ROWS], columns(plant)["q"]])
        return warned(assemble(system, laws, plant, room.w, packed, run.log, reason))


def warned(result: Result) -> Result:
    """Return a result, with a warning if it is not what was asked for; the warning is the caller's of `simulate`."""
    if not (result.ok and result.certificate.ok):
        warnings.warn(result.complaint(), ImpingeWarning, stacklevel=3)
    return result


def view_of(system: Model | SceneModel) -> View:
    """Return what a run asks of a system beside what every system has."""
    return system if isinstance(system, SceneModel) else ModelView(system)


def _show(system: System, view: View, q: FloatArray) -> None:
    """Turn rows of coordinates into those that are shown: quaternions of length one, bodies by their axes' origins."""
    for spin in system.spins:
        q[:, spin.q : spin.q + 4] /= np.linalg.norm(q[:, spin.q : spin.q + 4], axis=1, keepdims=True)
    view.show(q)


def _check_stepped(who: str, law: Complementarity, method: Method | None) -> None:
    if method is not None:
        remedy = f"Leave it out: the law '{law.name}' has a step of its own."
        raise InputError(who, "no method", repr(method), remedy)


def plant_of(
    model: Model | SceneModel,
    laws: Sequence[Law],
    parameters: FloatArray,
    stabilization: tuple[float, float],
    method: Method,
    until: float,
) -> Plant:
    """Return the plant of a model or scene whose contacts follow these laws."""
    who = f"simulation of {model.label}"
    pair = stabilization if isinstance(stabilization, Sequence) and len(stabilization) == 2 else (0.0, 0.0)
    gains = [finite(f"stabilization of the {who}", a) for a in pair]
    if min(gains) <= 0:
        remedy = "A critically damped pair is (w², 2w)."
        raise InputError(who, "stabilization gains (a0, a1) above zero", show(stabilization), remedy)
    prepare((right_hand_side, find_press, note, look, *law_code(laws)))
    tables, view = contact_tables(model, laws), view_of(model)
    for gap, restitution in zip(model.gaps, tables.fields["restitution"], strict=True) if tables.rigid else ():
        if restitution >= 0 and len(gap.slips) > 2:
            got = f"{len(gap.slips)} of contact '{gap.name}'"
            raise InputError(who, "one or two slips of a rigid contact", got, "A surface has two directions at most.")
    return Plant(
        evaluate=right_hand_side.address,
        find_press=find_press.address,
        settle=settle.address if len(model.gaps) > 1 and tables.slides else 0,
        stand=stand_still.address if len(model.gaps) > 1 and tables.slides else 0,
        leap=leap.address if len(model.gaps) > 1 and tables.slides else 0,
        implicit=implicit_step.address if method.implicit and tables.compliant else 0,
        steady=int(model.steady),
        stop_slips=stop_slips.address if tables.slides else 0,
        strike=strike.address if tables.rigid else 0,
        halt=halt.address if tables.halts else 0,
        note=note.address,
        look=look.address,
        dynamics=model.dynamics.address,
        flight=0,
        signals=model.signals.address,
        tidy=view.tidy,
        exchange=view.exchange,
        takes_over=np.where(tables.fields["restitution"] >= 0.0, _RIGID, 1.0) * view.takes_over,
        **coordinate_tables(model),
        signal_size=model.signals.size,
        parameters=parameters,
        **tables.fields | {"grain": _GRAIN * method.atol * tables.fields["grain"]},
        mu=friction_of(model, parameters),
        proof=no_proof(),
        stabilization=np.array(gains),
        tableau=method.tableau,
        rosenbrock=RODAS5P,
        rtol=method.rtol,
        atol=method.atol,
        velocity_atol=method.atol / view.arms,
        fixed_step=float(method.step),
        max_step=until / _DEFAULT_STEPS if method.max_step is None else float(method.max_step),
        budget=float(method.budget),
        sample=0.0,
        every_step=True,
    )


class _ModelRun(Run):
    """A run of a model, or of a scene event by event."""

    def __init__(
        self,
        model: System,
        view: View,
        plant: Plant,
        room: Room,
        packed: tuple[Struct, Struct],
        loop: EventDriven | TimeStepping,
        progress: Callable[[float], None] | None,
    ) -> None:
        w = room.w
        names = [x.name for x in (*model.outputs, *model.coordinates, *model.velocities)]
        super().__init__(model, names, progress)
        self.plant, self.w, self.packed, self.loop = plant, w, packed, loop
        self.shown, self.view = model, view
        self.u, self.command, self.seen = w.u, w.command, w.seen
        self.log = room.log
        self._place_log(room.packed_log)

    @property
    def time(self) -> float:
        """How far it is, s."""
        return float(self.w.time[TIME])

    def look(self) -> None:
        """Let ``seen`` be what sensors see of the start."""
        measure(*self.packed, 0.0, self.w.y)
        self._show()

    def _show(self) -> None:
        """Let sensors see coordinates as results have them."""
        _show(self.shown, self.view, self.seen[None, self.plant.ny : self.plant.ny + self.plant.nq])

    def begin(self, end: float) -> str:
        """Prepare the start."""
        status = self.loop.begin(end, self.packed_log)
        return "" if status == DONE else self.failure(status)

    def hold(self, stop: float) -> int:
        """Go on until a time, at most `BUDGET` steps."""
        status = self.loop.hold(*self.addresses, stop, BUDGET)
        if status == DONE:
            self._show()
        return status

    def failure(self, status: int) -> str:
        """Say why the loop came back with a status that is no success."""
        return self.view.why_lost(self.time, self.u) or self.loop.failure(status)

    def record(self) -> None:
        """Record this instant if it is not recorded yet."""
        self._make_room(2)
        plant, w = self.packed
        add_current.unchecked(plant.address, w.address, self.packed_log.address)

    def grow(self) -> int:
        """Make room in the log; return the bytes of its largest table."""
        full = max(table.nbytes for table in self.log)
        self._make_room(self.log.rows.shape[0])
        return full

    def _place_log(self, packed: Struct) -> None:
        self.packed_log = packed
        self.addresses = (*self.loop.addresses, self.packed_log.address)

    def _make_room(self, rows: int) -> None:
        """Make room in the log for this many rows more and for the events of an instant."""
        log, room, changes = self.log, rows + 4 * self.plant.nc + 16, {}
        for used, name in zip(log.used.tolist(), ("rows", "events", "steps"), strict=True):
            table = getattr(log, name)
            if used + room > table.shape[0]:
                changes[name] = np.concatenate([table, np.zeros((max(table.shape[0], room), table.shape[1]))])
        if changes:
            self.log = log._replace(**changes)
            self._place_log(Struct(self.log))
