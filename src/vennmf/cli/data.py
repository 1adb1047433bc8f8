"""``vennmf datasets``: the named data sets, whose they are, where they are."""

from __future__ import annotations

from vennmf.cli.messages import say
from vennmf.cli.output import Form, show
from vennmf.errors import ParameterError
from vennmf.sources import datasets as register


def datasets(name: str | None, fetch: bool, form: Form) -> None:
    """All data sets, or one with its licence and citation."""
    import pandas as pd

    if name is None and fetch:
        raise ParameterError("--fetch loads one data set; name it, such as: vennmf datasets orl_faces --fetch")
    if name is None:
        rows = [(entry.name, entry.where, entry.title) for entry in register.list()]
        show(pd.DataFrame(rows, columns=["name", "where", "title"]), form, "Data sets")
        return
    entry = register.info(name)
    facts = [("name", entry.name), ("title", entry.title), ("licence", entry.licence), ("citation", entry.citation)]
    if fetch:
        loaded = register.load(name)
        say(f"loaded {loaded}")
        facts.append(("holds", repr(loaded)))
    facts.append(("where", register.info(name).where))
    show(pd.DataFrame(facts, columns=["what", "value"]), form)
