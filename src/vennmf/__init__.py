"""What your sources share, and what is theirs alone: joint nonnegative factorisation of several related collections."""

from importlib import import_module as _import_module
from typing import Any as _Any

__version__ = "0.1.0"

_HOMES = {
    "vennmf.estimators.joint": ("JSNMF", "NMF", "RJSNMF", "VennNMF"),
    "vennmf.estimators.pjmf": ("PJMF",),
    "vennmf.estimators.mcl": ("MCL",),
    "vennmf.estimators.n2s2l": ("N2S2L",),
    "vennmf.estimators.storage": ("load",),
    "vennmf.estimators.callbacks": ("JsonLog", "Progress", "StopWhen"),
    "vennmf.applications.retrieve": ("Retriever",),
    "vennmf.applications.cluster": ("joint_cluster",),
    "vennmf.applications.encode": ("append_items", "encode_items"),
    "vennmf.applications.ranks": ("suggest_ranks",),
    "vennmf.applications.tag": ("tag_items",),
    "vennmf.applications.topics": ("compare_models", "item_topics", "topic_items", "topic_sizes", "topics"),
    "vennmf.evaluation": ("choose_sharing",),
    "vennmf.matrices": ("Axis", "View", "ViewSet"),
    "vennmf.matrices.build": ("load_sources",),
    "vennmf.sources": ("datasets",),
    "vennmf.model": (
        "L1",
        "L2",
        "Box",
        "ColumnMaximum",
        "GraphSmooth",
        "LabelScatter",
        "MutuallyOrthogonal",
        "WithinScatter",
    ),
    "vennmf.errors": (
        "ConvergenceWarning",
        "DataWarning",
        "MissingDependencyError",
        "ModelError",
        "ParameterError",
        "SourceError",
        "StorageError",
        "VennmfError",
        "WriteError",
    ),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> _Any:
    """Import a public name from its room when it is first asked for, so that ``import vennmf`` stays light."""
    if name not in _HOME:
        raise AttributeError(f"module 'vennmf' has no attribute {name!r}")
    value = getattr(_import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
