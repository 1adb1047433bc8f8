"""Every figure draws on the axes given, and says what it was asked to show."""

from functools import partial

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot

import vennmf as vn
from vennmf import plots
from vennmf.errors import ParameterError
from vennmf.evaluation import purity_ratios
from vennmf.sources.planted import planted

mpl.use("Agg")


@pytest.fixture(scope="module")
def model():
    data = planted({"all": 2, "a": 2, "b": 1}, n_items=40, n_features=30, noise=0.1, random_state=0)
    return vn.JSNMF({"a": 4, "b": 3}, 2, random_state=0).fit(data.sources)


@pytest.fixture
def ax():
    figure, ax = pyplot.subplots()
    yield ax
    pyplot.close(figure)


def hits(seed):
    return list(np.random.default_rng(seed).random((5, 60)) < 0.3)


LABELS = np.repeat(["sport", "politics", "health"], 10)
FIGURES = {
    "topic_words": lambda model: (plots.topic_words, (model,)),
    "energy": lambda model: (plots.energy, (model,)),
    "block_overlaps": lambda model: (plots.block_overlaps, (model,)),
    "convergence": lambda model: (plots.convergence, (model,)),
    "precision_recall": lambda model: (plots.precision_recall, ({"x": hits(0), "y": hits(1)},)),
    "precision_at_n": lambda model: (plots.precision_at_n, ({"x": hits(0)},)),
    "purity_ratio": lambda model: (plots.purity_ratio, (purity_ratios(LABELS, LABELS, np.arange(30) % 4),)),
    "confusion": lambda model: (plots.confusion, (LABELS, np.arange(30) // 8)),
    "basis_images": lambda model: (plots.basis_images, (np.eye(6), (2, 3))),
    "factor_views": lambda model: (plots.factor_views, ({"text": [1, 0, 1], "image": [1, 1, 0]},)),
    "item_map": lambda model: (partial(plots.item_map, method="pca"), (model,)),
    "rank_curves": lambda model: (plots.rank_curves, (suggestion(),)),
}


def suggestion():
    data = planted({"all": 1, "a": 1, "b": 1}, n_items=30, n_features=20, noise=0.1, random_state=0)
    return vn.suggest_ranks(data.sources, max_components=3, n_folds=2, papers_rules=False, n_threads=1)


def test_every_figure_is_tried():
    assert set(FIGURES) == set(plots.__all__)


@pytest.mark.parametrize("name", FIGURES)
def test_figures_draw_on_the_axes_given(name, model, ax):
    figure, args = FIGURES[name](model)
    assert figure(*args, ax=ax) is ax
    assert ax.has_data()
    ax.figure.canvas.draw()


@pytest.mark.parametrize("name", FIGURES)
def test_figures_make_their_own_axes_where_none_are_given(name, model):
    figure, args = FIGURES[name](model)
    ax = figure(*args)
    assert ax.get_figure() is not None
    pyplot.close(ax.figure)


def test_a_source_has_one_colour_in_all_figures_and_sharing_is_grey(model, ax):
    from vennmf.plots.canvas import COLOURS, SHARED, colour_of

    assert colour_of(["shared", "a", "b"]) == {"shared": SHARED, "a": COLOURS[0], "b": COLOURS[1]}
    plots.energy(model, ax=ax)
    faces = {mpl.colors.to_hex(bar.get_facecolor()).upper() for bar in ax.patches}
    assert faces == {SHARED, COLOURS[0], COLOURS[1]}


def test_energy_bars_are_the_shared_report(model, ax):
    plots.energy(model, ax=ax)
    report = model.shared_report()
    drawn = sorted(bar.get_width() for bar in ax.patches if bar.get_width() > 0)
    np.testing.assert_allclose(drawn, sorted(report[report["measure"] == "energy"]["value"]))


def test_confusion_puts_matching_clusters_on_the_diagonal(ax):
    plots.confusion(LABELS, np.repeat([2, 0, 1], 10), ax=ax)
    shares = ax.images[0].get_array()
    np.testing.assert_array_equal(np.diag(shares), 1)


def test_the_gap_ends_where_the_lowest_objective_is(model, ax):
    plots.convergence({"one": model, "same": model.history_}, gap=True, ax=ax)
    assert ax.get_yscale() == "log"
    assert min(ax.lines[0].get_ydata()) == pytest.approx(1e-7)


def test_pictures_of_the_wrong_size_are_refused():
    with pytest.raises(ParameterError, match="2 × 2 pixels"):
        plots.basis_images(np.eye(6), (2, 2))


def test_maps_of_private_parts_of_several_sources_are_refused(model):
    with pytest.raises(ParameterError, match="shared columns"):
        plots.item_map(model, space="private")
