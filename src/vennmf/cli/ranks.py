"""``vennmf ranks``: how many topics, and how many of them shared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vennmf.cli.fit import Flags, load
from vennmf.cli.messages import say
from vennmf.cli.output import Form, records, show, show_json
from vennmf.errors import StorageError


def ranks(
    flags: Flags, max_components: int, folds: int, state: Path | None, curves: bool, seed: int, form: Form
) -> None:
    """Search, then show the choice beside the papers' rules, or the curves behind it."""
    from vennmf.applications.ranks import suggest_ranks

    if state is not None:
        resumable(state)
    views = load(flags.merged())
    try:
        found = suggest_ranks(
            views, max_components=max_components, n_folds=folds, state=state, progress=True, random_state=seed
        )
    except KeyboardInterrupt:
        if state is None:
            raise
        say(f"interrupted; the same command goes on from {state}")
        raise SystemExit(130) from None
    if curves:
        show(found.curves, form, "Held-out error")
    elif form is Form.JSON:
        show_json(_as_json(found))
    else:
        show(found.table().rename_axis("chosen by").reset_index(), form, "Topics")
        if form is Form.TABLE:
            print(found.why)
            shared, each = found.n_shared, ",".join(f"{s}={n}" for s, n in found.n_components.items())
            say(f"next: vennmf fit ... --n-components {each} --n-shared {shared}")


def resumable(state: Path) -> None:
    """Refuse before any work a state that could not be kept."""
    if state.is_dir():
        raise StorageError(f"{state} is a folder; name a file in it.")
    if not state.parent.is_dir():
        raise StorageError(f"there is no folder {state.parent}; make it, or name another.")


def _as_json(found: Any) -> dict[str, Any]:
    said = {"n_components": dict(found.n_components), "n_shared": found.n_shared, "why": found.why}
    return said | {"rules": records(found.rules), "has_levelled": dict(found.has_levelled)}
