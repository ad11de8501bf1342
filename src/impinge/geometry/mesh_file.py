"""Triangle meshes from files: STL (binary and text) and OBJ."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from impinge.errors import InputError

_HEADER, _TRIANGLE = 84, 50  # bytes of a binary STL: its beginning, and each triangle
_RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("rest", "<u2")])


def read_mesh(path: str | Path) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Read the vertices (n × 3) and triangles (m × 3) of an STL or OBJ file.

    Vertices of an STL file that are equal become one; polygons of an OBJ file become fans of triangles.

    Args:
        path: a file whose name ends in .stl or .obj, upper or lower case.
    """
    path = Path(path)
    readers = {".stl": _read_stl, ".obj": _read_obj}
    if path.suffix.lower() not in readers:
        raise InputError(
            f"mesh file '{path}'",
            "a name that ends in .stl or .obj",
            f"'{path.suffix}'",
            "Convert the mesh to STL or OBJ.",
        )
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise InputError(
            f"mesh file '{path}'", "a file", "nothing at this path", "Check the folder and the name."
        ) from None
    except OSError as error:
        raise InputError(
            f"mesh file '{path}'", "a file that can be read", str(error.strerror), "Check its permissions."
        ) from None
    try:
        vertices, faces = readers[path.suffix.lower()](content)
    except (ValueError, IndexError) as error:
        raise _unreadable(path, str(error)) from None
    if len(faces) == 0:
        raise _unreadable(path, "no triangle")
    return vertices, faces


def _unreadable(path: Path, found: str) -> InputError:
    kind = path.suffix[1:].upper()
    return InputError(
        f"mesh file '{path}'", f"{kind} data", found, "Open the file in a mesh program and export it again."
    )


def _read_stl(content: bytes) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    # Binary files too may begin with "solid": their length, which follows from the number of triangles, tells.
    count = int.from_bytes(content[80:84], "little") if len(content) >= _HEADER else -1
    if len(content) == _HEADER + _TRIANGLE * count:
        corners = np.frombuffer(content, _RECORD, count, _HEADER)["corners"].astype(np.float64).reshape(-1, 3)
    elif content.lstrip()[:5].lower() == b"solid":
        corners = _text_corners(content.decode("utf-8", "replace"))
    else:
        raise ValueError(f"{len(content)} bytes that are neither binary nor text STL")
    # −0 and 0 are one place.
    vertices, which = np.unique(corners + 0.0, axis=0, return_inverse=True)
    faces = which.reshape(-1, 3).astype(np.int64)
    repeated = (faces == np.roll(faces, 1, axis=1)).any(axis=1)
    return vertices, faces[~repeated]


def _text_corners(text: str) -> NDArray[np.float64]:
    lines = (line.split() for line in text.splitlines())
    corners = [[float(word) for word in words[1:]] for words in lines if words and words[0].lower() == "vertex"]
    if len(corners) % 3 or any(len(corner) != 3 for corner in corners):
        raise ValueError("vertices that do not form triangles")
    return np.array(corners, dtype=np.float64).reshape(-1, 3)


def _read_obj(content: bytes) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    vertices: list[list[float]] = []
    faces: list[tuple[int, int, int]] = []
    text = content.decode("utf-8", "replace").replace("\\\n", " ")
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if words[0] == "v":
            if len(words) < 4:
                raise ValueError(f"a vertex without three coordinates in line {number}")
            vertices.append([float(word) for word in words[1:4]])
        elif words[0] == "f":
            loop = [_obj_index(word, len(vertices), number) for word in words[1:]]
            if len(loop) < 3:
                raise ValueError(f"a face of {len(loop)} vertices in line {number}")
            faces += [(loop[0], loop[k], loop[k + 1]) for k in range(1, len(loop) - 1)]
    if faces and max(map(max, faces)) >= len(vertices):
        raise ValueError(f"a face with vertex {max(map(max, faces)) + 1} of {len(vertices)}")
    return np.array(vertices, dtype=np.float64).reshape(-1, 3), np.array(faces, dtype=np.int64).reshape(-1, 3)


def _obj_index(word: str, known: int, line: int) -> int:
    number = int(word.split("/")[0])
    index = number - 1 if number > 0 else known + number  # negative ones count back from the last vertex so far
    if number == 0 or index < 0:
        raise ValueError(f"vertex {number} in line {line}, where {known} are known")
    return index
