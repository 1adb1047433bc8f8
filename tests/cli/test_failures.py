"""Bad input ends in one line on stderr, exit code 2, and nothing written."""

import pytest

from vennmf.cli import run as runner
from vennmf.cli.run import run

LINE = '{"id": "a", "tags": ["x", "y"]}\n'

# what the file holds, flags, and a word that the message must have
INPUTS = {
    "empty file": (b"", [], "empty"),
    "wrong column": (LINE.encode(), ["--tags", "tag"], "did you mean 'tags'"),
    "no column named": (LINE.encode(), ["--item", "id"], "tags"),
    "broken json": (LINE.encode() + b'{"id": "b", "tags": [\n', ["--tags", "tags"], "a.jsonl"),
    "duplicated ids": (LINE.encode() * 2, ["--tags", "tags", "--item", "id"], "twice"),
    "no words left": (LINE.encode(), ["--tags", "tags", "--min-count", "9"], "min_count"),
}


@pytest.mark.parametrize("name", INPUTS)
def test_a_bad_file_is_one_line_and_nothing_is_written(name, tmp_path, vennmf):
    content, flags, word = INPUTS[name]
    (tmp_path / "a.jsonl").write_bytes(content)
    output = tmp_path / "m.venn"
    code, out, err = vennmf("fit", "-s", f"a={tmp_path}/a.jsonl", *flags, "--n-components", 1, "-o", output)
    assert code == 2
    assert out == ""
    last = err.strip().splitlines()[-1]
    assert last.startswith("error: ")
    assert word in last
    assert not output.exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["fti"], "fti"),
        (["fit"], "no sources"),
        (["fit", "-s", "bbc"], "NAME=VALUE"),
        (["fit", "-s", "a=x.csv", "-s", "a=y.csv", "-o", "m"], "twice"),
        (["fit", "-s", "a=nowhere.csv", "--tags", "t", "-o", "m.venn"], "nowhere.csv"),
        (["fit", "-s", "a=nowhere.csv", "--tags", "t"], "-o"),
        (["fit", "nowhere.toml", "-o", "m.venn"], "nowhere.toml"),
        (["fit", "-s", "a=x.csv", "-o", "no/such/folder/m.venn"], "no/such/folder"),
        (["fit", "-s", "a=x.csv", "--n-components", "many", "-o", "m"], "many"),
        (["fit", "-s", "a=x.csv", "--method", "RNMF", "-o", "m"], "did you mean 'NMF'"),
        (["fit", "--init"], "--source"),
        (["topics", "nowhere.venn"], "nowhere.venn"),
        (["topics"], "MODEL"),
        (["search", "nowhere.venn", "x", "--top", "0"], "top"),
        (["datasets", "orl_face"], "orl_faces"),
        (["topics", "nowhere.venn", "--json", "--csv"], "one of"),
    ],
)
def test_a_bad_command_line_is_one_line(arguments, word, tmp_path, vennmf, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = vennmf(*arguments)
    assert code == 2
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    assert word in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["search", "x", "--source", "itv"], "bbc"),
        (["search"], "--like"),
        (["search", "x", "--like", "bbc0"], "one of the two"),
        (["search", "--like", "bbc0"], "--source"),
        (["search", "--like", "bbc000", "--source", "bbc"], "bbc0"),
        (["search", "x", "--exact", "0.5"], "--data"),
        (["search", "x", "--part", "mine"], "shared"),
        (["cluster", "-k", "0"], "n_clusters"),
        (["cluster", "--labels", "colour"], "section"),
        (["topics", "--block", "itv"], "shared"),
        (["topics", "--long", "--items"], "choose"),
        (["encode", "nowhere.jsonl", "--source", "bbc"], "nowhere"),
        (["encode", "nowhere.jsonl", "--source", "bbc", "--append"], "-o"),
        (["evaluate", "--qrels", "nowhere.csv", "--source", "bbc"], "nowhere.csv"),
    ],
)
def test_a_bad_question_to_a_model_is_one_line(model, arguments, word, vennmf):
    code, out, err = vennmf(arguments[0], model, *arguments[1:])
    assert code == 2
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    assert word in err


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("method = ", "TOML"),
        ("[sources]\n", "no sources"),
        ("[sources]\na = 3\n", "path of a file"),
        ('[sources]\na = "a.csv"\n[modle]\n', "did you mean 'model'"),
        ('[sources]\na = "a.csv"\n[read]\nmincount = 3\n', "did you mean 'min_count'"),
        ('[sources]\na = "a.csv"\n[model]\nn_component = 3\n', "did you mean 'n_components'"),
    ],
)
def test_a_bad_recipe_is_one_line(text, word, tmp_path, vennmf):
    recipe = tmp_path / "r.toml"
    recipe.write_text(text)
    code, _, err = vennmf("fit", recipe, "-o", tmp_path / "m.venn")
    assert code == 2
    assert len(err.strip().splitlines()) == 1
    assert word in err


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("q.csv", b"query,item\rone,bbc1\n", "q.csv"),
        ("q.csv", b"question,item\none,bbc1\n", "'query'"),
        ("q.csv", b"query,item,relevance\none,bbc1,high\n", "row 1"),
        ("q.csv", b"query,item\none,nobody\n", "unknown"),
        ("q.jsonl", b"{", "q.jsonl"),
        ("q.parquet", b"PAR1", "q.parquet"),
        ("q.txt", b"one bbc1", ".csv"),
    ],
)
def test_bad_judgements_are_one_line(model, name, content, word, tmp_path, vennmf):
    (tmp_path / name).write_bytes(content)
    code, out, err = vennmf("evaluate", model, "--qrels", tmp_path / name, "--source", "bbc")
    assert code == 2
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    assert word in err


def test_nothing_is_overwritten_without_force(model, vennmf):
    before = model.read_bytes()
    code, _, err = vennmf("fit", "-s", "a=x.csv", "-o", model)
    assert code == 2
    assert "--force" in err
    assert model.read_bytes() == before


def test_a_damaged_model_is_refused(model, tmp_path, vennmf):
    content = bytearray(model.read_bytes())
    content[-9] ^= 1
    (tmp_path / "damaged.venn").write_bytes(content)
    code, _, err = vennmf("topics", tmp_path / "damaged.venn")
    assert code == 2
    assert "damaged" in err


def test_what_nobody_foresaw_is_one_line_exit_1_and_a_traceback_with_debug(model, vennmf, monkeypatch):
    def broken(*arguments):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("vennmf.cli.ask.topics", broken)
    code, _, err = vennmf("topics", model)
    assert code == 1
    assert len(err.strip().splitlines()) == 1
    assert "--debug" in err
    with pytest.raises(ZeroDivisionError):
        run(["topics", str(model), "--debug"])


def test_an_interrupt_exits_130(model, vennmf, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("vennmf.cli.ask.topics", interrupted)
    code, _, err = vennmf("topics", model)
    assert code == runner.INTERRUPTED
    assert "interrupted" in err


def test_a_full_disk_exits_1(model, files, tmp_path, vennmf, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    given = ["-s", f"bbc={files}/bbc.jsonl", "--tags", "tags", "--n-components", 2, "--method", "NMF"]
    code, _, err = vennmf("fit", *given, "-o", tmp_path / "m.venn")
    assert code == 1
    assert "No space left" in err
    assert list(tmp_path.iterdir()) == []
