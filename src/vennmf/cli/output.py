"""Results on stdout: a table for people, JSON, CSV or Parquet for programs."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import pandas as pd

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.", rich_help_panel="Output")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print CSV.", rich_help_panel="Output")]
AsParquet = Annotated[
    bool, typer.Option("--parquet", help="Write Parquet; redirect it to a file.", rich_help_panel="Output")
]


class Form(StrEnum):
    """How a result is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"

    @classmethod
    def of(cls, as_json: bool, as_csv: bool, as_parquet: bool) -> Form:
        """The one form asked for."""
        asked = [
            form
            for form, given in zip((cls.JSON, cls.CSV, cls.PARQUET), (as_json, as_csv, as_parquet), strict=True)
            if given
        ]
        if len(asked) > 1:
            raise typer.BadParameter(f"choose one of {' and '.join('--' + form for form in asked)}")
        if cls.PARQUET in asked and sys.stdout.isatty():
            raise typer.BadParameter("Parquet is binary; redirect it: --parquet > table.parquet")
        return asked[0] if asked else cls.TABLE


def show(table: pd.DataFrame, form: Form, title: str = "") -> None:
    """Print a table in the form asked for."""
    if form is Form.JSON:
        show_json(records(table))
    elif form is Form.CSV:
        _guarded(table).to_csv(sys.stdout, index=False)
    elif form is Form.PARQUET:
        sys.stdout.buffer.write(_parquet(table))
    else:
        _show_table(table, title)


def show_json(value: Any) -> None:
    """Print a value as JSON, NaN as null."""
    print(json.dumps(_without_nan(value), ensure_ascii=False, indent=2, default=str))


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table as plain dicts."""
    return [{str(name): _plain(value) for name, value in row.items()} for row in table.to_dict("records")]


def console() -> Any:
    """The terminal; a pipe is as wide as need be and has no colour."""
    from rich.console import Console

    return (
        Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=10_000, color_system=None)
    )


def _show_table(table: pd.DataFrame, title: str) -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    screen = console()
    made = Table(box=box.SIMPLE_HEAD, title=title or None, title_justify="left", title_style="bold", pad_edge=False)
    for position, name in enumerate(table.columns):
        numeric = table[name].dtype.kind in "iufb"
        wide = not numeric and table[name].astype(str).str.len().max() > 24 if len(table) else False
        made.add_column(
            escape(str(name)),
            justify="right" if numeric else "left",
            overflow="fold",
            ratio=None,
            no_wrap=numeric or not wide,
            style="bold" if position == 0 else "",
        )
    for row in table.itertuples(index=False):
        made.add_row(*(escape(cell(value)) for value in row))
    screen.print(made)


def cell(value: Any) -> str:
    """A value as a person reads it."""
    import pandas as pd

    value = _plain(value)
    if value is None or value is pd.NA or value != value:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _plain(value: Any) -> Any:
    import numpy as np

    return value.item() if isinstance(value, np.generic) else value


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _without_nan(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(part) for part in value]
    value = _plain(value)
    return None if isinstance(value, float) and value != value else value


def _guarded(table: pd.DataFrame) -> pd.DataFrame:
    """Text that a spreadsheet would run as a formula gets a quote in front."""
    made = table.copy()
    for name in made.columns:
        if made[name].dtype.kind not in "iufb":
            made[name] = [f"'{v}" if isinstance(v, str) and v[:1] in tuple("=+-@\t\r") and v else v for v in made[name]]
    return made


def _parquet(table: pd.DataFrame) -> bytes:
    """The table as Parquet, by DuckDB."""
    import tempfile
    from pathlib import Path

    from vennmf.errors import MissingDependencyError

    try:
        import duckdb
    except ImportError:
        raise MissingDependencyError('Parquet needs duckdb; install it with pip install "vennmf[app]".') from None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        duckdb.from_df(table).write_parquet(str(path))
        return path.read_bytes()
