"""The shared report says what its formulas say."""

import numpy as np
import pytest
import scipy.sparse as sp

import vennmf as vn


@pytest.fixture(params=[np.asarray, sp.csr_array], ids=["dense", "sparse"])
def fitted(request, two_sources):
    data = {name: request.param(X) for name, X in two_sources.items()}
    model = vn.JSNMF({"x": 5, "y": 4}, 2, random_state=0, tol=0.01).fit(data)
    return model, two_sources, model.shared_report().set_index(["measure", "first", "second"]).value


COLUMNS = {"x": {"shared": slice(0, 2), "x": slice(2, 5)}, "y": {"shared": slice(0, 2), "y": slice(2, 4)}}


def test_energies_are_those_of_the_products(fitted):
    model, data, report = fitted
    for name, blocks in COLUMNS.items():
        X, H, total = data[name], model.encodings_[name], 0
        for block, columns in blocks.items():
            part = H[:, columns] @ model.components_[block]
            total = total + part
            assert report["energy", name, block] == pytest.approx(np.sum(part**2) / np.sum(X**2), rel=1e-10)
        assert report["explained", name, ""] == pytest.approx(1 - np.sum((X - total) ** 2) / np.sum(X**2), rel=1e-10)


def test_overlaps_are_cosines_between_components(fitted):
    model, _, report = fitted
    for a, b in (("shared", "x"), ("shared", "y"), ("x", "y")):
        cosines = model.components_[a] @ model.components_[b].T
        assert report["max cosine", a, b] == pytest.approx(cosines.max(), rel=1e-10)
        assert report["mean cosine", a, b] == pytest.approx(cosines.mean(), rel=1e-10)


def test_divergence_is_that_of_the_sources_feature_distributions(fitted):
    _, data, report = fitted
    p, q = (X.sum(axis=0) / X.sum() for X in data.values())
    middle = (p + q) / 2

    def bits(a):
        return np.sum(a[a > 0] * np.log2(a[a > 0] / middle[a > 0]))

    assert report["Jensen-Shannon", "x", "y"] == pytest.approx((bits(p) + bits(q)) / 2, rel=1e-10)
    assert len(report) == 2 + 4 + 6 + 1
