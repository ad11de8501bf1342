"""While something compiles: a bar with the number of entry points that are left, if somebody is watching."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

_MANY = 4  # entry points take long enough to say so where no bar can be seen


@contextlib.contextmanager
def compiling(entries: Sequence[Any]) -> Iterator[Callable[[str], None]]:
    """Show on a terminal how many entry points are left; yield a function to call with the name of each when done."""
    if not sys.stderr.isatty():
        if len(entries) >= _MANY:
            print(f"impinge: compiling {len(entries)} entry points, once", file=sys.stderr)
        yield lambda name: None
        return
    from rich.console import Console
    from rich.errors import LiveError
    from rich.progress import BarColumn, Progress, TextColumn

    columns = TextColumn("compiling, once"), BarColumn(), TextColumn("{task.description}")
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(f"{len(entries)} left", total=len(entries))
    left = len(entries)

    def count(name: str) -> None:
        nonlocal left
        left -= 1
        bar.update(task, description=f"{left} left, {name} done", advance=1)

    with contextlib.ExitStack() as stack:
        with contextlib.suppress(LiveError):  # another bar is on the screen: then that one stays
            stack.enter_context(bar)
        yield count
