"""Bad input ends in one line on stderr, exit code 2, and nothing written."""

import pytest

from vennmf.cli import run as runner
from vennmf.cli.run import run

LINE = '{"id": "a", "tags": ["x", "y"]}\n'

# what the file holds, flags, and a word that the message must have
INPUTS = {
    "empty file": (b"", [], "empty"),
    "lists that hold one another": (b'{"tags": ' + b"[" * 5000 + b"]" * 5000 + b"}", ["--tags", "tags"], "line 1"),
    "values that are no objects": (b"1\n2\n", ["--tags", "tags"], "no objects"),
    "nothing to split at": (LINE.encode(), ["--tags", "tags", "--split-tags", ""], "split_tags"),
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
        (["fit", "-s", "a=x.csv", "--method", "rjsnmf", "-o", "m"], "did you mean 'RJSNMF'"),
        (["fit", "-s", "a=x.csv", "--method", "MCL", "-o", "m"], "from Python"),
        (["fit", "-s", "a=x.csv", "--n-components", "0", "-o", "m"], "n_components"),
        (["fit", "-s", "a=x.csv", "--n-components", "b=3", "-o", "m"], "'b'"),
        (["fit", "-s", "a=x.csv", "--n-components", "3", "--n-shared", "5", "-o", "m"], "n_shared=5"),
        (["fit", "-s", "a=x.csv", "--n-components", "3", "--n-shared", "-1", "-o", "m"], "n_shared"),
        (["fit", "-s", "a=x.csv", "--orthogonality", "nan", "-o", "m"], "orthogonality"),
        (["fit", "-s", "a=x.csv", "--max-iter", "0", "-o", "m"], "max_iter"),
        (["fit", "-s", "a=x.csv", "--time-limit", "0", "-o", "m"], "time_limit"),
        (["fit", "-s", "a=x.csv", "--seed", "-1", "-o", "m"], "--seed"),
        (["fit", "--init"], "--source"),
        (["fit", "--init", "-s", "a=nowhere.csv"], "nowhere.csv"),
        (["fit", ".", "-o", "m"], "folder"),
        (["cluster", "nowhere.venn", "--seed", "-1"], "--seed"),
        (["datasets", "--fetch"], "name it"),
        (["datasets", "--to", "x"], "name it"),
        (["cluster", "nowhere.venn", "--common"], "--labels"),
        (["ranks", "-s", "a=x.csv", "--state", "no/state"], "no folder"),
        (["ranks", "-s", "a=x.csv", "--state", "."], "is a folder"),
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
        (["search", "x", "--in", "cnn"], "--like"),
        (["search", "all0w1", "--source", "cnn", "--via", "bbc", "--part", "private"], "both have"),
        (["cluster", "-k", "0"], "n_clusters"),
        (["cluster", "-k", "many"], "-k 'many'"),
        (["cluster", "--space", "mine"], "space must be"),
        (["cluster", "--items", "--labels", "section"], "choose"),
        (["cluster", "--labels", "colour"], "section"),
        (["topics", "--block", "itv"], "shared"),
        (["topics", "--long", "--items"], "choose"),
        (["topics", "--by-item", "--items"], "choose"),
        (["tag", "nowhere.jsonl"], "--source"),
        (["tag", "nowhere.jsonl", "--source", "bbc"], "nowhere.jsonl"),
        (["tag", "nowhere.jsonl", "--source", "bbc", "--item", "id"], "--item"),
        (["compare", "nowhere.venn"], "nowhere.venn"),
        (["report", "-o", "page.pdf"], ".html or .md"),
        (["report", "-o", "no/page.html"], "no folder"),
        (["report", "-k", "many", "-o", "nowhere.html"], "-k"),
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
        ('[sources]\na = "a.csv"\n[model]\nn_components = { a = "3" }\n', "whole number"),
        ('[sources]\na = "a.csv"\n[model]\nsolver = "warp"\n', "'solver'"),
        ('method = "VennNMF"\n[sources]\na = "a.csv"\n[model]\nblocks = "all"\n', "table of sizes"),
        ('[sources]\na = "a.csv"\n[read]\ntext = 3\n', "'text'"),
        ('[sources]\na = "a.csv"\n[read]\ntext = ["title", 3]\n', "text only"),
        ('[sources]\na = "a.csv"\n[read]\nmin_count = "3"\n', "'min_count'"),
        ('[sources]\na = "a.csv"\n[read]\nmin_count = { a = "3" }\n', "whole number"),
        ('[sources]\na = "a.csv"\n[read]\nmax_share = 2\n', "'max_share'"),
        ('[sources]\na = "a.csv"\n[read]\nngram = ["one", "two"]\n', "ngram"),
        ('[sources]\na = "a.csv"\n[read]\nstop_words = 5\n', "'stop_words'"),
        ('[sources]\na = "a.csv"\n[read]\nlowercase = "no"\n', "'lowercase'"),
        ('[sources]\na = "a.csv"\n[read]\ndrop_repeated = 1\n', "'drop_repeated'"),
        ('[sources]\na = "a.csv"\n[read]\ndtype = "float99"\n', "float32 or float64"),
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
        ("q.csv", b"", "empty"),
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


def test_every_option_misspelt_is_answered_with_its_right_name(vennmf):
    from typer.main import get_command

    from vennmf.cli.app import app

    asked = 0
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        for option in (o for parameter in command.params for o in parameter.opts if o.startswith("--")):
            code, out, err = vennmf(name, f"{option[:-2]}{option[-1]}{option[-2]}x", "1")
            assert (code, out, len(err.strip().splitlines())) == (2, "", 1), (name, option, err)
            assert option in err
            asked += 1
    assert asked > 80


def test_a_first_look_says_what_is_wrong_with_a_file_and_writes_nothing(tmp_path, vennmf):
    (tmp_path / "header.csv").write_text("id,text\n")
    (tmp_path / "empty.csv").write_text("")
    for name, word in (("header.csv", "no rows"), ("empty.csv", "empty"), ("heeder.csv", "did you mean 'header.csv'")):
        code, out, err = vennmf("fit", tmp_path / "r.toml", "--init", "-s", f"a={tmp_path / name}")
        assert (code, out) == (2, "")
        assert word in err
    assert not (tmp_path / "r.toml").exists()


def test_a_mistyped_file_of_new_items_is_no_text_to_encode(tmp_path, vennmf):
    (tmp_path / "a.csv").write_text("text\nsome words\nmore words here\n")
    given = ["-s", f"a={tmp_path}/a.csv", "--text", "text", "--method", "NMF", "--n-components", 1]
    assert vennmf("fit", *given, "-o", tmp_path / "m.venn")[0] == 0
    code, out, err = vennmf("encode", tmp_path / "m.venn", tmp_path / "aa.csv", "--source", "a")
    assert (code, out) == (2, "")
    assert "did you mean 'a.csv'" in err


@pytest.mark.parametrize(
    ("name", "content", "flags", "word"),
    [
        ("f.csv", b"id,a\nx,1\n", [], "--item"),
        ("f.csv", b"id,a\nx,1\n", ["--item", "key"], "no column 'key'"),
        ("f.csv", b"a\n1\n", ["--source", "bbc"], "leave --source out"),
        ("f.csv", b"a\n1\n", [], "feature"),
        ("f.npy", b"NUMPY", [], "cannot be read"),
        ("f.npz", b"PK", [], "cannot be read"),
        ("f.npy", b"", [], "cannot be read"),
    ],
)
def test_bad_features_are_one_line(name, content, flags, word, tmp_path, vennmf):
    import numpy as np

    import vennmf as vn

    rng = np.random.default_rng(0)
    tagger = vn.PJMF(n_components=2, n_neighbors=2, random_state=0, max_iter=2, tol=1)
    tagger.fit(rng.standard_normal((12, 3)), [["a"], ["b"]] * 6).save(tmp_path / "tagger.venn")
    (tmp_path / name).write_bytes(content)
    code, out, err = vennmf("tag", tmp_path / "tagger.venn", tmp_path / name, *flags)
    assert (code, out, len(err.strip().splitlines())) == (2, "", 1), err
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
    code, _, err = vennmf("fit", tmp_path / "r.toml", "--init", *given[:2])
    assert code == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_said_and_left_alone(files, tmp_path, vennmf, monkeypatch):
    def refused(**options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", refused)
    given = ["-s", f"bbc={files}/bbc.jsonl", "--tags", "tags", "--n-components", 2, "--method", "NMF"]
    code, _, err = vennmf("fit", *given, "-o", tmp_path / "m.venn")
    assert code == 1
    assert err.strip().splitlines()[-1].startswith("error: cannot write")
    assert list(tmp_path.iterdir()) == []
