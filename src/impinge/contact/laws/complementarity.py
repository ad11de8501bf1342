"""Contact as a complementarity problem that is solved once per time step.

D. E. Stewart and J. C. Trinkle, An implicit time-stepping scheme for rigid body dynamics with inelastic collisions
and Coulomb friction, 1996; J. C. Trinkle, Contact interactions & simulation, lecture notes, 2018. Over a step h with
impulses p = h λ, and the gap linearized where the step begins,

    0 ≤ p ⊥ γ + h (J v⁺ + ∂γ/∂t) ≥ 0,        q⁺ = q + h v⁺.

(On page 16 the notes mix powers of h and turn the obstacle's sign; this is what they use on pages 10 and 13.)

Events are not located: a contact that would close within the step closes by its end, and approaches there at γ/h. An
impact without restitution is one problem all the same: where friction or several contacts take part, v⁺ is found anew
without this approach, while q moves along the velocity that had it. With restitution e, a gap that would close within
the step and approaches at the speed a, before and after the step's smooth forces (the lesser of the two counts), leaves
at e a at once: γ̇⁺ ≥ max(−γ/h, e a). It turns back up to h a above the surface, so impact times are right to first
order. A rebound that the smooth forces would end within the step is none: bounces that become ever smaller end. Where
several contacts or friction would give the bodies more energy by that than they had (Newton's hypothesis does),
restitution is taken back just as far as needed.

Beside the method itself there are the two that it is measured against. "explicit" moves positions with the old
velocity and sees a contact only once it is closed. "implicit" evaluates forces, directions and the true gaps at the
end of the step, by iteration.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from impinge.errors import InputError, as_number, show, unknown_name

SCHEMES = ("semi-implicit", "explicit", "implicit")


@dataclass(frozen=True)
class Complementarity:
    """Rigid contact with Coulomb friction, one complementarity problem per time step.

    Args:
        restitution: e, 0 ≤ e ≤ 1; contacts of one model may differ in it.
        step: length of a step, s.
        facets: sides of a polygon in place of the disk of friction, if a contact of a model may slide in two
            directions; 0 for the disk itself, which contacts of scenes always have.
        scheme: "semi-implicit", or for comparison "explicit" or "implicit".
        tolerance: of the impulses, where they are found by iteration: largest miss of a contact's law, in any step.
            In a scene over the speed that gravity gives in a step, or over a larger one that a contact of the same
            island of touching bodies, whose gap would close too far, would have without impulses. A step that misses it
            is counted in ``result.solver`` and breaks a promise of the run; one that misses by more than ten times the
            tolerance, and by more than 1 %, ends it. In a model over the largest rate of a contact; a run that misses
            it ends. Contacts of models that slide in one direction, or in none, or in polygons, are solved exactly.
        budget: the most work for the impulses of one problem, of which a step has one, or two if something is struck:
            sweeps and Newton iterations together, in a model pivots of Lemke's method or these. What is found with it
            counts as any other, see `tolerance`; in a model a run that needs more ends.

    Example:
        >>> Complementarity(restitution=0.5, step=1e-2).gains
        (0.5,)
    """

    restitution: float = 0.0
    step: float = 1e-3
    facets: int = 0
    scheme: str = "semi-implicit"
    tolerance: float = 1e-10
    budget: float = inf

    name: ClassVar[str] = "complementarity"
    modes: ClassVar[tuple[str, ...]] = ("Free", "Contact")
    closed: ClassVar[tuple[bool, ...]] = (False, True)

    def __post_init__(self) -> None:
        who = f"law '{self.name}'"
        if not 0 <= as_number(self.restitution) <= 1:
            got = f"restitution = {show(self.restitution)}"
            raise InputError(who, "0 <= restitution <= 1", got, "0 stops at the surface, 1 loses nothing.")
        if not 0 < as_number(self.step) < inf:
            raise InputError(who, "a step above zero, in seconds", f"step = {show(self.step)}", "Give e.g. 1e-3.")
        if not isinstance(self.facets, int) or (self.facets < 4 and self.facets != 0) or self.facets % 2:
            got = f"facets = {show(self.facets)}"
            raise InputError(who, "an even number of facets, at least 4", got, "Give e.g. 8, or 0 for the disk.")
        if not 0 < as_number(self.tolerance) < 1:
            got = f"tolerance = {show(self.tolerance)}"
            raise InputError(who, "a tolerance between 0 and 1", got, "Give e.g. 1e-10, or 1e-4 for large piles.")
        if not as_number(self.budget) >= 1:
            remedy = "Give e.g. 200; float('inf'), the default, is no budget."
            raise InputError(who, "a budget of one iteration or more", f"budget = {show(self.budget)}", remedy)
        if self.scheme not in SCHEMES:
            raise unknown_name(who, "scheme", str(self.scheme), SCHEMES)

    @property
    def gains(self) -> tuple[float, ...]:
        """The coefficient of restitution."""
        return (self.restitution,)
