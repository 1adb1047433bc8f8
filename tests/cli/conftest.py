"""Files of two small sources of planted words, and a model that the command itself fitted on them."""

import json

import pytest

from vennmf.cli.run import run
from vennmf.sources.planted import planted


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Two files of lines with id, tags, title and section."""
    folder = tmp_path_factory.mktemp("files")
    truth = planted({"all": 2, "bbc": 1, "cnn": 1}, {"bbc": 60, "cnn": 50}, 48, sparse=True, random_state=1)
    for source, items in truth.tags().items():
        strongest = truth.encodings[source].argmax(axis=1)
        with (folder / f"{source}.jsonl").open("w") as file:
            for n, tags in enumerate(items):
                words = [tag.replace(".", "").replace("/", "") for tag in tags] or ["nothing"]
                title = f"Story {n} of {source}"
                line = {"id": f"{source}{n}", "tags": words, "title": title, "section": f"part {strongest[n]}"}
                file.write(json.dumps(line) + "\n")
    return folder


@pytest.fixture(scope="session")
def model(files):
    """The path of a fitted model."""
    path = files / "news.venn"
    given = ["-s", f"bbc={files / 'bbc.jsonl'}", "-s", f"cnn={files / 'cnn.jsonl'}", "--tags", "tags", "--item", "id"]
    assert run(["fit", *given, "--n-components", "3", "--n-shared", "2", "--seed", "0", "-o", str(path)]) == 0
    return path


@pytest.fixture
def vennmf(capsys):
    """Run one command line: exit code, stdout, stderr."""

    def call(*arguments):
        capsys.readouterr()
        code = run([str(a) for a in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return call
