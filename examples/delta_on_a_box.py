"""A delta robot comes down on a box that lies on a table, and presses it: motors, contacts and what statics says."""

import numpy as np

from impinge import Box, Complementarity, HalfSpace, Placed, Scene, Sphere, robots, simulate
from impinge.robots import DeltaKinematics

scene = Scene("press", friction=0.5)
scene.fixed("table", HalfSpace(), at=(0, 0, -0.5))
robot = robots.delta(z=(0.05, 0.02, 0.42), d1=0.3)
scene.robot(robot, {"flange": Placed(Sphere(0.02), at=(0, 0, -0.03))})  # a round tip, 50 mm below the flange
scene.body("box", Box(0.1, 0.1, 0.02), mass=0.5, at=(0.05, -0.02, -0.49))
print(scene)

# Torques that carry the arms, and push by 8 N (down along z₃) where the tip touches the box.
kinematics = DeltaKinematics()
pose = kinematics.follow(kinematics.inverse((0.05, 0.02, 0.43)))
torques = pose.gravity + pose.J_c.T @ np.array([0.0, 0.0, 8.0])
result = simulate(scene, Complementarity(), until=3.0, inputs={f"u{k + 1}": torques[k] for k in range(3)})

place, _ = scene.poses(result, "flange")
print(result)
print("flange at", place[-1].round(6), "m, from", place[0].round(6))
print("force on the flange", result.contacts.force_on("flange", result.t.size)[-1].round(4), "N")
print("on the table", result.contacts.force_on("table", result.t.size)[-1].round(4), "N")
