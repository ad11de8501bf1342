"""Other toolboxes next to this one. What they refuse was found with the versions named here, not read somewhere."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

import impinge

pytest.importorskip("pydrake")  # found with drake 1.51.1
plants = pytest.importorskip("pydrake.multibody.plant")
tree = pytest.importorskip("pydrake.multibody.tree")
primitives = pytest.importorskip("pydrake.systems.primitives")
framework = pytest.importorskip("pydrake.systems.framework")
maths = pytest.importorskip("pydrake.math")

# A four-bar linkage of uniform rods in the x-z plane: crank from (0, 0), rocker from (BASE, 0), coupler between their
# tips. It hangs at rest without torque. Angles are from the x axis towards z, which points up.
LENGTHS, MASSES, BASE, G, STEP = (0.3, 0.8, 0.6), (0.5, 1.2, 0.9), 0.7, 9.81, 1e-3
NAMES = ("crank", "coupler", "rocker")


def tips(crank: complex) -> NDArray[np.complex128]:
    """Return the tips of crank and rocker, as rows, by intersecting two circles; the crank's angle may be complex."""
    l1, l2, l3 = LENGTHS
    tip = l1 * np.array([np.cos(crank), np.sin(crank)], dtype=complex)
    across = np.array([BASE, 0.0]) - tip
    square = across @ across
    along = (square + l2**2 - l3**2) / (2 * square)
    return np.array([tip, tip + along * across - np.sqrt(l2**2 / square - along**2) * across[::-1] * [-1, 1]])


def slope(crank: float) -> NDArray[np.float64]:
    """Return d tips / d crank, exact to rounding: a complex step."""
    return tips(crank + 1e-30j).imag / 1e-30


def pull(crank: float) -> float:
    """Return dV / d crank of the weight."""
    m1, m2, m3 = MASSES
    return G / 2 * float(np.array([m1 + m2, m2 + m3]) @ slope(crank)[:, 1])


def rest() -> float:
    """Return the angle of the crank where the linkage hangs at rest, by bisection."""
    low, high = -2.5, -0.5
    assert pull(low) < 0 < pull(high)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if pull(middle) < 0 else (low, middle)
    return low


def pose(crank: float) -> dict[str, float]:
    crank_tip, rocker_tip = tips(crank).real
    rods = (crank_tip, rocker_tip - crank_tip, rocker_tip - [BASE, 0.0])
    assert np.allclose([np.hypot(*rod) for rod in rods], LENGTHS, rtol=1e-14)
    return {name: float(np.arctan2(rod[1], rod[0])) for name, rod in zip(NAMES, rods, strict=True)}


def frequency(crank: float, h: float = 1e-4) -> float:
    """Return the frequency in rad/s of the linkage with one degree of freedom: √(V″/I), at rest."""
    (b, c), (m1, m2, m3) = slope(crank), MASSES
    inertia = (m1 * b @ b + m2 * (b @ b + b @ c + c @ c) + m3 * c @ c) / 3
    stiffness = (8 * (pull(crank + h) - pull(crank - h)) - (pull(crank + 2 * h) - pull(crank - 2 * h))) / (12 * h)
    return float(np.sqrt(stiffness / inertia))


def drake_plant(step: float, closed: bool = True, sampled: bool = True) -> Any:
    plant = plants.MultibodyPlant(step)
    if step > 0:
        plant.set_discrete_contact_approximation(plants.DiscreteContactApproximation.kSap)
        plant.SetUseSampledOutputPorts(sampled)
    rods = {}
    for name, length, mass in zip(NAMES, LENGTHS, MASSES, strict=True):
        rods[name] = plant.AddRigidBody(name, tree.SpatialInertia.ThinRodWithMassAboutEnd(mass, length, [1, 0, 0]))
    for name, parent, x in (("crank", None, 0), ("coupler", "crank", LENGTHS[0]), ("rocker", None, BASE)):
        body = rods[parent] if parent else plant.world_body()
        offset = tree.FixedOffsetFrame(f"before_{name}", body.body_frame(), maths.RigidTransform([x, 0, 0]))
        plant.AddJoint(tree.RevoluteJoint(name, plant.AddFrame(offset), rods[name].body_frame(), [0, -1, 0]))
    plant.AddJointActuator("torque", plant.GetJointByName("crank"))
    if closed:
        plant.AddBallConstraint(rods["coupler"], [LENGTHS[1], 0, 0], rods["rocker"], [LENGTHS[2], 0, 0])
    plant.mutable_gravity_field().set_gravity_vector([0, 0, -G])
    plant.Finalize()
    return plant


def drake_linear(plant: Any, angles: dict[str, float], **options: float) -> Any:
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, [angles["crank"], angles["coupler"] - angles["crank"], angles["rocker"]])
    port = plant.get_actuation_input_port()
    port.FixValue(context, [0.0])
    return primitives.Linearize(plant, context, port.get_index(), framework.OutputPortSelection.kNoOutput, **options)


def impinge_answer(angles: dict[str, float]) -> Any:
    (l1, l2, l3), (m1, m2, m3) = LENGTHS, MASSES
    b = impinge.ModelBuilder("four_bar")
    (q1, v1), (q2, v2), (q3, v3) = (b.coordinate(name, start=angles[name], unit="rad") for name in NAMES)
    b.kinetic(m1 * l1**2 * v1**2 / 6 + m3 * l3**2 * v3**2 / 6)
    b.kinetic(m2 * (l1**2 * v1**2 / 2 + l1 * l2 * v1 * v2 * ca.cos(q1 - q2) / 2 + l2**2 * v2**2 / 6))
    b.potential(G * ((m1 / 2 + m2) * l1 * ca.sin(q1) + m2 * l2 * ca.sin(q2) / 2 + m3 * l3 * ca.sin(q3) / 2))
    b.constraint("loop_x", l1 * ca.cos(q1) + l2 * ca.cos(q2) - BASE - l3 * ca.cos(q3))
    b.constraint("loop_z", l1 * ca.sin(q1) + l2 * ca.sin(q2) - l3 * ca.sin(q3))
    b.force(b.input("torque", "N·m"), along=q1)
    return impinge.linearize(b.build(), at=angles, mode=(), form="reduced")


def test_drake_refuses_to_linearize_a_closed_loop_in_continuous_time_and_impinge_answers() -> None:
    angles = pose(rest())
    exact = frequency(rest())

    # Drake, continuous time: no dynamics with constraints, so no linear model of a loop. Opened, the chain has one.
    opened = drake_linear(drake_plant(0.0, closed=False), angles, equilibrium_check_tolerance=100.0)
    assert opened.A().shape == (6, 6)
    with pytest.raises(RuntimeError, match="Continuous time does not support constraints"):
        drake_linear(drake_plant(0.0), angles)
    # Drake, discrete time as it comes: the sampled outputs are a state that Linearize does not take, loop or no loop.
    # What fails is a DRAKE_DEMAND, which reaches Python as SystemExit.
    for closed in (True, False):
        with pytest.raises((SystemExit, RuntimeError), match="is_discrete_system' failed"):
            drake_linear(drake_plant(STEP, closed), angles)
    # Drake, discrete time without sampled outputs: the loop is a little soft and gives way at first, too fast at this
    # step (not at 0.1 ms) for Linearize to take the equilibrium of the linkage for one.
    with pytest.raises(RuntimeError, match="is not an equilibrium point of the system"):
        drake_linear(drake_plant(STEP, sampled=False), angles)

    # In fairness: told to overlook that, Drake answers, and well, with SAP's automatic derivatives. The answer is the
    # map of one step in all six states. Four of its poles are the soft loop's, the other two the linkage's to 4e-5.
    linear = drake_linear(drake_plant(STEP, sampled=False), angles, equilibrium_check_tolerance=1e-3)
    poles = sorted(np.linalg.eigvals(linear.A()), key=abs)
    assert np.all(np.abs(poles[:4]) < 0.51)
    np.testing.assert_allclose(np.abs(np.log(poles[4:]).imag / STEP), exact, rtol=1e-4)

    # impinge: continuous time, exact, and only the two states that the linkage has.
    answer = impinge_answer(angles)
    assert answer.nstates == 2
    assert answer.dt == 0
    poles = np.linalg.eigvals(answer.A)
    np.testing.assert_allclose(np.sort(poles.imag), [-exact, exact], rtol=1e-9)
    np.testing.assert_allclose(poles.real, 0, atol=1e-9 * exact)
