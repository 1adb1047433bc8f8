"""The same seed gives the same bits at any number of threads, on data large enough to be shared out."""

import numpy as np
import pytest
import scipy.sparse as sp

import vennmf as vn


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("orthogonality", [0, 10])
def test_the_number_of_threads_does_not_show_in_the_bits(kind, orthogonality):
    rng = np.random.default_rng(0)
    sources = {name: kind(np.maximum(rng.random((rows, 300)) - 0.5, 0)) for name, rows in (("x", 3000), ("y", 2500))}

    def bits(n_threads):
        model = vn.RJSNMF(
            n_components=8, n_shared=4, orthogonality=orthogonality, max_iter=6, random_state=0, n_threads=n_threads
        )
        with pytest.warns(vn.ConvergenceWarning):
            model.fit(sources)
        return [model.components_[block].tobytes() for block in sorted(model.components_)]

    alone = bits(1)
    assert bits(2) == alone
    assert bits(5) == alone
