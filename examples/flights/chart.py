"""A picture of the year: how late each carrier left, over all and month by month."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa


def draw(by_carrier: pa.Table, by_carrier_and_month: pa.Table, path: Path) -> None:
    """Write the chart as PNG: bars for the year, a map of carrier by month beside them."""
    import matplotlib as mpl

    mpl.use("Agg")
    import numpy as np
    from matplotlib import pyplot as plt

    carriers = sorted(by_carrier.to_pylist(), key=lambda row: row["mean_delay"])
    place = {row["carrier"]: number for number, row in enumerate(carriers)}
    cells = by_carrier_and_month.to_pylist()
    months = sorted({row["month"] for row in cells})
    grid = np.full((len(carriers), len(months)), np.nan)
    for row in cells:
        grid[place[row["carrier"]], months.index(row["month"])] = row["mean_delay"]

    figure, (bars, heat) = plt.subplots(1, 2, figsize=(13, 6), layout="constrained", sharey=True)
    means = [row["mean_delay"] for row in carriers]
    bars.barh(range(len(carriers)), means, color="#3b6ea5")
    bars.set_yticks(range(len(carriers)), [row["airline"] for row in carriers])
    bars.set_xlabel("mean departure delay, minutes")
    bars.set_title("over the year")
    for number, row in enumerate(carriers):
        bars.annotate(
            f" {row['flights']:,} flights",
            (max(row["mean_delay"], 0), number),
            va="center",
            fontsize=7,
            color="#555555",
        )
    bars.margins(x=0.2)
    # A carrier of thirty flights a year must not stretch the scale for the others.
    least, greatest = np.nanpercentile(grid, [2, 97])
    image = heat.imshow(grid, aspect="auto", origin="lower", cmap="RdYlBu_r", vmin=least, vmax=greatest)
    heat.set_xticks(range(len(months)), [str(month) for month in months])
    heat.set_xlabel("month")
    heat.set_title("month by month")
    figure.colorbar(image, ax=heat, label="minutes", extend="both")
    figure.suptitle("Departures from New York's airports in 2013, from live tables")
    figure.savefig(path, dpi=110)
    plt.close(figure)
