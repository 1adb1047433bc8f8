"""Ranks: planted ones are found, searches can be resumed, X Yᵀ is never formed and behaves as if it were."""

import numpy as np
import pytest
import scipy.sparse as sp

import vennmf as vn
from vennmf.applications.ranks import held_out, rules
from vennmf.applications.ranks.choice import Curve, choose_shared, choose_total
from vennmf.errors import ParameterError, StorageError
from vennmf.matrices import ViewSet
from vennmf.model import sharing_pattern
from vennmf.solvers import kernels
from vennmf.sources.planted import planted


@pytest.fixture(autouse=True)
def _one_thread():
    """Small matrices: threads would wait for each other more than they work."""
    with kernels.threads(1):
        yield


def two_sources(**options):
    return planted({"all": 3, "a": 2, "b": 4}, n_items={"a": 120, "b": 150}, n_features=90, random_state=3, **options)


def test_planted_ranks_of_two_sparse_sources_are_found():
    found = vn.suggest_ranks(two_sources(noise=0.2, sparse=True).sources, max_components=12, papers_rules=False)
    assert found.n_components == {"a": 5, "b": 7}
    assert found.n_shared == 3
    assert found.n_private == {"a": 2, "b": 4}
    assert all(found.has_levelled.values())


def test_planted_ranks_of_three_dense_sources_are_found_within_one():
    data = planted({"all": 2, "a": 2, "b": 3, "c": 1}, n_items=100, n_features=80, noise=0.15, random_state=5)
    found = vn.suggest_ranks(data.sources, max_components=10, papers_rules=False)
    assert abs(found.n_shared - 2) <= 1
    assert all(abs(found.n_private[name] - size) <= 1 for name, size in {"a": 2, "b": 3, "c": 1}.items())


def test_sources_with_nothing_in_common_share_nothing():
    data = planted({"a": 3, "b": 3}, n_items=100, n_features=60, noise=0.1, sparse=True, random_state=0)
    found = vn.suggest_ranks(data.sources, max_components=8, papers_rules=False)
    assert found.n_shared == 0
    assert found.n_components == {"a": 3, "b": 3}


def test_one_source_gets_a_rank_and_shares_nothing():
    data = planted({"a": 4}, n_items=100, n_features=60, noise=0.1, sparse=True, random_state=0)
    found = vn.suggest_ranks(data.sources, max_components=9)
    assert (found.n_components, found.n_shared) == ({"a": 4}, 0)


def test_the_answer_fits_the_estimators_and_prints_its_reasons():
    found = vn.suggest_ranks(two_sources(noise=0.2, sparse=True).sources, max_components=9)
    model = vn.JSNMF(**found.parameters, max_iter=5, tol=0.0)
    assert model.n_shared == 3
    table = found.table()
    assert table.loc["held-out entries"].tolist() == [5, 7, 3]
    assert {"Δ under 1 %", "numerical rank", "Mardia"} < set(table.index)
    assert found.why in str(found)
    assert "3 of them are shared" in found._repr_html_()


def test_a_search_that_was_broken_off_goes_on_to_the_same_answer(tmp_path):
    sources = two_sources(noise=0.2).sources
    whole = vn.suggest_ranks(sources, max_components=5, papers_rules=False, n_folds=2)
    for stop_at in (("total/b", 2), ("shared", 0)):
        path = tmp_path / f"{stop_at[1]}.ranks"

        def stop(stage, rank, error, agreement, stop_at=stop_at):
            if (stage, rank) == stop_at:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            vn.suggest_ranks(sources, max_components=5, papers_rules=False, n_folds=2, state=path, progress=stop)
        seen: list = []
        resumed = vn.suggest_ranks(
            sources,
            max_components=5,
            papers_rules=False,
            n_folds=2,
            state=path,
            progress=lambda *step, seen=seen: seen.append(step),
        )
        assert resumed.curves.equals(whole.curves)
        assert seen[0][:2] == (stop_at[0], stop_at[1] + 1)


def test_a_state_of_other_data_is_refused(tmp_path):
    first, second = two_sources(noise=0.2).sources, two_sources(noise=0.3).sources
    path = tmp_path / "state"
    vn.suggest_ranks(first, max_components=2, papers_rules=False, n_folds=2, state=path)
    with pytest.raises(StorageError, match="other data or settings"):
        vn.suggest_ranks(second, max_components=2, papers_rules=False, n_folds=2, state=path)
    path.write_bytes(b"nothing")
    with pytest.raises(StorageError, match="no state of a search"):
        vn.suggest_ranks(first, max_components=2, papers_rules=False, n_folds=2, state=path)


@pytest.mark.parametrize("wrong", [{"max_components": 0}, {"n_folds": 1}, {"n_folds": 1000}, {"max_components": 2.5}])
def test_settings_that_mean_nothing_are_refused(wrong):
    with pytest.raises(ParameterError, match="found"):
        vn.suggest_ranks(two_sources().sources, **wrong)


def test_every_item_and_feature_is_held_out_once():
    views = ViewSet.of(two_sources(sparse=True).sources)
    folds = held_out.cut(views, 4, np.random.default_rng(0))
    assert np.sum([fold.held for fold in folds], axis=0).tolist() == [1] * 90
    assert sum(fold.target["a"].shape[0] for fold in folds) == 120
    assert all(fold.target["a"].shape[1] == fold.features["b"].shape[1] == fold.held.sum() for fold in folds)


@pytest.mark.parametrize("sparse", [False, True])
def test_noiseless_parts_predict_what_was_held_out(sparse):
    data = two_sources(sparse=sparse)
    views = ViewSet.of(data.sources)
    fold = held_out.cut(views, 4, np.random.default_rng(0))[0]
    blocks = sharing_pattern({"all": 3, "a": 2, "b": 4}, ("a", "b"))
    kept = np.hstack([data.components[block].T for block in data.blocks])
    factors = {"features": kept[~fold.held]}
    rng = np.random.default_rng(1)
    starts = {f"items:{n}": rng.random((fold.fitted[n].shape[0], 5 if n == "a" else 7)) for n in "ab"}
    fitted = held_out.fit(fold.fitted, blocks, {**starts, **factors}, rng, held_out.Options(max_iter=300, tol=1e-6))
    errors, basis = held_out.prediction(fold, blocks, fitted)
    assert max(errors.values()) < 1e-4
    assert basis.shape == (90, 9)


def test_merging_alike_components_of_separate_fits_leaves_the_fit_as_it_is():
    data = planted({"all": 1, "a": 1, "b": 2}, n_items=60, n_features=40, random_state=0)
    factors = {
        "features": np.hstack([data.parts("a").T, data.parts("b").T]),
        "items:a": data.encodings["a"].copy(),
        "items:b": data.encodings["b"].copy(),
    }
    merged = held_out.merged(factors, {"a": 2, "b": 3}, 0)
    B = merged["features"]
    assert B.shape == (40, 4)
    np.testing.assert_allclose(merged["items:a"] @ B[:, [0, 1]].T, data.sources["a"], atol=1e-12)
    np.testing.assert_allclose(merged["items:b"] @ B[:, [0, 2, 3]].T, data.sources["b"], atol=1e-12)


def test_agreement_is_one_for_the_same_parts_in_any_order_and_scale():
    B = np.random.default_rng(0).random((20, 4))
    assert held_out.agreement([B, 3 * B[:, [2, 0, 3, 1]]]) == pytest.approx(1)
    assert held_out.agreement([np.eye(8)[:, :3], np.eye(8)[:, 3:6]]) == 0


@pytest.mark.parametrize("sparse", [False, True])
def test_a_product_behaves_as_the_matrix_that_is_never_formed(sparse):
    data = two_sources(noise=0.2, sparse=sparse)
    product = rules.pairs(ViewSet.of(data.sources))[0]
    full = sp.csr_array(data.sources["a"]) @ sp.csr_array(data.sources["b"]).T
    full = full.toarray()
    assert product.squared_norm() == pytest.approx(np.sum(full**2))
    assert product.X.squared_norm(most=200) == pytest.approx(np.sum(full**2))
    np.testing.assert_allclose(product.X.T[:3], full.T[:3])
    values = rules.leading_singular_values(product.X, 8, np.random.default_rng(0))
    np.testing.assert_allclose(values, np.linalg.svd(full, compute_uv=False)[:8], rtol=1e-3)


def test_nmf_of_a_product_reaches_the_error_of_nmf_of_the_matrix():
    data = two_sources(noise=0.1)
    views = ViewSet.of(data.sources)
    path = rules.error_path(rules.pairs(views)[0], range(1, 9), seed=0)
    formed = ViewSet.of({"p": data.sources["a"] @ data.sources["b"].T})["p"]
    same = rules.error_path(formed, range(1, 9), seed=0)
    np.testing.assert_allclose(path.errors[:3], same.errors[:3], rtol=0.02)
    assert list(path.errors) == sorted(path.errors, reverse=True)


def test_the_orthogonality_path_trades_fit_for_penalty():
    found = vn.suggest_ranks(
        two_sources(noise=0.3, overlap=0.3).sources, max_components=7, papers_rules=False, n_folds=3, orthogonality=True
    ).orthogonality
    assert found["a"].tolist() == list(rules.ORTHOGONALITIES)
    assert found["fit"].iloc[-1] > found["fit"].iloc[0]
    assert np.all(found["penalty"] >= 0)


def curve(errors, spread=0.0):
    made = Curve()
    for rank, error in enumerate(errors, start=1):
        made.add(rank, [error - spread, error + spread], 1.0)
    return made


def test_a_curve_that_levels_off_gives_the_rank_where_it_does():
    choice = choose_total(curve([0.9, 0.5, 0.2, 0.199, 0.1985, 0.198, 0.198]))
    assert (choice.rank, choice.has_levelled) == (3, True)


def test_a_curve_that_keeps_falling_gives_its_bend_and_says_so():
    choice = choose_total(curve([0.98, 0.96, 0.94, 0.93, 0.92, 0.91, 0.90, 0.89]))
    assert (choice.rank, choice.has_levelled) == (3, False)


def test_sharing_stops_where_one_source_has_to_pay():
    unhurt = curve([0.20, 0.19, 0.18, 0.18])
    hurt = curve([0.20, 0.19, 0.18, 0.40])
    for one in (unhurt, hurt):
        one.ranks = [0, 1, 2, 3]
    assert choose_shared([unhurt, unhurt], [4, 4]).rank == 3
    assert choose_shared([unhurt, hurt], [4, 4]).rank == 2
