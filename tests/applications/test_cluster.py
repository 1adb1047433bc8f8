"""Joint clusters: the planted groups in each space, one numbering across sources, and what is refused."""

import numpy as np
import pytest

from vennmf.applications.cluster import joint_cluster
from vennmf.errors import ParameterError, SourceError
from vennmf.evaluation import clustering_accuracy, purity_ratios


def groups(truth, source):
    return truth.encodings[source].argmax(axis=1)


def test_clusters_are_the_planted_groups(model, truth):
    found = joint_cluster(model, 5)
    for source in ("bbc", "cnn"):
        assert len(found[source]) == len(truth.encodings[source])
        assert clustering_accuracy(groups(truth, source), found[source]) > 0.6


def test_common_groups_are_purer_in_the_shared_space_and_private_ones_in_the_private(model, truth):
    labels = groups(truth, "bbc")
    shared = joint_cluster(model, 4, space="shared")["bbc"]
    private = joint_cluster(model, 3, space="private")["bbc"]
    table = purity_ratios(labels, shared, private)["purity_ratio"].fillna(np.inf)
    assert table[[0, 1, 2]].min() > table[[3, 4]].replace(np.inf, 0).max()


def test_one_numbering_for_all_sources(model, truth):
    found = joint_cluster(model, 4, space="shared", together=True)
    for part in range(3):
        mine = [np.bincount(found[s][groups(truth, s) == part]).argmax() for s in ("bbc", "cnn")]
        assert mine[0] == mine[1]


def test_tables_name_every_item_and_every_cluster(model):
    found = joint_cluster(model, {"bbc": 3, "cnn": 4})
    assert len(found.to_frame()) == 220
    summary = found.summary()
    assert summary.groupby("source")["items"].sum().to_dict() == {"bbc": 120, "cnn": 100}
    assert summary["words"].str.len().gt(0).all()
    assert "3" in repr(found)


def test_the_same_seed_gives_the_same_clusters(model):
    first, second = joint_cluster(model, 5, random_state=3), joint_cluster(model, 5, random_state=3)
    assert all(np.array_equal(first[source], second[source]) for source in first)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"n_clusters": 0}, ParameterError),
        ({"n_clusters": 2.5}, ParameterError),
        ({"n_clusters": {"bbc": 2}}, ParameterError),
        ({"n_clusters": {"bbc": 2, "cnn": 2, "itv": 2}}, ParameterError),
        ({"n_clusters": 2, "space": "common"}, ParameterError),
        ({"n_clusters": 2, "sources": ["itv"]}, SourceError),
        ({"n_clusters": 2, "together": True}, ParameterError),
    ],
)
def test_what_means_nothing_is_refused(model, arguments, error):
    with pytest.raises(error):
        joint_cluster(model, **arguments)
