"""A progress bar on standard error, when that is a terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def progress_bar(title: str, total: float) -> Iterator[Callable[[float], None] | None]:
    """Yield a function to call with how far the work has come, or None if nobody is watching."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task(title, total=total)

    def show(done: float) -> None:
        bar.start()  # when the work has begun: another bar may be there while something compiles before it
        bar.update(task, completed=done)

    try:
        yield show
    finally:
        bar.stop()
