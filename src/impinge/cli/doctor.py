"""`impinge doctor`: what is installed, caches, timer quality, and whether machine code works here."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import statistics
import time
from importlib.metadata import PackageNotFoundError, requires

from impinge.compile import cache


def examine(compile_first: bool = False) -> int:
    """Print the findings; return 0 if machine code can be made and run, 1 if not."""
    if compile_first:
        from impinge.cli.ahead import compile_ahead

        begin = time.perf_counter()
        count = compile_ahead()
        print(f"compiled    {count} entry points, {time.perf_counter() - begin:.0f} s")
    print(
        f"python      {platform.python_version()} on {platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    )
    _packages()
    _cache()
    _loops()
    _timer()
    return _machine_code()


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except PackageNotFoundError:
        return None


def _packages() -> None:
    groups: dict[str, list[str]] = {}
    for text in requires("impinge") or []:
        required = re.split(r"[^\w.-]", text, maxsplit=1)[0]
        marker = re.search(r"extra == ['\"]([\w-]+)", text)
        groups.setdefault(marker[1] if marker else "", []).append(required)
    print(f"impinge     {_version('impinge')}")
    for extra, names in groups.items():
        print(f"extra {extra}" if extra else "packages")
        for name in names:
            remedy = f"pip install 'impinge[{extra}]'" if extra else f"pip install {name}"
            print(f"  {name:14}{_version(name) or f'not installed: {remedy}'}")


def _cache() -> None:
    folder = cache.directory()
    entries = [path for path in folder.glob("*") if path.is_file()] if folder.is_dir() else []
    size = sum(path.stat().st_size for path in entries) / 1e6
    probe = f"probe-{os.getpid()}"
    writable = cache.store(probe, b"")
    if writable:
        (folder / probe).unlink(missing_ok=True)
    state = "writable" if writable else "not writable: every run compiles anew; set IMPINGE_CACHE to another folder"
    print(f"cache       {folder}: {len(entries)} entries, {size:.1f} MB, {state}")


def _loops() -> None:
    """Say where the code of the entry points would come from: frozen, cached, or compiled when it is first used."""
    from impinge.cli.ahead import all_entries
    from impinge.compile import frozen

    entries, levels = all_entries(), frozen.levels()
    ready = {one.name for one in entries if frozen.load(one.name, one.key) is not None}
    cached = {one.name for one in entries if cache.load(frozen.cache_name(one.name, one.key)) is not None} - ready
    missing = [one.name for one in entries if one.name not in ready | cached]
    if not frozen.FOLDER.is_dir():
        of = "none came with this package: it is a clone"
    elif not levels:
        of = "none for this processor"
    else:
        of = f"for {levels[0].cpu}"
    print(f"loops       {len(ready)} frozen ({of}), {len(cached)} cached, {len(missing)} missing")
    for name in missing[:3]:
        print(f"  missing     {name}")
    if missing:
        more = f"and {len(missing) - 3} more: " if len(missing) > 3 else ""
        print(f"              {more}compiled when first used, or now by `impinge doctor --compile`")


def _timer() -> None:
    steps = []
    for _ in range(1000):
        first = second = time.perf_counter_ns()
        while second == first:
            second = time.perf_counter_ns()
        steps.append(second - first)
    late = []
    for _ in range(100):
        begin = time.perf_counter()
        time.sleep(0.001)
        late.append((time.perf_counter() - begin - 0.001) * 1e6)
    print(f"timer       {statistics.median(steps):.0f} ns resolution; a sleep of 1 ms wakes up ", end="")
    print(f"{statistics.median(late):.0f} µs late (median), {max(late):.0f} µs at worst")


def _machine_code() -> int:
    import casadi as ca

    from impinge.compile import compile_kernel

    begin = time.perf_counter()
    x = ca.SX.sym("x")
    value = float(compile_kernel("doctor", {"x": x}, {"y": ca.sin(x) ** 2 + ca.cos(x) ** 2})([0.3])["y"][0])
    good = abs(value - 1.0) < 1e-12
    verdict = "works" if good else f"is wrong: sin² + cos² gave {value!r}; reinstall llvmlite"
    print(f"kernels     machine code {verdict} ({(time.perf_counter() - begin) * 1e3:.0f} ms)")
    return 0 if good else 1
