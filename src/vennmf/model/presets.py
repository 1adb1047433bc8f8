"""The models of the papers that differ only in their blocks and penalties."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

from vennmf.errors import ModelError
from vennmf.matrices import ViewSet
from vennmf.model.blocks import Block, sharing_pattern
from vennmf.model.model import Model
from vennmf.model.penalties import MutuallyOrthogonal


def shared_and_private(
    sources: tuple[str, ...], n_components: int | Mapping[str, int], n_shared: int | None
) -> tuple[Block, ...]:
    """One block that all sources share and one of each source alone: R_v components in all for source v, K of them shared.

    K is half of the smallest R where it is None.
    """
    sizes: dict[str, Any]
    if isinstance(n_components, Mapping):
        n_components = {str(name): size for name, size in n_components.items()}
        unknown = sorted(set(n_components) - set(sources))
        missing = [name for name in sources if name not in n_components]
        if unknown or missing:
            found = f"names {unknown[0]!r}, which is no source" if unknown else f"lacks source {missing[0]!r}"
            raise ModelError(f"n_components {found}; the sources are {', '.join(map(repr, sources))}.")
        sizes = {name: n_components[name] for name in sources}
    else:
        sizes = dict.fromkeys(sources, n_components)
    for name, size in sizes.items():
        if not isinstance(size, Integral) or size < 1:
            raise ModelError(f"source {name!r} has n_components={size!r}; a whole number >= 1 was expected.")
    n_shared = min(sizes.values()) // 2 if n_shared is None else n_shared
    for name, size in sizes.items():
        if n_shared > size:
            raise ModelError(
                f"n_shared={n_shared} is larger than n_components={size} of source {name!r}; shared components are "
                "part of every source's components."
            )
    if n_shared < 0:
        raise ModelError(f"n_shared={n_shared}; a whole number >= 0 was expected.")
    shared = "all" if "shared" in sources else "shared"
    return sharing_pattern({shared: int(n_shared), **{name: size - n_shared for name, size in sizes.items()}}, sources)


def jsnmf(
    views: ViewSet,
    n_components: int | Mapping[str, int],
    n_shared: int | None,
    weights: dict[str, float] | None = None,
) -> Model:
    """Joint shared NMF (Gupta et al., KDD 2010)."""
    return Model.of(views, shared_and_private(views.names, n_components, n_shared), (), weights)


def rjsnmf(
    views: ViewSet,
    n_components: int | Mapping[str, int],
    n_shared: int | None,
    orthogonality: float = 100.0,
    weights: dict[str, float] | None = None,
) -> Model:
    """Regularised joint shared NMF (Gupta et al., DMKD 2011): shared and private parts kept mutually orthogonal."""
    blocks = shared_and_private(views.names, n_components, n_shared)
    penalties = (MutuallyOrthogonal(orthogonality),) if orthogonality else ()
    return Model.of(views, blocks, penalties, weights)
