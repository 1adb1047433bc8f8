"""How each package is called: the same start in, factors out, nothing else. Imported in the peer's own process.

A solver is told to go ``n`` iterations on from given factors. What cannot go on (``resumes=False``) is run again from the
start with more iterations, and charged for the longest run alone. Conversions that a package asks for (dense tensors,
float64, columns first) are made before the clock starts; their memory counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

Factors = dict[str, Any]
Data = list[Any]


def as_given(data: Data) -> Any:
    return data


@dataclass(frozen=True)
class Solver:
    """One package at chosen settings.

    ``advance(prepared, factors, n, threads)`` returns new factors under the same names: H, B for a matrix; H, B0, B1 for a
    tensor; W, V0, V1, B0, B1 for views, whose left sides are W + V. Each call goes up to ``growth`` times as far as the last.
    """

    name: str
    package: str
    settings: str
    advance: Callable[[Any, Factors, int, int], Factors]
    prepare: Callable[[Data], Any] = as_given
    kinds: tuple[str, ...] = ("matrix",)
    resumes: bool = True
    growth: float = 1.5
    same_start: bool = True
    dense: bool = False


# ---------------------------------------------------------------- vennmf


def vennmf(data: Data, start: Factors, n: int, threads: int) -> Factors:
    import vennmf as vn

    k = start["H"].shape[1]
    init = {"items:data": start["H"], "features": start["B"]}
    model = vn.NMF(k, init=init, max_iter=n, tol=0, min_change=0, n_threads=threads).fit(data[0])
    return {"H": model.encodings_["data"], "B": next(iter(model.components_.values())).T}


def vennmf_tensor(data: Data, start: Factors, n: int, threads: int) -> Factors:
    import vennmf as vn

    k = start["H"].shape[1]
    init = {"items:data": start["H"], "mode1": start["B0"], "mode2": start["B1"]}
    model = vn.N2S2L(k, 1, alpha=0, beta=0, init=init, max_iter=n, tol=0, min_change=0, n_threads=threads).fit(data[0])
    return {"H": model.encodings_, "B0": model.factors_[0], "B1": model.factors_[1]}


def vennmf_views(data: Data, start: Factors, n: int, threads: int) -> Factors:
    import vennmf as vn

    size = 1 / sum(float(np.vdot(X, X)) for X in data)
    init = {"items": start["W"], "features:0": start["B0"], "features:1": start["B1"]}
    model = vn.VennNMF(
        {"all": start["W"].shape[1]}, shared="items", weights={"0": size, "1": size}, init=init, max_iter=n,
        tol=0, min_change=0, n_threads=threads,
    ).fit({"0": data[0], "1": data[1]})  # fmt: skip
    W = model.encodings_["all"]
    return {
        "W": W,
        "V0": np.zeros_like(W),
        "V1": np.zeros_like(W),
        "B0": model.components_["0"].T,
        "B1": model.components_["1"].T,
    }


# ---------------------------------------------------------------- the published rule, plainly


def in_double(data: Data) -> Any:
    return [X.astype(np.float64) for X in data]


def multiplicative(data: Data, start: Factors, n: int, threads: int) -> Factors:
    """Lee & Seung's rule in NumPy and SciPy."""
    X, tiny = data[0], 1e-300
    H, B = start["H"].astype(np.float64), start["B"].astype(np.float64)
    for _ in range(n):
        H *= (X @ B) / (H @ (B.T @ B) + tiny)
        B *= (X.T @ H) / (B @ (H.T @ H) + tiny)
    return {"H": H, "B": B}


# ---------------------------------------------------------------- scikit-learn


def scikit_learn(solver: str) -> Callable[[Data, Factors, int, int], Factors]:
    def advance(data: Data, start: Factors, n: int, threads: int) -> Factors:
        from sklearn.decomposition import NMF

        model = NMF(start["H"].shape[1], init="custom", solver=solver, max_iter=n, tol=0)
        H = model.fit_transform(data[0], W=start["H"].copy(), H=np.ascontiguousarray(start["B"].T))
        return {"H": H, "B": model.components_.T}

    return advance


def scikit_learn_batches(data: Data, start: Factors, n: int, threads: int) -> Factors:
    from sklearn.decomposition import MiniBatchNMF

    model = MiniBatchNMF(start["H"].shape[1], init="custom", max_iter=n, tol=0, max_no_improvement=None, random_state=0)
    H = model.fit_transform(data[0], W=start["H"].copy(), H=np.ascontiguousarray(start["B"].T))
    return {"H": H, "B": model.components_.T}


# ---------------------------------------------------------------- torch


def dense_tensor(data: Data) -> Any:
    import torch

    X = data[0]
    return torch.from_numpy(X.toarray() if sp.issparse(X) else np.array(X))


def nmf_torch(data: Any, start: Factors, n: int, threads: int) -> Factors:
    """Its HALS of one inner step; the start is set where it would draw its own."""
    import torch
    from nmf.nmf_models import NMFBatchHALS

    class FromStart(NMFBatchHALS):
        def _initialize_H_W(self, eps: float = 1e-6) -> None:
            self.H, self.W = torch.tensor(start["H"]), torch.tensor(np.ascontiguousarray(start["B"].T))

    torch.set_num_threads(threads)
    model = FromStart(
        n_components=start["H"].shape[1], init="random", beta_loss=2.0, tol=0.0, random_state=0, alpha_W=0.0,
        l1_ratio_W=0.0, alpha_H=0.0, l1_ratio_H=0.0, fp_precision="float", device_type="cpu", n_jobs=threads,
        max_iter=n, hals_max_iter=1,
    )  # fmt: skip
    model.fit(data)
    return {"H": model.H.numpy(), "B": model.W.numpy().T}


def torch_sparse(data: Data) -> Any:
    import torch

    X = data[0]
    if not sp.issparse(X):
        return torch.from_numpy(np.array(X))
    entries = X.tocoo()
    where = torch.from_numpy(np.vstack([entries.row, entries.col]).astype(np.int64))
    return torch.sparse_coo_tensor(where, torch.from_numpy(X.data), X.shape).coalesce()


def torchnmf(data: Any, start: Factors, n: int, threads: int) -> Factors:
    import torch
    from torchnmf.nmf import NMF

    torch.set_num_threads(threads)
    net = NMF(W=torch.tensor(np.ascontiguousarray(start["B"])), H=torch.tensor(start["H"]))
    net.fit(data, beta=2, tol=-np.inf, max_iter=n)
    return {"H": net.H.detach().numpy(), "B": net.W.detach().numpy()}


# ---------------------------------------------------------------- cmfrec, gensim


def triplets(data: Data) -> Any:
    return sp.coo_matrix(data[0])


def cmfrec(data: Any, start: Factors, n: int, threads: int) -> Factors:
    from cmfrec import CMF

    model = CMF(
        k=start["H"].shape[1], method="als", nonneg=True, NA_as_zero=True, center=False, user_bias=False,
        item_bias=False, lambda_=1e-6, niter=n, use_float=True, nthreads=threads, random_state=0, verbose=False,
        precompute_for_predictions=False,
    ).fit(data)  # fmt: skip
    return {"H": model.A_, "B": model.B_}


def by_terms(data: Data) -> Any:
    return sp.csc_matrix(data[0].T)


def gensim(data: Any, start: Factors, n: int, threads: int) -> Factors:
    """Online; the start is set where it would draw its own. It gives topics; items are folded in outside the clock."""
    from gensim.models.nmf import Nmf

    k = start["H"].shape[1]
    words = {word: str(word) for word in range(data.shape[0])}
    model = Nmf(
        None, num_topics=k, id2word=words, passes=n, eval_every=None, normalize=False, minimum_probability=0,
        random_state=0,
    )  # fmt: skip
    model._W = start["B"].astype(np.float64)
    model.A, model.B = np.zeros((k, k)), np.zeros(start["B"].shape)
    model.update(data)
    return {"H": None, "B": model._W}


# ---------------------------------------------------------------- PLANC


def columns_first(data: Data) -> Any:
    X = data[0]
    return sp.csc_matrix(X, dtype=np.float64) if sp.issparse(X) else np.asfortranarray(X, dtype=np.float64)


def planc(algorithm: str) -> Callable[[Any, Factors, int, int], Factors]:
    def advance(data: Any, start: Factors, n: int, threads: int) -> Factors:
        import pyplanc

        H, B = (np.asfortranarray(start[name], dtype=np.float64) for name in "HB")
        found = pyplanc.nmf(data, H.shape[1], niter=n, algo=algorithm, ncores=threads, Winit=H, Hinit=B)
        return {"H": found.W, "B": found.H}

    return advance


# ---------------------------------------------------------------- tensors and views


def tensorly(data: Data, start: Factors, n: int, threads: int) -> Factors:
    from tensorly.cp_tensor import CPTensor
    from tensorly.decomposition import non_negative_parafac_hals

    k = start["H"].shape[1]
    given = CPTensor((np.ones(k, np.float32), [start[name].copy() for name in ("H", "B0", "B1")]))
    weights, (H, B0, B1) = non_negative_parafac_hals(data[0], k, n_iter_max=n, init=given, tol=0)
    return {"H": H * weights, "B0": B0, "B1": B1}


def imml(data: Data, start: Factors, n: int, threads: int) -> Factors:
    from imml.decomposition import JNMF

    V, B = ([start[f"{letter}{v}"] for v in range(len(data))] for letter in "VB")
    model = JNMF(start["W"].shape[1], init_W=start["W"], init_V=V, init_H=B, max_iter=n, tol=1e-300, random_state=0)
    W = model.fit_transform(data)
    return {"W": W, "V0": model.V_[0], "V1": model.V_[1], "B0": model.H_[0], "B1": model.H_[1]}


HALS = "coordinate descent"
SOLVERS: dict[str, Solver] = {
    "vennmf": Solver("vennmf", "vennmf", "the default", vennmf, resumes=False),
    "rule": Solver("Lee & Seung's rule", "numpy", "NumPy and SciPy, float64", multiplicative, in_double),
    "sklearn-cd": Solver("scikit-learn NMF", "scikit-learn", f"{HALS}, float32", scikit_learn("cd")),
    "sklearn-mu": Solver("scikit-learn NMF", "scikit-learn", "multiplicative, float32", scikit_learn("mu")),
    "sklearn-batches": Solver(
        "scikit-learn MiniBatchNMF", "scikit-learn", "batches of 1,024, float32", scikit_learn_batches, resumes=False,
        growth=2.5,
    ),
    "planc-bpp": Solver("PLANC", "pyplanc", "block pivoting, float64", planc("anlsbpp"), columns_first),
    "planc-hals": Solver("PLANC", "pyplanc", f"{HALS}, float64", planc("hals"), columns_first),
    "cmfrec": Solver(
        "cmfrec CMF", "cmfrec", "ALS with nonneg, NA_as_zero, λ = 10⁻⁶, float32", cmfrec, triplets,
        resumes=False, growth=2.5, same_start=False,
    ),
    "gensim": Solver("gensim Nmf", "gensim", "online, float64", gensim, by_terms, resumes=False, growth=2.5),
    "nmf-torch": Solver("nmf-torch", "nmf-torch", "HALS, float32, dense", nmf_torch, dense_tensor, dense=True),
    "torchnmf": Solver("torchnmf", "torchnmf", "multiplicative, float32", torchnmf, torch_sparse),
    "vennmf-tensor": Solver(
        "vennmf N2S2L, no labels", "vennmf", "the default", vennmf_tensor, kinds=("tensor",), resumes=False
    ),
    "tensorly": Solver("TensorLy CP", "tensorly", "HALS, float32", tensorly, kinds=("tensor",)),
    "vennmf-views": Solver(
        "vennmf VennNMF, all shared", "vennmf", "the default", vennmf_views, kinds=("views",), resumes=False
    ),
    "imml": Solver("iMML JNMF", "imml", "float64", imml, in_double, kinds=("views",)),
}  # fmt: skip


def parts(data: Data, factors: Factors) -> list[tuple[Any, Any, Any]]:
    """(X, L, R) of each view, as the objective wants them."""
    if "W" in factors:
        return [(X, factors["W"] + factors[f"V{v}"], factors[f"B{v}"]) for v, X in enumerate(data)]
    X, H = data[0], factors["H"]
    if "B0" in factors:
        B0, B1 = factors["B0"], factors["B1"]
        return [(X.reshape(len(X), -1), H, (B0[:, None, :] * B1[None, :, :]).reshape(-1, B0.shape[1]))]
    if H is None:
        H = folded_in(X, factors["B"])
    return [(X, H, factors["B"])]


def folded_in(X: Any, B: Any) -> Any:
    """Items on given topics by nonnegative least squares, for packages that give topics alone."""
    from sklearn.decomposition import non_negative_factorization

    B = np.ascontiguousarray(B.T.astype(X.dtype))
    return non_negative_factorization(X, H=B, n_components=len(B), update_H=False, max_iter=100, tol=1e-4)[0]
