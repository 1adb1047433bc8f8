"""Saved models: the same numbers back, all or nothing on disk, nothing trusted that does not match its checksum."""

import numpy as np
import pandas as pd
import pytest

import vennmf as vn
from vennmf.estimators import storage


@pytest.fixture
def model(two_sources):
    sources = vn.ViewSet.of(two_sources)
    sources.metadata["x"] = pd.DataFrame({"title": [f"title {i}" for i in range(60)], "year": range(60)})
    return vn.RJSNMF({"x": 4, "y": 3}, 2, orthogonality=5, random_state=0, tol=0.01).fit(sources)


def test_a_loaded_model_is_the_saved_one(model, two_sources, tmp_path):
    model.save(tmp_path / "news.venn")
    again = vn.load(tmp_path / "news.venn")
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(
        again.transform(two_sources["x"], source="x"), model.transform(two_sources["x"], source="x")
    )
    pd.testing.assert_frame_equal(again.shared_report(), model.shared_report())
    pd.testing.assert_frame_equal(again.metadata_["x"], model.metadata_["x"])
    assert str(again.model_) == str(model.model_)
    for name, values in model.history_.items():
        np.testing.assert_array_equal(again.history_[name], values)
    assert vars(again).keys() == vars(model).keys()
    assert vn.RJSNMF.load(tmp_path / "news.venn").n_iter_ == model.n_iter_
    with pytest.raises(vn.StorageError, match="holds a RJSNMF, not a NMF"):
        vn.NMF.load(tmp_path / "news.venn")


def test_every_byte_is_guarded(model, tmp_path):
    path = tmp_path / "news.venn"
    model.save(path)
    good = path.read_bytes()
    rng = np.random.default_rng(0)
    for at in [*rng.integers(8, len(good), 60), len(good) - 1]:
        path.write_bytes(good[:at] + bytes([good[at] ^ 0x41]) + good[at + 1 :])
        with pytest.raises(vn.StorageError):
            vn.load(path)
    for size in (0, 5, 100, len(good) // 2, len(good) - 1):
        path.write_bytes(good[:size])
        with pytest.raises(vn.StorageError):
            vn.load(path)


def test_foreign_files_are_refused(tmp_path):
    from safetensors.numpy import save_file

    with pytest.raises(vn.StorageError, match="there is no model at"):
        vn.load(tmp_path / "missing.venn")
    save_file({"a": np.ones(3)}, tmp_path / "other.venn")
    with pytest.raises(vn.StorageError, match="without a vennmf manifest"):
        vn.load(tmp_path / "other.venn")


def test_a_file_of_another_layout_is_refused_in_one_line(model, tmp_path, monkeypatch):
    written = storage._written
    monkeypatch.setattr(
        storage, "_written", lambda v, arrays: {"": "array"} if isinstance(v, np.ndarray) else written(v, arrays)
    )
    model.save(tmp_path / "old.venn")
    with pytest.raises(vn.StorageError, match="this version cannot read"):
        vn.load(tmp_path / "old.venn")


def test_a_failed_write_leaves_the_old_file(model, tmp_path, monkeypatch):
    path = tmp_path / "news.venn"
    model.save(path)
    before = path.read_bytes()

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        model.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["news.venn"]


def test_a_folder_that_does_not_exist_is_one_line(model, tmp_path):
    with pytest.raises(vn.StorageError, match=r"cannot write .*No such file"):
        model.save(tmp_path / "nowhere" / "news.venn")


def test_an_unfitted_model_is_not_saved(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        vn.JSNMF().save(tmp_path / "a.venn")
