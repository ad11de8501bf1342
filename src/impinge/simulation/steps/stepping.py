"""Time stepping as `simulate` sees it: which laws it takes, its plant, and the loop that a run drives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from impinge.compile import Struct, prepare
from impinge.contact.coulomb.pivoting import pivot
from impinge.contact.coulomb.problem import UNLIMITED, parts
from impinge.contact.coulomb.solve import solve
from impinge.contact.law import ContactLaw
from impinge.contact.laws.complementarity import SCHEMES, Complementarity
from impinge.errors import InputError
from impinge.model import Model
from impinge.simulation.check import friction_of
from impinge.simulation.events import instant
from impinge.simulation.events.event_driven import not_finite
from impinge.simulation.integrate.rosenbrock import RODAS5P
from impinge.simulation.integrate.tableau import CLASSICAL
from impinge.simulation.locate.proof import no_proof
from impinge.simulation.results.judge import judge
from impinge.simulation.results.observe import note
from impinge.simulation.steps import timestep
from impinge.simulation.steps.contacts import stand_impulses, step_impulses, strike_impulses
from impinge.simulation.steps.loop import Course
from impinge.simulation.steps.stepper import ModelSteps, Stepper, step_workspace
from impinge.simulation.system.inertia import surely_inertia
from impinge.simulation.system.plant import TIME, Plant
from impinge.simulation.system.pool import Room
from impinge.simulation.system.tables import contact_tables, coordinate_tables
from impinge.simulation.unsolved import why_unsolved

_SHARED = ("step", "scheme", "facets", "tolerance", "budget")


def stepping_law(model: Model, law: object, laws: Sequence[ContactLaw]) -> Complementarity | None:
    """Return a law that says how all contacts are stepped, or None if they are event-driven; never both."""
    who = f"simulation of model '{model.name}'"
    if not model.gaps:
        return law if isinstance(law, Complementarity) else None
    found = next((one for one in laws if isinstance(one, Complementarity)), None)
    if found is None:
        return None
    for contact, one in zip(model.contacts, laws, strict=True):
        if not isinstance(one, Complementarity):
            raise InputError(
                who,
                "time stepping for all contacts or for none",
                f"'{one.name}' for contact '{contact}' beside '{found.name}'",
                "Give every contact a Complementarity law, or none.",
            )
        for what in _SHARED:
            if getattr(one, what) != getattr(found, what):
                raise InputError(
                    who,
                    f"the same {what} for all contacts",
                    f"{getattr(found, what)} and {getattr(one, what)} (contact '{contact}')",
                    "Contacts that are stepped together may differ in restitution only.",
                )
    return found


def stepping_plant(
    model: Model,
    law: Complementarity,
    laws: Sequence[ContactLaw],
    p: NDArray[np.float64],
    sample: float,
    every_step: bool,
) -> Plant:
    """Return the plant of a model that is stepped by a law, which its contacts have with restitutions of their own."""
    mu = friction_of(model, p)
    for c, gap in enumerate(model.gaps):
        who = f"contact '{gap.name}' of model '{model.name}'"
        if not gap.slips:
            mu[c] = 0.0
        elif not np.isfinite(mu[c]):
            remedy = "Give gap(..., friction=...) its value."
            raise InputError(who, "a finite coefficient of friction, which time stepping needs", "none", remedy)
        elif len(gap.slips) > 2:
            raise InputError(who, "one or two slips", f"{len(gap.slips)}", "A surface has two directions at most.")
    return Plant(
        evaluate=0,
        find_press=0,
        settle=0,
        stand=0,
        stop_slips=0,
        leap=0,
        implicit=0,
        steady=0,
        strike=0,
        halt=0,
        note=note.address,
        look=0,
        dynamics=0,
        flight=0,
        signals=model.signals.address,
        tidy=0,
        exchange=0,
        takes_over=np.zeros(len(model.gaps)),
        **coordinate_tables(model),
        signal_size=model.signals.size,
        parameters=p,
        **contact_tables(model, laws).fields,
        mu=mu,
        proof=no_proof(),
        stabilization=np.zeros(2),
        tableau=CLASSICAL,
        rosenbrock=RODAS5P,
        rtol=float(law.tolerance),
        atol=1e-10,
        velocity_atol=np.zeros(0),
        fixed_step=float(law.step),
        max_step=float(law.step),
        budget=0.0,
        sample=sample,
        every_step=every_step,
    )


class TimeStepping:
    """The time-stepping loop of one run."""

    code = (
        *(timestep.hold, timestep.begin, timestep.ready, timestep.take, note, judge, surely_inertia),
        *(step_impulses, strike_impulses, stand_impulses, pivot, solve),
    )

    def __init__(self, model: Model, law: Complementarity, plant: Plant, room: Room) -> None:
        prepare((*self.code, *parts()))
        self.hold = timestep.hold.unchecked
        self._model, self._w = model, room.w
        self._work = room.beside((law.facets,), lambda w: step_workspace(plant, w, law.facets))
        work = self._work.work
        work.pivoting.cone.lemke.pivots[2] = work.most[0] = int(min(law.budget, UNLIMITED))
        stepper = Stepper(
            plant=plant,
            kernel=model.stepping.address,
            impulses=step_impulses.address,
            strike=strike_impulses.address,
            stand=stand_impulses.address,
            solve=pivot.address,
            step=float(law.step),
            scheme=SCHEMES.index(law.scheme),
            tolerance=float(law.tolerance),
        )
        course = Course(
            ready=timestep.ready.address,
            take=timestep.take.address,
            step=stepper.step,
            sample=0.0 if plant.every_step else plant.sample,
            time=self._w.time,
            rows=np.zeros(1, dtype=np.int64),
        )
        self._packed = Struct(ModelSteps(stepper, self._work)), Struct(course)
        self.addresses = tuple(part.address for part in self._packed)

    def begin(self, end: float, log: Struct) -> int:
        """Evaluate the start state."""
        return int(timestep.begin.unchecked(self.addresses[0]))

    def failure(self, status: int) -> str:
        """Say why the loop came back with a status that is no success."""
        t = float(self._w.time[TIME])
        if status == instant.UNSOLVED:
            return f"at t = {t:g} s the impulses of {self._unsolved()}, or make the step shorter"
        return {
            timestep.UNSETTLED: f"at t = {t:g} s the implicit step does not settle: make it shorter",
            instant.NOT_FINITE: f"at t = {t:g} s the motion stopped being finite{self._where()}: "
            "check the model near this state",
        }[status]

    def _unsolved(self) -> str:
        """Say which contacts have no impulses, and why."""
        problem, pivots = self._work.problem, self._work.work.pivoting
        places = np.flatnonzero(pivots.part[: problem.count[0]])
        gaps = [self._model.gaps[self._work.contacts[a]] for a in places]
        names = [gap.name for gap in gaps]
        used, _, most = pivots.cone.lemke.pivots.tolist()
        if used >= most:
            return f"contacts {', '.join(names)} were not found within a budget of {most} pivots: give a larger one"
        J, response = problem.J[places, 0], problem.response[places, 0]
        D = self._work.velocity.size
        rate = J[:, :D] @ problem.free[0] + problem.bias[places, 0]
        return why_unsolved(J @ response.T, rate, names, [bool(gap.slips) for gap in gaps])

    def _where(self) -> str:
        """Say which accelerations or rows were not finite where the last step began."""
        model = self._model
        rows = [f"residual_{x.name}" for x in model.constraints] + [f"gap_{name}" for name in model.contacts]
        rows += [f"slip_{name}" for _, name in model.slips]
        names, terms = [*(x.name for x in model.velocities), *rows, *(f"{row}_dot" for row in rows)], self._w.terms
        found = not_finite(names, np.concatenate([terms.free, terms.g, terms.rate]))
        return f" in {found}" if found else ""
