"""The delta robot's workspace: symmetry, its boundary, and conditioning against independent linear algebra."""

import numpy as np
import pytest

from impinge.compile import Kernel
from impinge.errors import InputError
from impinge.robots import DeltaKinematics, delta, workspace

ROBOT = DeltaKinematics()
QUANTITIES = ("smallest", "largest", "condition", "margin")


@pytest.fixture(scope="module")
def lattice():
    """A map whose points with i + j even form a triangular lattice, which a rotation by 120° maps onto itself."""
    side, n = 0.015, 60
    k = np.arange(-n, n + 1)
    return k, workspace(ROBOT, z1=k * side / 2, z2=k * side * np.sqrt(3) / 2, z3=0.42)


@pytest.mark.parametrize("quantity", ["reachable", *QUANTITIES])
def test_a_rotation_by_120_degrees_maps_the_workspace_onto_itself(lattice, quantity):
    k, found = lattice
    values = getattr(found, quantity)
    j, i = np.meshgrid(k, k)  # z1 = j side/2 along columns, z2 = i side √3/2 along rows
    turned_j, turned_i = (-j - 3 * i) // 2, (j - i) // 2
    inside = ((i + j) % 2 == 0) & (np.abs(turned_j) <= k[-1]) & (np.abs(turned_i) <= k[-1])
    assert inside.sum() > 4000
    assert found.reachable[inside].sum() > 500
    np.testing.assert_allclose(
        values[inside], values[turned_i[inside] + k[-1], turned_j[inside] + k[-1]], rtol=1e-6, atol=1e-12
    )


def test_the_mirror_of_the_first_arm_maps_the_workspace_onto_itself():
    found = workspace(ROBOT, z1=np.linspace(-0.4, 0.4, 41), z2=np.linspace(-0.4, 0.4, 33))
    for quantity in QUANTITIES:
        values = getattr(found, quantity)
        np.testing.assert_allclose(values, values[:, ::-1], rtol=1e-9)


def reaches(z):
    try:
        ROBOT.inverse(z)
    except InputError:
        return False
    return True


@pytest.mark.parametrize("fixed", ["z1", "z2", "z3"])
def test_a_point_is_reachable_where_inverse_kinematics_do_not_complain(fixed):
    axis = {"z1": np.linspace(-0.5, 0.5, 24), "z2": np.linspace(-0.5, 0.5, 31), "z3": np.linspace(0.1, 0.6, 27)}
    axis[fixed] = {"z1": 0.03, "z2": -0.05, "z3": 0.45}[fixed]
    found = workspace(ROBOT, **axis)
    assert (found.fixed, found.at) == (fixed, axis[fixed])
    assert found.reachable.shape == (found.y.size, found.x.size)
    assert 0.1 < found.reachable.mean() < 0.9
    for i, up in enumerate(found.y):
        for j, across in enumerate(found.x):
            z = {found.across: across, found.up: up, fixed: axis[fixed]}
            assert found.reachable[i, j] == reaches((z["z1"], z["z2"], z["z3"]))
    assert (np.isnan(found.margin) == ~found.reachable).all()


def finite_difference_jacobian(z):
    """J_c by differences of the closed-form inverse kinematics, inverted."""
    step, motors = 1e-6, [0, 3, 6]
    columns = [
        (ROBOT.inverse(z + step * e)[motors] - ROBOT.inverse(z - step * e)[motors]) / (2 * step) for e in np.eye(3)
    ]
    return np.linalg.inv(np.array(columns).T)


def test_conditioning_is_that_of_the_control_jacobian():
    found = workspace(ROBOT, z1=np.linspace(-0.2, 0.2, 5), z2=np.linspace(-0.15, 0.2, 6), z3=0.4)
    assert found.reachable.all()
    for i, z2 in enumerate(found.y):
        for j, z1 in enumerate(found.x):
            z = np.array([z1, z2, 0.4])
            pose = ROBOT.follow(ROBOT.inverse(z))
            sizes = np.linalg.svd(pose.J_c, compute_uv=False)
            assert found.smallest[i, j] == pytest.approx(sizes[-1], rel=1e-10)
            assert found.largest[i, j] == pytest.approx(sizes[0], rel=1e-10)
            assert found.condition[i, j] == pytest.approx(np.linalg.cond(pose.J_c), rel=1e-9)
            assert found.condition[i, j] == pytest.approx(np.linalg.cond(finite_difference_jacobian(z)), rel=1e-6)
            assert found.margin[i, j] == pytest.approx(pose.margin, rel=1e-9)


def test_the_margin_is_that_of_loops_between_orthonormal_sums_of_the_arms():
    z = (0.1, -0.05, 0.4)
    terms = delta(z=z).terms(ROBOT.inverse(z), np.zeros(9))
    sums = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
    differences = np.array([[1, -1, 0], [1, 0, -1]])
    h_x = np.kron(sums @ np.linalg.pinv(differences), np.eye(3)) @ terms["H"][:, [1, 2, 4, 5, 7, 8]]
    expected = 1 / (np.linalg.norm(np.linalg.inv(h_x)) * ROBOT.parameters["l2"])
    found = workspace(ROBOT, z1=[z[0], 0.2], z2=[z[1], 0.1], z3=z[2])
    assert found.margin[0, 0] == pytest.approx(expected, rel=1e-10)


def test_the_margin_is_zero_where_a_universal_joint_locks():
    n, motor = ROBOT.parameters, 1.4  # the distal pair of arm 1 lies along the arm, horizontally
    z2 = n["l0"] - n["l3"] + n["l1"] * np.cos(motor) - n["l2"]
    z3 = n["l1"] * np.sin(motor)
    found = workspace(ROBOT, z1=[-0.05, 0.0, 0.05], z2=[z2 - 0.05, z2], z3=z3)
    assert found.reachable[1, 1]
    assert found.margin[1, 1] < 1e-9
    assert np.isnan(found.smallest[1, 1])
    assert (found.margin[:, [0, 2]] > 1e-3).all()


def test_stretched_arms_move_slowly():
    far = np.sqrt((ROBOT.parameters["l1"] + ROBOT.parameters["l2"]) ** 2 - 0.1088**2)
    found = workspace(ROBOT, z1=0.0, z2=[-0.01, 0.0, 0.01], z3=[0.4, far - 1e-9])
    assert found.smallest[1, 1] < 1e-3 * found.smallest[0, 1]


def test_a_robot_that_reaches_nothing_has_an_empty_map():
    found = workspace(DeltaKinematics(l0=2.0), z1=[-0.1, 0.1], z2=[-0.1, 0.1])
    assert not found.reachable.any()
    assert np.isnan(found.condition).all()


def test_a_map_asks_each_kernel_once_for_each_point_it_reaches(monkeypatch):
    """And binds each kernel once: a call that packs its arguments takes ten times as long."""
    asked, bind = [], Kernel.bind

    def counted(kernel, *arrays):
        call, k = bind(kernel, *arrays), len(asked)
        asked.append(0)

        def count():
            asked[k] += 1
            call()

        return count

    def packed(kernel, *values):
        raise AssertionError(f"kernel '{kernel.name}' is called with arrays to pack")

    factored, svd = [], np.linalg.svd
    monkeypatch.setattr(Kernel, "bind", counted)
    monkeypatch.setattr(Kernel, "__call__", packed)
    monkeypatch.setattr(np.linalg, "svd", lambda *values, **options: factored.append(1) or svd(*values, **options))
    found = workspace(ROBOT, z1=np.linspace(-0.3, 0.3, 60), z2=np.linspace(-0.3, 0.3, 50))
    reached = int(found.reachable.sum())
    assert reached > 0.7 * found.reachable.size
    assert asked == [found.reachable.size, reached, int(np.isfinite(found.smallest).sum())]
    assert len(factored) == 1  # all points together


def test_the_plot_has_units_a_color_bar_each_and_hides_what_is_out_of_reach():
    found = workspace(ROBOT, z1=0.0, z2=np.linspace(-0.5, 0.5, 21), z3=np.linspace(0.1, 0.6, 11))
    figure = found.plot()
    figure.canvas.draw()
    panels, bars = figure.axes[:3], figure.axes[3:]
    assert len(bars) == 3
    assert [axis.get_xlabel() for axis in panels] == ["z₂ [mm]"] * 3
    assert [axis.get_ylabel() for axis in panels] == ["z₃ [mm]"] * 3
    assert "[mm/rad]" in panels[0].get_title()
    assert panels[0].yaxis_inverted()
    hidden = np.ma.getmaskarray(panels[2].collections[0].get_array()).reshape(found.reachable.shape)
    assert (hidden == ~found.reachable).all()


@pytest.mark.parametrize(
    ("grids", "text"),
    [
        ({"z1": [0.1, 0.0]}, "z1 of the workspace: expected a finite number, or a grid of at least two increasing"),
        ({"z2": [0.0]}, "z2 of the workspace: expected a finite number, or a grid of at least two increasing"),
        ({"z2": []}, "z2 of the workspace: expected"),
        ({"z1": [0.0, np.nan]}, "got (0, nan). Write e.g. np.linspace(-0.2, 0.2, 101)."),
        ({"z3": np.inf}, "z3 of the workspace: expected a finite number"),
        ({"z3": "low"}, "got 'low'"),
        ({"z1": [[0.0, 0.1], [0.2, 0.3]]}, "z1 of the workspace: expected a finite number"),
        (
            {"z3": [0.3, 0.4]},
            "workspace of the delta robot: expected two coordinates as grids and one as a number, got 3 as grids. "
            "Write e.g. workspace(robot, z3=0.4)",
        ),
        ({"z1": 0.0, "z3": 0.4}, "got 1 as grids"),
    ],
)
def test_a_bad_grid_says_what_to_do(grids, text):
    with pytest.raises(InputError) as caught:
        workspace(ROBOT, **grids)
    assert text in str(caught.value)
