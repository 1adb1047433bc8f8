"""The command as a person runs it: another process, real signals, real pipes."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import vennmf as vn

COMMAND = [sys.executable, "-m", "vennmf.cli"]


def test_help_is_quick_and_loads_nothing_heavy():
    code = (
        "import sys; from vennmf.cli.run import run; run(['--help']);"
        "heavy = {'numpy', 'sklearn', 'pandas', 'numba', 'scipy', 'duckdb', 'matplotlib'} & set(sys.modules);"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Fit shared and private topics" in done.stdout


def test_a_pipe_gets_no_colour_and_whole_lines(model):
    done = subprocess.run([*COMMAND, "topics", model], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert "…" not in done.stdout


def test_a_reader_that_has_enough_ends_the_command_well(model):
    with subprocess.Popen(
        [*COMMAND, "topics", model, "--long", "--csv"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_device_under_stdout_exits_1_in_one_line(model):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*COMMAND, "topics", model], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.strip() == "error: No space left on device"


def test_parquet_comes_back(model, tmp_path):
    done = subprocess.run([*COMMAND, "topics", model, "--parquet"], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    (tmp_path / "topics.parquet").write_bytes(done.stdout)
    duckdb = pytest.importorskip("duckdb")
    assert duckdb.read_parquet(str(tmp_path / "topics.parquet")).df()["block"].tolist() == [
        "shared",
        "shared",
        "bbc",
        "cnn",
    ]


@pytest.mark.parametrize("module", ["vennmf.cli.run", "vennmf.cli.app", "vennmf.cli.ask", "pandas"])
def test_control_c_while_a_module_is_imported_shows_no_traceback(module, model):
    code = (
        "import sys\n"
        "class Impatient:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}:\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Impatient())\n"
        f"sys.argv = ['vennmf', 'topics', {str(model)!r}]\n"
        "from vennmf.cli import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stdout == ""
    assert done.stderr in ("", "error: interrupted; nothing was written\n")


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_signal_saves_the_best_model_and_exits_130(number, tmp_path):
    rng = np.random.default_rng(0)
    with (tmp_path / "a.csv").open("w") as file:
        file.write("id,tags\n")
        for n in range(20_000):
            file.write(f"{n},{' '.join(f'w{w}' for w in rng.integers(2000, size=12))}\n")
    given = ["-s", f"a={tmp_path}/a.csv", "--tags", "tags", "--split-tags", " ", "--item", "id", "--method", "NMF"]
    flags = ["--n-components", "40", "--max-iter", "100000", "--seed", "0", "-o", str(tmp_path / "m.venn")]
    recipe = tmp_path / "r.toml"
    recipe.write_text('[sources]\na = "a.csv"\n[model]\ntol = 0\nmin_change = 0\nsolver = "mu"\n')
    process = subprocess.Popen([*COMMAND, "fit", recipe, *given, *flags], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    while "common vocabulary" not in (line := process.stderr.readline()):
        assert line, "the fit ended before it began"
    time.sleep(8)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "interrupted" in err
    assert "Traceback" not in err
    assert vn.load(tmp_path / "m.venn").encodings_["a"].shape == (20_000, 40)
