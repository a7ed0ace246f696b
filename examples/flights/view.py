"""What the demo shows while it runs: a live view on a terminal, plain lines anywhere else."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, Self

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table as Grid

if TYPE_CHECKING:
    from collections.abc import Sequence

SLOWEST_PLAIN = 1.0  # seconds between two lines of progress without a terminal
KEPT = 10_000  # cycle times remembered for the percentiles


@dataclass
class State:
    """What there is to see at one moment."""

    rows: int = 0
    expected: int = 0
    reports: int = 0
    batches: int = 0
    cycles: int = 0
    day: str = ""
    leaders: Sequence[dict[str, object]] = ()
    cycle_times: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))  # seconds

    def percentile(self, share: float) -> float:
        """The cycle time that so great a share of the cycles did not exceed, in milliseconds."""
        ordered = sorted(self.cycle_times.copy())  # a listener's thread appends
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1e3 if ordered else 0.0

    def line(self) -> str:
        """The state in one line."""
        return (
            f"{self.day:<10}  {self.rows:>7,} of {self.expected:,} flights  {self.reports:>6,} weather reports  "
            f"{self.batches} batches  {self.cycles} cycles  p50 {self.percentile(0.5):.1f} ms  "
            f"p99 {self.percentile(0.99):.1f} ms"
        )


class View(Protocol):
    """Something that shows the state as it changes."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    def show(self, state: State) -> None:
        """Bring the view up to date."""
        ...

    def note(self, text: str) -> None:
        """Show one line of what a listener heard."""
        ...


def view_for(console: Console) -> View:
    """The live view if somebody can see it."""
    return Screen(console) if console.is_terminal else Lines(console)


class Lines:
    """Plain lines, now and then."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._next = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def show(self, state: State) -> None:
        """Print a line of progress, but not too often."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + SLOWEST_PLAIN
            self._console.print(state.line(), highlight=False, soft_wrap=True)

    def note(self, text: str) -> None:
        """Print what a listener heard."""
        self._console.print(f"    {text}", highlight=False, soft_wrap=True)


class Screen:
    """The leaderboard ticking, the stream advancing, and the last things that listeners heard."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, refresh_per_second=10, transient=True)
        self._heard: deque[str] = deque(maxlen=6)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, state: State) -> None:
        """Draw everything anew."""
        figures = Grid.grid(padding=(0, 3))
        figures.add_row(
            f"[b]{state.rows:,}[/] of {state.expected:,} flights",
            f"[b]{state.reports:,}[/] weather reports",
            f"[b]{state.batches}[/] batches",
            f"[b]{state.cycles}[/] cycles",
            f"cycle p50 [b]{state.percentile(0.5):.1f}[/] ms  p99 [b]{state.percentile(0.99):.1f}[/] ms",
        )
        leaders = Grid(box=box.SIMPLE_HEAD, title="the worst delays so far", title_justify="left")
        for name in ("minutes", "airline", "flight", "from", "to", "planned (UTC)", "wind"):
            leaders.add_column(name, justify="right" if name in {"minutes", "flight"} else "left")
        for row in state.leaders:
            shown = ("dep_delay", "airline", "flight", "origin", "dest", "planned", "wind")
            leaders.add_row(*(f"{row[name]:%Y-%m-%d %H:%M}" if name == "planned" else str(row[name]) for name in shown))
        progress = Grid.grid(expand=True)  # a bar alone ends no line
        progress.add_row(ProgressBar(total=max(state.expected, 1), completed=state.rows))
        heard = Panel("\n".join(self._heard), title="a listener heard", title_align="left", box=box.ROUNDED)
        self._live.update(Group(f"[b]New York, {state.day}[/]", progress, figures, leaders, heard))

    def note(self, text: str) -> None:
        """Keep what a listener heard for the next drawing."""
        self._heard.append(text)
