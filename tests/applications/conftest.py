"""One small joint model of planted sources, fitted once for all application tests."""

import pytest

import vennmf as vn
from vennmf.sources.planted import planted


@pytest.fixture(scope="session")
def truth():
    return planted({"all": 3, "bbc": 2, "cnn": 2}, {"bbc": 120, "cnn": 100}, 90, sparse=True, random_state=1)


@pytest.fixture(scope="session")
def sources(truth):
    features = vn.Axis("features", 90, truth.words)
    views = [
        vn.View(name, X, vn.Axis(f"items:{name}", X.shape[0], [f"{name}-{n}" for n in range(X.shape[0])]), features)
        for name, X in truth.sources.items()
    ]
    return vn.ViewSet(views)


@pytest.fixture(scope="session")
def model(sources):
    return vn.JSNMF(5, 3, n_init=5, random_state=0).fit(sources)
