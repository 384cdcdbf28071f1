"""Tests that the wheel can be installed and run without a compiler."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import shallows as sh
from not_run import needs

ROOT = Path(__file__).parents[2]
WHEELS = sorted((ROOT / "dist").glob("shallows-*.whl"))

PROFILE = ROOT / "target" / "profile" / "merged.profdata"

pytestmark = pytest.mark.skipif(not WHEELS, reason=needs("a wheel", "make wheel"))


def test_the_wheel_is_for_every_python_from_3_11_and_old_systems() -> None:
    # PEP 599 and its successor PEP 600: manylinux2014 is glibc 2.17.
    (wheel,) = WHEELS
    assert re.fullmatch(r"shallows-[^-]+-cp311-abi3-manylinux2014_(\w+)\.manylinux_2_17_\1\.whl", wheel.name)


def test_the_wheel_holds_the_package_and_no_path_of_the_checkout() -> None:
    (wheel,) = WHEELS
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        engine = archive.read("shallows/_core.abi3.so")
    assert [name for name in names if name.endswith(".so")] == ["shallows/_core.abi3.so"]
    for name in [
        "py.typed",
        "_core.pyi",
        "scenarios/incast.toml",
        "shallows.mplstyle",
        "reports/static/echarts.js",
        "reports/static/echarts.txt",
    ]:
        assert f"shallows/{name}" in names
    experiments = {
        name.removeprefix("shallows/") for name in names if name.startswith("shallows/experiments/")
    }
    assert experiments == {
        str(path.relative_to(ROOT))
        for path in (ROOT / "experiments").rglob("*")
        if (path.suffix in {".toml", ".cdf", ".json"} and path.parent.name != "results")
        or path.name == "README.md"
        or (path.is_file() and path.relative_to(ROOT).parts[1] == "foreign")
    }
    assert len(names) == len(set(names))
    licences = {name.partition(".dist-info/licenses/")[2] for name in names if ".dist-info/licenses/" in name}
    assert licences == {"LICENSE", "licences/engine.txt", "python/shallows/reports/static/echarts.txt"}
    assert not [name for name in names if not re.match(r"shallows(-[^/]+\.dist-info)?/", name)]
    assert str(ROOT).encode() not in engine


def test_without_a_compiler_it_runs_the_demo(tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    # Nothing but the environment's own programs: no cargo, rustc or cc, wherever they are.
    variables = {
        "PATH": str(environment / "bin"),
        "HOME": str(tmp_path),
        "MPLCONFIGDIR": str(tmp_path / "mpl"),
    }
    assert not any(shutil.which(tool, path=variables["PATH"]) for tool in ("cargo", "rustc", "cc"))
    pip = ["pip", "--disable-pip-version-check", "--no-input", "-q", "install"]

    def run(*command: str) -> str:
        done = subprocess.run(
            [environment / "bin" / command[0], *command[1:]],
            cwd=tmp_path,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run(*pip, "--require-hashes", "-r", str(ROOT / "requirements.txt"))
    run(*pip, "--no-deps", "--no-index", str(WHEELS[0]))
    run("pip", "check")
    doctor = run("shallows", "doctor")
    assert str(environment) in doctor
    assert "self-test passed" in doctor
    assert "not a release build" not in doctor
    assert "report: " in run("shallows", "demo")
    assert list(tmp_path.glob("**/report.html"))
    assert run("shallows", "examples", "testbed/mixed").split() == ["mixed.toml", "mixed.cdf"]
    assert "mixed" in run("shallows", "plan", "mixed.toml", "--set", "workload.0.flows=20")
    assert "claims hold" in run("shallows", "reproduce", "bcc", "table1", "--quick")


def instructions(package: Path, scratch: Path) -> int:
    """Return how many instructions 20 ms more of a star take with the engine of this package."""
    program = (
        "import sys; from shallows import run;"
        "run(sys.argv[1], {'stop.at': sys.argv[2]}, out=sys.argv[3], threads=1)"
    )
    scenario = ROOT / "benches" / "scenarios" / "star.toml"

    def counted(stop: str) -> int:
        counts = scratch / f"counts-{stop}"
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={counts}"]
        python = [sys.executable, "-c", program, str(scenario), stop, str(scratch / f"run-{stop}")]
        environment = {**os.environ, "PYTHONPATH": str(package), "PYTHONHASHSEED": "0"}
        done = subprocess.run(
            [*valgrind, *python], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        found = re.search(r"^summary: (\d+)", counts.read_text(encoding="ascii"), re.MULTILINE)
        assert found, f"{counts} has no summary"
        return int(found[1])

    return counted("30ms") - counted("10ms")


@pytest.mark.skipif(
    not PROFILE.exists() or shutil.which("valgrind") is None,
    reason=needs("a wheel with a profile, and Valgrind", "rustup component add llvm-tools && make wheel"),
)
def test_its_engine_needs_fewer_instructions_because_of_its_profile(tmp_path: Path) -> None:
    # Without a profile, or with one that matches no function, the wheel needs as many as the checkout.
    with zipfile.ZipFile(WHEELS[0]) as archive:
        archive.extractall(tmp_path / "wheel")
    found = {}
    for name, package in {"wheel": tmp_path / "wheel", "checkout": Path(sh.__file__).parents[1]}.items():
        (tmp_path / name).mkdir(exist_ok=True)
        found[name] = instructions(package, tmp_path / name)
    assert found["wheel"] < 0.97 * found["checkout"]
