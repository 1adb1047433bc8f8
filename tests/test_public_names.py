"""The public names exist, are spelt once, and importing the package stays light."""

import subprocess
import sys

import pytest

import vennmf as vn


@pytest.mark.parametrize("name", [n for n in vn.__all__ if n != "__version__"])
def test_every_public_name_is_there_and_says_what_it_is(name):
    assert getattr(vn, name).__doc__


def test_unknown_names_are_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Jsnmf'"):
        _ = vn.Jsnmf


def test_importing_loads_nothing_heavy():
    program = "import vennmf, sys; print([m for m in ('sklearn','numba','pandas','matplotlib','duckdb','typer') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
