"""The scikit-learn faces: conventions, identities between models, planted truth, bad input."""

import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linear_sum_assignment, nnls
from sklearn.base import clone
from sklearn.decomposition import NMF as SklearnNMF
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import vennmf as vn
from tests.conftest import draw
from vennmf.model import Model, sharing_pattern
from vennmf.solvers import Options, Problem
from vennmf.solvers.loop import Loop
from vennmf.solvers.sweeps import SWEEPS
from vennmf.sources.planted import planted

ESTIMATORS = [vn.NMF(), vn.JSNMF(), vn.RJSNMF(), vn.VennNMF(), vn.JSNMF(solver="mu")]
QUIET = pytest.mark.filterwarnings("ignore::vennmf.ConvergenceWarning")


def checks():
    for estimator in ESTIMATORS:
        for made, check in estimator_checks_generator(estimator, legacy=True):
            yield pytest.param(made, check, id=f"{made}-{getattr(check, 'func', check).__name__}")


@QUIET
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_every_check_of_scikit_learn_passes_without_exemption(estimator, check):
    check(estimator)


# ---------------------------------------------------------------- identities


def test_one_sweep_without_extras_visits_the_iterates_of_scikit_learn():
    rng = np.random.default_rng(0)
    X, W, H = rng.random((50, 30)), rng.random((50, 4)), rng.random((4, 30))
    problem = Problem(
        Model.of(vn.ViewSet.of({"data": X}), sharing_pattern({"data": 4}, ("data",))), vn.ViewSet.of({"data": X})
    )
    options = Options(max_iter=7, tol=0, min_change=-1, inner_sweeps=1, extrapolation=0, warm_start=0)
    factors = {"items:data": W.copy(), "features": H.T.copy()}
    ours = Loop(problem, factors, SWEEPS["cd"], options, rng).run().factors
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = SklearnNMF(4, init="custom", max_iter=7, tol=0)
        W7 = theirs.fit_transform(X, W=W.copy(), H=H.copy())
    norms = np.linalg.norm(theirs.components_, axis=1)
    np.testing.assert_allclose(ours["features"].T, theirs.components_ / norms[:, None], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(ours["items:data"], W7 * norms, rtol=1e-8, atol=1e-12)


def test_nothing_shared_is_one_nmf_for_each_source(two_sources):
    joint = vn.JSNMF({"x": 4, "y": 3}, 0, max_iter=3000, tol=1e-8, min_change=0, random_state=0).fit(two_sources)
    for name, k in (("x", 4), ("y", 3)):
        start = {"items:data": joint.encodings_[name], "features": joint.components_[name].T}
        alone = vn.NMF(k, init=start, max_iter=3000, tol=1e-8, min_change=0).fit(two_sources[name])
        np.testing.assert_allclose(alone.components_["shared"], joint.components_[name], atol=1e-4)


def test_everything_shared_is_one_nmf_of_the_stacked_data(two_sources):
    X, Y = two_sources["x"], two_sources["y"]
    joint = vn.JSNMF(4, 4, max_iter=5000, tol=1e-9, min_change=0, random_state=0).fit(two_sources)
    stacked = np.vstack([X / np.linalg.norm(X), Y / np.linalg.norm(Y)])
    start = {
        "items:data": np.vstack([joint.encodings_["x"] / np.linalg.norm(X), joint.encodings_["y"] / np.linalg.norm(Y)]),
        "features": joint.components_["shared"].T,
    }
    alone = vn.NMF(4, init=start, max_iter=5000, tol=1e-9, min_change=0).fit(stacked)
    np.testing.assert_allclose(alone.components_["shared"], joint.components_["shared"], atol=1e-5)
    assert joint.objective_ == pytest.approx(2 * alone.objective_, rel=1e-8)


def test_no_orthogonality_is_jsnmf(two_sources):
    a = vn.RJSNMF(4, 2, orthogonality=0, random_state=3).fit(two_sources)
    b = vn.JSNMF(4, 2, random_state=3).fit(two_sources)
    np.testing.assert_array_equal(a.components_["shared"], b.components_["shared"])


def test_an_explicit_pattern_is_the_preset(two_sources):
    a = vn.RJSNMF({"x": 4, "y": 3}, 2, orthogonality=7, random_state=3).fit(two_sources)
    penalties = [vn.MutuallyOrthogonal(7)]
    b = vn.VennNMF({"all": 2, "x": 2, "y": 1}, penalties=penalties, random_state=3).fit(two_sources)
    np.testing.assert_array_equal(a.components_["shared"], b.components_["all"])


@QUIET
def test_order_of_items_features_and_sources_changes_nothing_but_the_order(two_sources):
    rng = np.random.default_rng(5)
    X, Y = two_sources["x"], two_sources["y"]
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    start = {
        "items:x": rng.random((len(X), 4)),
        "items:y": rng.random((len(Y), 3)),
        "features": rng.random((X.shape[1], 5)),
    }
    how = {"max_iter": 30, "min_change": 0}
    a = vn.RJSNMF({"x": 4, "y": 3}, 2, orthogonality=1, init=start, **how).fit(two_sources)
    moved = {"items:x": start["items:x"][rows], "items:y": start["items:y"], "features": start["features"][columns]}
    b = vn.RJSNMF({"x": 4, "y": 3}, 2, orthogonality=0, init=moved, **how).fit(
        {"x": X[rows][:, columns], "y": Y[:, columns]}
    )
    a = vn.RJSNMF({"x": 4, "y": 3}, 2, orthogonality=0, init=start, **how).fit(two_sources)
    np.testing.assert_allclose(b.encodings_["x"], a.encodings_["x"][rows], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(b.components_["shared"], a.components_["shared"][:, columns], rtol=1e-6, atol=1e-8)
    other = {
        "items:y": start["items:y"],
        "items:x": start["items:x"],
        "features": start["features"][:, [0, 1, 4, 2, 3]],
    }
    c = vn.RJSNMF({"x": 4, "y": 3}, 2, orthogonality=0, init=other, **how).fit({"y": Y, "x": X})
    np.testing.assert_allclose(c.components_["x"], a.components_["x"], rtol=1e-6, atol=1e-8)


# ---------------------------------------------------------------- planted truth


def matched(found, truth):
    cosines = (found / np.linalg.norm(found, axis=1, keepdims=True)) @ (
        truth / np.linalg.norm(truth, axis=1, keepdims=True)
    ).T
    return cosines[linear_sum_assignment(-cosines)].min()


def recovered(estimator, seed, overlap):
    blocks = {"all": 4, "x": 3, "y": 3}
    truth = planted(blocks, {"x": 400, "y": 300}, 120, overlap=overlap, random_state=seed)
    model = clone(estimator).set_params(random_state=seed).fit(truth.sources)
    names = {"shared": "all", "x": "x", "y": "y"}
    return min(matched(model.components_[ours], truth.components[theirs]) for ours, theirs in names.items())


@QUIET
@pytest.mark.parametrize(
    ("estimator", "overlap"),
    [
        (vn.JSNMF({"x": 7, "y": 7}, 4, n_init=3, max_iter=1000, tol=1e-6, min_change=0), 0.0),
        (vn.JSNMF({"x": 7, "y": 7}, 4, n_init=3, max_iter=1000, tol=1e-6, min_change=0), 0.3),
        (vn.RJSNMF({"x": 7, "y": 7}, 4, n_init=3, max_iter=1000, tol=1e-6, min_change=0), 0.0),
    ],
    ids=["JSNMF", "JSNMF, overlapping parts", "RJSNMF"],
)
def test_planted_parts_are_found_each_in_its_own_block(estimator, overlap):
    found = [recovered(estimator, seed, overlap) for seed in range(30)]
    assert np.sum(np.array(found) >= 0.99) >= 28, sorted(found)[:5]


@QUIET
def test_one_planted_draw_is_found():
    assert recovered(vn.JSNMF({"x": 7, "y": 7}, 4, n_init=3, max_iter=1000, tol=1e-6, min_change=0), 0, 0.0) >= 0.99


@QUIET
def test_leakage_falls_as_orthogonality_grows(two_sources):
    worst = []
    for a in (0, 1, 100):
        model = vn.RJSNMF({"x": 6, "y": 5}, 3, orthogonality=a, random_state=0, max_iter=500).fit(two_sources)
        report = model.shared_report()
        worst.append(report.loc[report.measure == "max cosine", "value"].max())
    assert worst[0] > worst[1] > worst[2]
    assert worst[2] <= 0.1


# ---------------------------------------------------------------- encode


@QUIET
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [False, True])
def test_transform_gives_the_fitted_encodings_back(dtype, sparse):
    data = draw(1, {"x": 60, "y": 50}, 30, dtype=dtype, sparse=sparse)
    model = vn.RJSNMF({"x": 5, "y": 4}, 2, orthogonality=1, random_state=0).fit(data)
    for name in data:
        again = model.transform(data[name], source=name)
        assert again.dtype == dtype
        assert np.abs(again - model.encodings_[name]).max() <= 1e-3 * model.encodings_[name].max()


def test_transform_is_nonnegative_least_squares(two_sources):
    model = vn.JSNMF({"x": 5, "y": 4}, 2, random_state=0, max_iter=500).fit(two_sources)
    basis = np.vstack([model.components_["shared"], model.components_["x"]])
    new = draw(7, {"x": 20}, 40, rank=6)["x"]
    exact = np.array([nnls(basis.T, row)[0] for row in new])
    np.testing.assert_allclose(model.transform(new, source="x"), exact, atol=1e-4 * exact.max())


def test_one_stacked_matrix_is_the_same_as_named_sources(two_sources):
    labels = np.array(["x"] * 60 + ["y"] * 50)
    order = np.random.default_rng(0).permutation(110)
    stacked = np.vstack([two_sources["x"], two_sources["y"]])
    model = vn.JSNMF({"x": 4, "y": 3}, 2, random_state=0)
    H = model.fit_transform(stacked[np.sort(order)], sources=labels)
    named = clone(model).fit(two_sources)
    np.testing.assert_array_equal(model.components_["shared"], named.components_["shared"])
    assert H.shape == (110, 5)
    np.testing.assert_array_equal(H[:60, :4], named.encodings_["x"])
    assert not H[:60, 4].any()
    assert list(model.get_feature_names_out()) == ["shared0", "shared1", "x0", "x1", "y0"]


def test_views_of_the_same_items_encode_from_any_subset():
    rng = np.random.default_rng(0)
    H = rng.random((80, 3)) * (rng.random((80, 3)) < 0.6)
    data = {"text": H @ rng.random((3, 20)), "image": H @ rng.random((3, 15))}
    model = vn.VennNMF({"all": 3}, shared="items", random_state=0, max_iter=3000, tol=1e-7, min_change=0).fit(data)
    assert model.encodings_["all"].shape == (80, 3)
    both = model.transform(data)
    for name in data:
        assert np.abs(model.transform({name: data[name]}) - both).max() < 0.02 * both.max()
    back = model.inverse_transform(both)
    np.testing.assert_allclose(back["image"], data["image"], atol=0.02)
    assert model.score(data) > 0.999


def test_score_and_inverse_transform_agree(two_sources):
    model = vn.JSNMF(4, 2, random_state=0).fit(two_sources)
    shares = []
    for name, X in two_sources.items():
        back = model.inverse_transform(model.transform(X, source=name), source=name)
        shares.append(1 - np.sum((X - back) ** 2) / np.sum(X**2))
    assert model.score(two_sources) == pytest.approx(np.mean(shares), rel=1e-6)
    report = model.shared_report().set_index(["measure", "first", "second"]).value
    assert report["explained", "x", ""] == pytest.approx(shares[0], rel=1e-6)


# ---------------------------------------------------------------- conventions


def test_models_pickle_clone_search_and_chain(two_sources):
    X = two_sources["x"]
    model = vn.JSNMF(4, 2, random_state=0).fit(two_sources)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X, source="x"), model.transform(X, source="x"))
    assert clone(model).get_params() == model.get_params()
    assert "JSNMF" in model._repr_html_()
    search = GridSearchCV(vn.NMF(max_iter=20, tol=0.1, random_state=0), {"n_components": [1, 3]}, cv=2).fit(X)
    assert search.best_params_["n_components"] == 3
    table = make_pipeline(MaxAbsScaler(), vn.NMF(3, tol=0.1)).set_output(transform="pandas").fit_transform(X)
    assert list(table.columns) == ["shared0", "shared1", "shared2"]


def test_tables_bring_names(two_sources):
    words = [f"word{j}" for j in range(40)]
    tables = {
        n: pd.DataFrame(X, columns=words, index=[f"{n}{i}" for i in range(len(X))]) for n, X in two_sources.items()
    }
    model = vn.JSNMF(3, 1, random_state=0, tol=0.1).fit(tables)
    assert list(model.feature_names_) == words
    assert model.item_ids_["y"][7] == "y7"


def test_history_is_equally_long_arrays(two_sources):
    model = vn.RJSNMF(3, 1, random_state=0).fit(two_sources)
    assert list(model.history_) == ["iteration", "seconds", "objective", "fit", "MutuallyOrthogonal", "violation"]
    assert {len(v) for v in model.history_.values()} == {model.n_iter_}
    h = model.history_
    np.testing.assert_allclose(h["objective"], h["fit"] + h["MutuallyOrthogonal"])


def test_several_starts_differ_and_the_best_is_kept(two_sources):
    ends = [vn.JSNMF(5, 2, random_state=s, max_iter=40, tol=0.01).fit(two_sources).objective_ for s in range(4)]
    assert len(set(ends)) == 4
    best = vn.JSNMF(5, 2, random_state=0, n_init=6, max_iter=40, tol=0.01).fit(two_sources)
    assert best.objective_ <= np.median(ends)


def test_the_same_bits_at_any_number_of_threads():
    data = draw(1, {"x": 700, "y": 500}, 300, sparse=True, dtype=np.float32, rank=8)
    found = [
        vn.RJSNMF(9, 4, orthogonality=1, random_state=0, n_threads=n, max_iter=15, tol=0.5)
        .fit(data)
        .components_["shared"]
        for n in (1, 2, 4)
    ]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_stop_reasons(two_sources):
    how = {"random_state": 0, "min_change": 0}
    with pytest.warns(vn.ConvergenceWarning, match=r"max_iter after 3 iterations: violation .* raise max_iter"):
        assert vn.JSNMF(4, 2, max_iter=3, **how).fit(two_sources).stop_reason_ == "max_iter"
    with pytest.warns(vn.ConvergenceWarning, match="time_limit"):
        assert vn.JSNMF(4, 2, time_limit=1e-9, **how).fit(two_sources).stop_reason_ == "time_limit"
    assert vn.JSNMF(4, 2, tol=0.5, **how).fit(two_sources).stop_reason_ == "converged"
    assert vn.JSNMF(4, 2, tol=0, min_change=0.1, random_state=0).fit(two_sources).stop_reason_ == "small_change"


@pytest.mark.parametrize("method", ["fit", "fit_transform"])
def test_a_warning_points_at_the_line_that_called_fit(method, two_sources):
    fit = getattr(vn.JSNMF(4, 2, max_iter=3, random_state=0), method)
    with pytest.warns(vn.ConvergenceWarning) as caught:
        fit(two_sources)
    assert {warning.filename for warning in caught} == {__file__}


def test_callbacks_log_and_stop(two_sources, tmp_path):
    log = tmp_path / "fit.jsonl"
    model = vn.JSNMF(4, 2, random_state=0).set_callbacks(
        vn.JsonLog(str(log)), vn.StopWhen(lambda step: step.iteration == 8), vn.Progress()
    )
    model.fit(two_sources)
    assert model.stop_reason_ == "callback"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["iteration"] for line in lines] == list(range(1, 9))
    assert lines[0]["estimator"] == "JSNMF"


def test_progress_goes_to_stderr_only(two_sources, capsys):
    vn.JSNMF(4, 2, random_state=0, tol=0.1).set_callbacks(vn.Progress(always=True)).fit(two_sources)
    out, err = capsys.readouterr()
    assert out == ""
    assert "JSNMF" in err
    vn.JSNMF(4, 2, random_state=0, tol=0.1).set_callbacks(vn.Progress()).fit(two_sources)
    assert capsys.readouterr() == ("", "")


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
def test_ctrl_c_keeps_the_best_factors():
    program = textwrap.dedent("""
        import numpy as np, warnings, vennmf as vn
        warnings.simplefilter("ignore")
        X = np.random.default_rng(0).random((300, 200))
        tell = vn.StopWhen(lambda step: print(step.iteration, flush=True))
        m = vn.NMF(20, max_iter=10**6, tol=0, min_change=0, random_state=0).set_callbacks(tell).fit(X)
        print(m.stop_reason_, m.objective_ <= m.history_["objective"].min(), m.transform(X).shape)
    """)
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline().strip() == "1"
    child.send_signal(signal.SIGINT)
    rest, _ = child.communicate(timeout=60)
    assert rest.splitlines()[-1] == "interrupted True (300, 20)"
    assert child.returncode == 0


@QUIET
def test_unused_components_are_reported():
    X = np.outer(np.arange(1.0, 9), np.arange(1.0, 6))
    with pytest.warns(vn.ConvergenceWarning, match=r"left components unused .* 3 of block 'shared'"):
        vn.NMF(3, penalties=[vn.L1(1.0)], random_state=0).fit(X)
