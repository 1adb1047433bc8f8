"""An auxiliary source is taken where it helps to find the target's own hidden entries, and left where it does not."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

import vennmf as vn
from vennmf.errors import ParameterError, SourceError
from vennmf.evaluation import Sharing, choose_sharing
from vennmf.evaluation.sharing import ALONE
from vennmf.sources.planted import planted

pytestmark = pytest.mark.filterwarnings("ignore::vennmf.errors.ConvergenceWarning")
FEW = {"max_iter": 40, "n_threads": 1}


def related(seed=0):
    """Sixty noisy items of the target, and six hundred clean ones of a source with the same six parts."""
    data = planted({"all": 6}, {"few": 60, "many": 600}, 90, density=0.2, sparse=True, noise=0.3, random_state=seed)
    return {name: sp.csr_array(X) for name, X in data.sources.items()}


def unrelated(seed=0):
    """The same target, and an auxiliary whose words go together at random."""
    sources = related(seed)
    rng = np.random.default_rng(seed)
    return {"few": sources["few"], "noise": sp.csr_array((rng.random((600, 90)) < 0.1).astype(np.float64))}


@cache
def taken():
    return choose_sharing(related(), "few", 6, **FEW)


@cache
def left():
    return choose_sharing(unrelated(), "few", 6, **FEW)


def test_a_source_with_the_same_parts_is_taken():
    choice = taken()
    assert not choice.alone
    assert choice.table.at[str(choice.sharing), "gain"] == choice.table["gain"].max() > 0
    assert "better than the target alone" in choice.why


def test_a_source_of_noise_is_left():
    choice = left()
    assert choice.alone
    assert choice.sharing == ALONE
    assert "stays alone" in choice.why


@pytest.mark.slow
def test_sources_are_told_from_noise_nine_times_in_ten():
    told = [choose_sharing(unrelated(seed), "few", 6, **FEW).alone for seed in range(12)]
    taken = [not choose_sharing(related(seed), "few", 6, **FEW).alone for seed in range(12)]
    assert sum(told) >= 11
    assert sum(taken) >= 11


def test_the_chosen_model_is_of_all_sources_or_of_the_target_alone():
    model = taken().fit(related(), random_state=0, **FEW)
    assert isinstance(model, vn.JSNMF)
    assert model.sources_ == ("few", "many")
    assert model.get_params()["n_shared"] == taken().sharing.n_shared
    alone = left().fit(unrelated(), random_state=0, **FEW)
    assert alone.sources_ == ("few",)
    assert alone.encodings_["few"].shape == (60, 6)


def test_a_choice_keeps_the_vocabulary_so_that_its_model_can_be_searched():
    sources = vn.load_sources(
        {
            "few": [["sea", "beach"], ["sea", "sand"], ["city", "night"], ["city", "street"]] * 5,
            "noise": [["x", "sea"]] * 9,
        }
    )
    model = choose_sharing(sources, "few", 2, candidates=[Sharing(1)], **FEW).fit(sources, random_state=0)
    assert len(vn.Retriever(model)("beach", "few", top=3)) == 3


def test_the_weight_of_an_auxiliary_is_a_share_of_equal_say():
    sources = related()
    choice = choose_sharing(sources, "few", 6, candidates=[Sharing(6, 0.5)], **FEW)
    assert choice.parameters["weights"]["many"] == pytest.approx(0.5 / sp.linalg.norm(sources["many"]) ** 2)
    assert choice.parameters["n_shared"] == 6


def test_the_table_has_every_candidate_beside_the_target_alone():
    table = choose_sharing(related(), "few", 6, candidates=[Sharing(2), Sharing(6)], **FEW).table
    assert table.index.tolist() == ["target alone", "2 shared, weight 1", "6 shared, weight 1"]
    assert table.at["target alone", "gain"] == 0


def test_the_same_seed_gives_the_same_choice():
    again = choose_sharing(related(), "few", 6, **FEW)
    assert again.table.equals(taken().table)
    assert again.sharing == taken().sharing


@pytest.mark.parametrize(
    ("sources", "target", "error", "says"),
    [
        ({"a": sp.eye_array(9, format="csr")}, "a", SourceError, "only one"),
        ({"a": sp.eye_array(9, format="csr"), "b": sp.eye_array(9, format="csr")}, "c", SourceError, "'a', 'b'"),
        ({"a": np.ones((9, 9)), "b": np.ones((9, 9))}, "a", ParameterError, "dense"),
        ({"a": sp.eye_array(9, format="csr"), "b": sp.eye_array(9, format="csr")}, "a", SourceError, "too small"),
    ],
)
def test_what_cannot_be_judged_is_refused(sources, target, error, says):
    with pytest.raises(error, match=says):
        choose_sharing(sources, target, 2)


@pytest.mark.parametrize("sharing", [Sharing(7), Sharing(3, 0.0)])
def test_a_sharing_beyond_the_target_is_refused(sharing):
    with pytest.raises(ParameterError, match="at most the target's 6"):
        choose_sharing(related(), "few", 6, candidates=[sharing], **FEW)
