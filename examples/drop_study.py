"""A study of your own: run it with `impinge run examples/drop_study.py --set tilt=0.2 --out out/drop`."""

from impinge import Baumgarte, ModelBuilder, simulate
from impinge.studies import Claim, Outcome, Parameter, Study


def run(p, law, progress):
    """Drop a plank on its two ends."""
    b = ModelBuilder("plank")
    z, vz = b.coordinate("z", start=0.5, unit="m")
    tilt, w = b.coordinate("tilt", start=p["tilt"], unit="rad")
    b.kinetic(0.5 * p["mass"] * vz**2 + 0.5 * 0.1 * w**2)
    b.potential(p["mass"] * 9.81 * z)
    b.gap("left", z - 0.4 * tilt)
    b.gap("right", z + 0.4 * tilt)
    result = simulate(b.build(), law or Baumgarte(), until=p["until"], progress=progress)
    forces = [float(result[f"force_{end}"][-1]) for end in ("left", "right")]
    return Outcome(result, {"final_forces": forces, "final_tilt": float(result["tilt"][-1])})


study = Study(
    name="plank",
    title="a plank lands on its two ends",
    parameters=(
        Parameter("mass", 1.0, "kg", minimum=0, above=True),
        Parameter("tilt", 0.1, "rad"),
        Parameter("until", 5.0, "s", minimum=0, above=True),
    ),
    run=run,
    claims=(
        Claim(
            "weight-shared",
            "at rest both ends carry half the weight",
            lambda o: abs(o.metrics["final_forces"][0] - o.metrics["final_forces"][1]),
            expected=1e-6,
            compare="at most",
        ),
    ),
)
