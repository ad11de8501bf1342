"""What a proof that gaps stay open needs in memory: how gaps depend on the state, and room to work in."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from impinge.compile import Integers, Matrix, Vector, jit, pack_for, pack_once
from impinge.compile.kernels.bounds import FIELDS
from impinge.model import Model
from impinge.model.bounds import GapBounds

if TYPE_CHECKING:
    from impinge.simulation.system.plant import Plant, Workspace


# Parts of a step, at most, that one gap is bounded over, and where that was in vain in the last step.
PARTS, FEW_PARTS = 256, 64
# How narrow they get, as a share of the step; behind one that is so narrow and not proved, this much is left out.
NARROWEST, COARSE = 1e-9, 1.0 / 64.0
_HALVINGS = 32  # by which a part is narrower than that
# Paths of a free frame of a scene: position and quaternion.
FRAME = 7
# Columns of a path: powers of θ up to the fourth, then what rounding adds to the value and to the rate.
SLACK, RATE_SLACK = 5, 6


class Proof(NamedTuple):
    """How gaps are bounded along a step (nc gaps, nf forms); see `model.bounds.GapBounds`."""

    prove: int  # address of `prove.prove`, or 0 if no gap is curved or nothing is to be proved
    trace: int  # addresses of what bounds a gap: over the whole step first, then over parts of it
    bound: int
    paths: int  # most forms of one gap
    curved: Integers  # of each gap, the address of its kernel; 0 if it is affine, so that its polynomial proves it
    first: Integers  # the forms of gap c are first[c] … first[c + 1] − 1
    term: Integers  # the terms of form f are term[f] … term[f + 1] − 1
    component: Integers  # of each term, the coordinate; nq is the time
    slope: Vector  # of each term
    offset: Vector  # of each form
    constant: Vector
    constants: Integers  # where those of each gap begin


class ProofWorkspace(NamedTuple):
    """What proofs write to."""

    counts: Integers  # PROVED, UNPROVED: steps of open contacts
    event: Vector  # the step's share before and behind the first fall that is found
    path: Matrix  # of the forms of the gap at hand
    box: Vector  # bounds of these forms over a part of the step
    bounds: Vector  # of the gap there: least and greatest value, least and greatest rate
    parts: Matrix  # of the step yet to be looked at: begin and end, the gap at both
    tired: Integers  # whether not all of the last step could be proved for a gap
    trusted: Matrix  # for each form of all gaps, least and greatest value of a box in which its gap is open


PROVED, UNPROVED = 0, 1


def _starts(counts: tuple[int, ...]) -> NDArray[np.int64]:
    return np.cumsum([0, *counts], dtype=np.int64)


@jit
def count_proved(plant: Plant, w: Workspace) -> None:
    """Count the open contacts of a step in which no gap is curved; none if nothing is to be proved."""
    for c in range(plant.proof.curved.size):
        if plant.closed[c, w.mode[c]] == 0 and w.mode[c] != plant.passed[c]:
            w.proof.counts[PROVED] += 1


@functools.cache
def no_proof(contacts: int = 0) -> Proof:
    """Return what there is to know where none of so many gaps is curved, or nothing is to be proved of any."""
    none, nothing = np.zeros(contacts, dtype=np.int64), np.zeros(0)
    indices = np.zeros(0, dtype=np.int64)
    found: Proof = pack_once(Proof(0, 0, 0, 0, none, none, indices, indices, nothing, nothing, nothing, none))
    return found


def proof_of(model: Model, p: NDArray[np.float64], prove: int, trace: int, bound: int) -> Proof:
    """Return how the gaps of a model are bounded, for a vector of parameters and the code that does it.

    That of the last run is kept with the model, packed: most runs have the same parameters.
    """
    bounds = model.bounds
    if not any(bounds.kernels):
        return no_proof(len(bounds.kernels))
    kept = model.__dict__.get("_proof")
    if kept is None or kept[0] != p.tobytes():
        proof = _proof_of(bounds, p)._replace(prove=prove, trace=trace, bound=bound)
        forget = pack_for(model, proof)
        if kept is not None:
            kept[2]()
        kept = model.__dict__["_proof"] = p.tobytes(), proof, forget
    return cast(Proof, kept[1])


def _proof_of(bounds: GapBounds, p: NDArray[np.float64]) -> Proof:
    values = bounds.coefficients(p)
    return no_proof()._replace(
        paths=max(bounds.forms),
        curved=np.array([0 if kernel is None else kernel.address for kernel in bounds.kernels], dtype=np.int64),
        first=_starts(bounds.forms),
        term=_starts(tuple(map(len, bounds.terms))),
        component=np.array([i for terms in bounds.terms for i in terms], dtype=np.int64),
        slope=values["slope"],
        offset=values["offset"],
        constant=values["constant"],
        constants=_starts(bounds.constants),
    )


def proof_of_scene(contacts: int, prove: int, trace: int, bound: int) -> Proof:
    """Return how the gaps of a scene are bounded: all of them, by the code of `scene_bounds`."""
    return no_proof(contacts)._replace(
        prove=prove, trace=trace, bound=bound, paths=2 * FRAME, curved=np.ones(contacts, dtype=np.int64)
    )


def proof_workspace(proof: Proof) -> ProofWorkspace:
    """Allocate what proofs write to."""
    return ProofWorkspace(
        counts=np.zeros(2, dtype=np.int64),
        event=np.zeros(2),
        path=np.zeros((proof.paths, RATE_SLACK + 1)),
        box=np.zeros(FIELDS * proof.paths),
        bounds=np.zeros(FIELDS),
        parts=np.zeros((2 + _HALVINGS if proof.trace else 0, 4)),
        tired=np.zeros(proof.curved.size, dtype=np.int64),
        trusted=np.tile([np.inf, -np.inf], (proof.offset.size, 1)),
    )
