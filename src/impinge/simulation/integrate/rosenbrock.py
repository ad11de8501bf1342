"""A Rosenbrock–Wanner method as data: Rodas5P.

G. Steinebach, Construction of Rosenbrock–Wanner method Rodas5P and numerical benchmarks within the Julia Differential
Equations package, BIT Numer. Math. 63 (2023) 27. Order five, stiffly accurate and L-stable, eight stages, dense output
of order four. Its coefficients are those for stages multiplied out: no product with the Jacobian is needed. Those for
what depends on time are left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from impinge.compile import Matrix, pack_once


class Rosenbrock(NamedTuple):
    """Coefficients of the method: s stages; see `implicit` for what they multiply.

    Attributes:
        a: s × s, strictly lower triangular: the arguments of f.
        C: s × s, strictly lower triangular: what a right-hand side has of earlier stages.
        dense: 3 × s: with bᵢ the products of its rows with the stages, the path within the step is
            y + θ(y⁺ − y) + θ(1 − θ)(b₀ + θ(b₁ + θ b₂)).
        gamma: γ.
    """

    a: Matrix
    C: Matrix
    dense: Matrix
    gamma: float


def _rodas5p() -> Rosenbrock:
    gamma = 0.21193756319429014
    a, C = np.zeros((8, 8)), np.zeros((8, 8))
    a[1, :1] = [3.0]
    a[2, :2] = [2.849394379747939, 0.45842242204463923]
    a[3, :3] = [-6.954028509809101, 2.489845061869568, -10.358996098473584]
    a[4, :4] = [2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641]
    a[5, :5] = [
        -7.502846399306121,
        2.561846144803919,
        -11.627539656261098,
        -0.18268767659942256,
        0.030198172008377946,
    ]
    a[6], a[7] = a[5], a[5]
    a[6, 5] = a[7, 5] = a[7, 6] = 1.0
    C[1, :1] = [-14.155112264123755]
    C[2, :2] = [-17.97296035885952, -2.859693295451294]
    C[3, :3] = [147.12150275711716, -1.41221402718213, 71.68940251302358]
    C[4, :4] = [165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306]
    C[5, :5] = [24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125, -0.6610691825249471]
    C[6, :6] = [
        30.91273214028599,
        -3.1208243349937974,
        77.79954646070892,
        34.28646028294783,
        -19.097331116725623,
        -28.087943162872662,
    ]
    C[7, :7] = [
        37.80277123390563,
        -3.2571969029072276,
        112.26918849496327,
        66.9347231244047,
        -40.06618937091002,
        -54.66780262877968,
        -9.48861652309627,
    ]
    dense = np.array(
        [
            [
                25.948786856663858,
                -2.5579724845846235,
                10.433815404888879,
                -2.3679251022685204,
                0.524948541321073,
                1.1241088310450404,
                0.4272876194431874,
                -0.17202221070155493,
            ],
            [
                -9.91568850695171,
                -0.9689944594115154,
                3.0438037242978453,
                -24.495224566215796,
                20.176138334709044,
                15.98066361424651,
                -6.789040303419874,
                -6.710236069923372,
            ],
            [
                11.419903575922262,
                2.8879645146136994,
                72.92137995996029,
                80.12511834622643,
                -52.072871366152654,
                -59.78993625266729,
                -0.15582684282751913,
                4.883087185713722,
            ],
        ]
    )
    return Rosenbrock(a, C, dense, gamma)


RODAS5P = pack_once(_rodas5p())
