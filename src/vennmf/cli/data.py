"""``vennmf datasets``: the named data sets, whose they are, where they are."""

from __future__ import annotations

from pathlib import Path

from vennmf.cli.messages import say
from vennmf.cli.output import Form, show
from vennmf.errors import ParameterError, StorageError
from vennmf.sources import datasets as register


def datasets(name: str | None, fetch: bool, to: Path | None, form: Form) -> None:
    """All data sets, or one with its licence and citation."""
    import pandas as pd

    if name is None and (fetch or to is not None):
        option = "--fetch" if fetch else "--to"
        raise ParameterError(f"{option} is about one data set; name it, such as: vennmf datasets orl_faces --fetch")
    if name is None:
        rows = [(entry.name, entry.where, entry.title) for entry in register.list()]
        show(pd.DataFrame(rows, columns=["name", "where", "title"]), form, "Data sets")
        return
    entry = register.info(name)
    facts = [("name", entry.name), ("title", entry.title), ("licence", entry.licence), ("citation", entry.citation)]
    if fetch or to is not None:
        loaded = register.load(name)
        say(f"loaded {loaded}")
        facts.append(("holds", repr(loaded)))
        if to is not None:
            _write(loaded, to)
    facts.append(("where", register.info(name).where))
    show(pd.DataFrame(facts, columns=["what", "value"]), form)


def _write(loaded: register.Dataset, folder: Path) -> None:
    """The tables of a data set as JSON lines, one file a source, each whole or not at all."""
    from vennmf.estimators.storage import write_atomically

    if not loaded.tables:
        raise ParameterError(f"data set {loaded.name!r} holds matrices, no items in words; load it from Python.")
    if folder.exists() and not folder.is_dir():
        raise StorageError(f"{folder} is a file; name a folder.")
    paths = {source: folder / f"{source}.jsonl" for source in loaded.tables}
    for path in paths.values():
        if path.exists():
            raise StorageError(f"{path} exists; remove it, or name another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    for source, path in paths.items():
        write_atomically(path, loaded.tables[source].to_json(orient="records", lines=True, force_ascii=False).encode())
    columns = " ".join(f"--{name} {column}" for name, column in loaded.columns.items())
    named = " ".join(f"-s {source}={path}" for source, path in paths.items())
    say(f"next: vennmf fit {named} {columns} --n-components 20 --n-shared 10 -o {folder / loaded.name}.venn")
