"""A body on a spring leg that drops onto a floor and hops: the README's example, as a script."""

from impinge import Baumgarte, ModelBuilder, simulate

b = ModelBuilder("hopper")
z, vz = b.coordinate("z", start=1.0, unit="m", about="body")
s, vs = b.coordinate("s", start=0.5, unit="m", about="foot")
m, k, g = b.parameter("m", 2.0, "kg"), b.parameter("k", 800.0, "N/m"), b.parameter("g", 9.81, "m/s²")
b.kinetic(m * vz**2 / 2 + 0.1 * vs**2 / 2)
b.potential(m * g * z + 0.1 * g * s + k * (z - s - 0.5) ** 2 / 2)
b.damping(3.0 * (vz - vs), along=z - s)
b.gap("floor", s)
model = b.build()
print(model)

result = simulate(model, Baumgarte(a0=1e4, a1=200, a2=0), until=3.0, parameters={"m": 2.5})
print(result.touchdowns("floor"))
print(result.certificate)
result.plot().savefig("hopper.png")
