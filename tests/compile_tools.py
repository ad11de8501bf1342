"""Fresh processes with a cache of their own, and damage to what is in it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np

# After so many seconds a process is taken to hang: far more than any takes, however busy the machine is.
PATIENCE = 900


def same_bits(a, b):
    """Tell whether two numbers are the same to the last bit; one NaN is as good as another."""
    return (np.isnan(a) and np.isnan(b)) or np.float64(a).tobytes() == np.float64(b).tobytes()


def run(code, folder, *arguments, start=False, path="", said=None):
    """Run code in a fresh Python whose warnings are errors, with the cache in a folder; say nothing, or ``said``."""
    paths = os.pathsep.join(filter(None, [str(path), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "IMPINGE_CACHE": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": paths}
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *map(str, arguments)]
    pipes = {"env": environment, "text": True, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if start:
        return subprocess.Popen(command, stdin=subprocess.PIPE, **pipes)
    done = subprocess.run(command, timeout=PATIENCE, check=False, **pipes)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert all(said in line for line in lines) and lines if said else not lines, done.stderr
    return done.stdout.split()


def at_once(processes):
    """Let started processes go on together: each has said that it is ready, and waits for a line."""
    for process in processes:
        said = process.stdout.readline()
        assert said == "ready\n", said + process.stderr.read()
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    return processes


def truncated(content):
    return content[: len(content) // 2]


def bit_flipped(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def garbage(content):
    return np.random.default_rng(0).bytes(len(content))


def emptied(content):
    return b""


DAMAGE = [truncated, bit_flipped, garbage, emptied]
