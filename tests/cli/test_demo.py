"""The demo tells its whole story without a network, and says that its articles are planted."""

import pytest

from vennmf.cli import demo
from vennmf.errors import SourceError


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(demo, "SEEDS", 1)


def test_the_demo_without_a_network(vennmf):
    code, out, err = vennmf("demo", "--offline", "--no-open")
    assert code == 0
    assert "planted" in err
    for step in (
        "1. One model",
        "2. What both report",
        "3. What only one",
        "4. A search",
        "5. Clusters",
        "6. Now yours",
    ):
        assert step in out
    both, alone = out.split("3. What only one")
    assert "election-" in both
    assert "railways-" not in both
    assert "railways-" in alone
    assert "\x1b" not in out


def test_the_demo_falls_back_when_the_articles_cannot_be_had(vennmf, monkeypatch):
    def unreachable():
        raise SourceError("no network here")

    monkeypatch.setattr(demo, "news", unreachable)
    code, out, err = vennmf("demo")
    assert code == 0
    assert "no network here" in err
    assert "Planted articles" in out
