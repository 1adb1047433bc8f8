"""What vennmf raises and warns: every message names the subject, what was expected, what was found, the way out."""

from sklearn.exceptions import ConvergenceWarning as _SklearnConvergenceWarning


class VennmfError(ValueError):
    """Base of all errors that vennmf raises about what it was given."""


class SourceError(VennmfError):
    """A source or view, or the files it comes from, cannot be used as given."""


class ModelError(VennmfError):
    """The blocks, terms and penalties do not make a model, or the data cannot carry it."""


class ParameterError(VennmfError):
    """A parameter of an estimator, function or command has a value that means nothing."""


class StorageError(VennmfError):
    """A saved model or a data file is damaged, foreign, or from an incompatible version."""


class WriteError(StorageError):
    """A file cannot be written where it was asked for: nothing is wrong with what should be in it."""


class MissingDependencyError(VennmfError, ImportError):
    """An optional package is needed; the message carries the command that installs it."""


class ConvergenceWarning(_SklearnConvergenceWarning):  # type: ignore[misc]
    """The fit stopped before its tolerance, or left components unused; the message carries the numbers."""


class DataWarning(UserWarning):
    """The data can be used, but something about it deserves a look; the message says what and where."""
