"""Sparse matrices stay sparse: a fit needs no more memory than factors and data explain, whatever the format."""

import numpy as np
import pytest
import scipy.sparse as sp

import vennmf as vn
from tests.conftest import peak_of

ROWS, COLUMNS, STORED = 20_000, 15_000, 60_000
FORMATS = [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix, sp.coo_array, sp.coo_matrix]


def sources(form):
    rng = np.random.default_rng(0)
    where = rng.integers(ROWS, size=STORED), rng.integers(COLUMNS, size=STORED)
    X = form(sp.coo_array((rng.random(STORED, dtype=np.float32), where), shape=(ROWS, COLUMNS)))
    return {"x": X, "y": form(X.tocsr()[:3000])}


@pytest.mark.filterwarnings("ignore::vennmf.ConvergenceWarning")
@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.__name__)
@pytest.mark.parametrize("init", ["random", "means", "nndsvd"])
def test_nothing_of_the_size_of_the_matrix_or_of_its_sides_squared_is_formed(form, init):
    data = sources(form)
    model = vn.RJSNMF(3, 1, init=init, max_iter=6, random_state=0)
    least = min(ROWS * COLUMNS, COLUMNS**2) * 4  # bytes of a dense matrix, or of one of features by features
    met = peak_of(lambda: (model.fit(data), model.transform(data), model.score(data), model.shared_report()))
    assert met < least / 10, f"{met / 2**20:.0f} MiB"
    assert model.encodings_["x"].dtype == np.float32


@pytest.mark.filterwarnings("ignore::vennmf.ConvergenceWarning")
def test_a_matrix_made_dense_would_be_noticed():
    X = sources(sp.csr_array)["y"]
    assert peak_of(X.toarray) > 3000 * COLUMNS * 4


@pytest.mark.filterwarnings("ignore::vennmf.ConvergenceWarning")
@pytest.mark.parametrize("form", [sp.lil_array, sp.dok_array, sp.bsr_array, sp.dia_array])
def test_every_format_gives_the_same_bits(form):
    X = sp.random_array((30, 20), density=0.2, rng=np.random.default_rng(0), format="csr")
    found = [vn.NMF(3, random_state=0, max_iter=5).fit(made).components_["shared"] for made in (X, form(X))]
    np.testing.assert_array_equal(found[0], found[1])
