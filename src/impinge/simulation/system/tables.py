"""A model's contacts and their laws as arrays, and its sizes: what a plant is made of."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from impinge.compile import keep_array
from impinge.contact.law import FUNCTIONS, TANGENT, ContactLaw, Law, check_gains, is_compliant, sticks_compliantly
from impinge.model import Gap, Spin, straight
from impinge.simulation.system.interface import System


class ContactTables(NamedTuple):
    """Contacts and their laws as a plant has them, and what is asked of them before a run.

    Attributes:
        fields: of the plant, by name: arrays and sizes.
        rigid: whether any contact is rigid, so that velocities jump when it closes.
        slides: whether any contact may slide.
        halts: whether any contact has slips that an impulse stops when it closes.
        compliant: whether any contact is a spring, which may be stiff.
    """

    fields: dict[str, Any]
    rigid: bool
    slides: bool
    halts: bool
    compliant: bool


def contact_tables(model: System, laws: Sequence[ContactLaw]) -> ContactTables:
    """Return contacts and laws as arrays; they are kept, for every run of a model with the same laws."""
    try:
        return _kept_tables(model.gaps, len(model.constraints), tuple(laws))
    except TypeError:  # a law that has no hash
        return _tables(model.gaps, len(model.constraints), tuple(laws))


def _tables(gaps: tuple[Gap, ...], constraints: int, laws: tuple[ContactLaw, ...]) -> ContactTables:
    for law in laws:
        check_gains(law)
    width = max((len(law.gains) for law in laws), default=1)
    modes = np.array([len(law.modes) for law in laws], dtype=np.int64)
    counts = [len(gap.slips) for gap in gaps]
    gap_rows = constraints + len(gaps)
    rows = gap_rows + sum(counts)
    limited = {c: k for k, c in enumerate(c for c, gap in enumerate(gaps) if gap.limited)}
    gains, closed = np.zeros((len(laws), width)), np.zeros((len(laws), modes.max(initial=0) + 2), dtype=np.int64)
    for i, law in enumerate(laws):
        gains[i, : len(law.gains)] = law.gains
        closed[i, : len(law.closed)] = law.closed
    passed = [n if gap.limited else -1 for gap, n in zip(gaps, modes, strict=True)]
    sliding = [n + gap.limited if gap.slides else -1 for gap, n in zip(gaps, modes, strict=True)]
    for c, mode in enumerate(sliding):
        closed[c, mode] = closed[c, mode] if mode < 0 else 1
    tables = {
        **{  # where a law's functions are, 0 if it is not event-driven
            what: np.array([getattr(getattr(law, what, None), "address", 0) for law in laws], dtype=np.int64)
            for what in FUNCTIONS
        },
        "gains": gains,
        "closed": closed,
        "modes": modes,
        "closing": np.array([law.closed.index(True) for law in laws], dtype=np.int64),
        "restitution": np.array([getattr(law, "rebound", -1.0) for law in laws]),
        "propagates": np.array([getattr(law, "order", "") == "propagating" for law in laws], dtype=np.int64),
        "slips": np.cumsum([0, *counts], dtype=np.int64),
        "counted": np.repeat(np.array([gap.by_rate for gap in gaps], dtype=np.int64), counts),
        "extent": np.array([rows + limited[c] if c in limited else -1 for c in range(len(laws))], dtype=np.int64),
        "passed": np.array(passed, dtype=np.int64),
        "sliding": np.array(sliding, dtype=np.int64),
        "bristled": np.array([g.slides and sticks_compliantly(one) for g, one in zip(gaps, laws, strict=True)], int),
        "grain": np.array([_damper(one) if g.slides else 0.0 for g, one in zip(gaps, laws, strict=True)]),
        "halted": np.array([_is_halted(g, one) for g, one in zip(gaps, laws, strict=True)], int),
        "normal": np.concatenate([np.arange(gap_rows), constraints + np.repeat(np.arange(len(gaps)), counts)]),
    }
    for table in tables.values():
        keep_array(table)
    slides, slips = any(gap.slides for gap in gaps), sum(counts)
    sizes = {
        "nh": constraints,
        "nc": len(gaps),
        "ns": slips,
        "ne": len(limited),
        "nt": slips if slides else 0,
        "nb": slips if tables["bristled"].any() else 0,
        "nr": len(gaps) if slides else 0,
        "counting": int(slides and tables["counted"].any()),
    }
    rigid, halts = bool((tables["restitution"] >= 0).any()), bool(tables["halted"].any())
    return ContactTables({**tables, **sizes}, rigid, slides, halts, any(map(is_compliant, laws)))


def _damper(law: ContactLaw) -> float:
    """Return the damping with which a contact sticks, N·s/m; zero if its law sticks rigidly."""
    if not isinstance(law, Law) or not sticks_compliantly(law):
        return 0.0
    slopes = np.zeros(2)
    law.slope(law.closed.index(True), TANGENT, 0.0, 0.0, np.array([*law.gains, 0.0], dtype=float), slopes)
    return -float(slopes[1])


def _is_halted(gap: Gap, law: ContactLaw) -> bool:
    """Tell whether a contact never slides and sticks compliantly, so that an impulse stops its slips when it closes."""
    return bool(gap.slips) and not gap.slides and sticks_compliantly(law)


_kept_tables = functools.lru_cache(maxsize=64)(_tables)


@functools.lru_cache(maxsize=64)
def _motion_tables(spins: tuple[Spin, ...], nv: int) -> dict[str, Any]:
    tables = {"straight": straight(spins, nv), "spins": np.array(spins, dtype=np.int64).reshape(-1, 2)}
    for table in tables.values():
        keep_array(table)
    return tables


def coordinate_tables(model: System) -> dict[str, Any]:
    """Return sizes of a system, those of its contacts apart, and which velocity is whose rate, as a plant has them."""
    nv = len(model.velocities)
    return {
        **_motion_tables(tuple(model.spins), nv),
        "nq": len(model.coordinates),
        "nv": nv,
        "nu": len(model.inputs),
        "ny": len(model.outputs),
    }
