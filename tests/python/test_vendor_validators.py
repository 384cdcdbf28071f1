"""Tests that other programs accept written configurations: pyavd for EOS and AVD, the kernel for Linux."""

import importlib.util
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml

from not_run import needs
from shallows.advisor.candidates import candidates
from shallows.advisor.configuration import Allotment, Scheduler, Threshold
from shallows.advisor.configured import configured
from shallows.advisor.explain import explain
from shallows.advisor.fabric import Fabric
from shallows.advisor.readers import read as read_files
from shallows.advisor.readers import reader
from shallows.advisor.resolved import Hints, resolve
from shallows.advisor.units import converted
from shallows.advisor.writers import write
from sonic_files import leaf
from sonic_yang import Models
from vendors import SAMPLES, SWITCHES, applied, read, sample

EXAMPLES = Path(__file__).parents[2] / "experiments" / "advisor"

RENDERED = {"qos", "buffer", "buffers"}
"""First words in the names of the files that SONiC's own tests render."""

needs_pyavd = pytest.mark.skipif(
    importlib.util.find_spec("pyavd") is None,
    reason=needs("pyavd", "make avd"),
)


@needs_pyavd
@pytest.mark.parametrize("source", ["eos", "sonic", "nvue", "nxos"])
def test_avd_accepts_what_is_written_and_renders_what_it_says(source: str) -> None:
    import pyavd

    switch = read(source, sample(source))
    document = yaml.safe_load(write("avd", None, switch).change)
    checked = pyavd.validate_structured_config(document)
    assert [(each.path, each.message) for each in checked.validation_result.violations] == []
    rendered = pyavd.get_device_config(checked.validated_data)
    # What AVD makes of our YAML is what we write for EOS, and read again.
    assert read("eos", rendered) == read("eos", write("eos", None, switch).change)


@needs_pyavd
def test_avd_refuses_a_key_that_is_not_its_own() -> None:
    import pyavd

    document = yaml.safe_load((SWITCHES / "avd.yml").read_text())
    document["qos_profiles"][0]["uc_tx_queues"][0]["random_detect"]["ecn"]["threshold"]["units"] = "miles"
    assert pyavd.validate_structured_config(document).validation_result.violations


@pytest.fixture(scope="module")
def buildimage() -> Path:
    """The folder of a copy of sonic-buildimage."""
    folder = os.environ.get("SHALLOWS_SONIC_BUILDIMAGE")
    if folder is None:
        pytest.skip(needs("a copy of sonic-buildimage", "see evidence/advisor.md"))
    return Path(folder)


@pytest.fixture(scope="module")
def models(buildimage: Path, tmp_path_factory: pytest.TempPathFactory) -> Models:
    """SONiC's own YANG models."""
    if importlib.util.find_spec("yangson") is None:
        pytest.skip(needs("yangson", "see evidence/advisor.md"))
    return Models(buildimage / "src" / "sonic-yang-models", tmp_path_factory.mktemp("yang"))


def test_sonics_own_samples_are_read_with_nearly_all_that_they_say(buildimage: Path) -> None:
    folder = buildimage / "src" / "sonic-config-engine" / "tests" / "sample_output" / "py3"
    files = [path for path in sorted(folder.glob("*.json")) if path.name.split("-")[0] in RENDERED]
    assert len(files) >= 59
    found = [explain(resolve(read_files(path))).resolved.switch for path in files]
    understood, listed = sum(each.understood for each in found), sum(len(each.unread) for each in found)
    assert understood / (understood + listed) > 0.98


def with_lanes(database: dict[str, Any]) -> dict[str, Any]:
    """Add the fields that the model of ports requires, which our configurations of queues lack."""
    ports = database.setdefault("PORT", {})
    bound = {
        port
        for table in ("QUEUE", "BUFFER_QUEUE")
        for key in database.get(table, {})
        for port in key.split("|")[0].split(",")
    }
    for number, port in enumerate(sorted(bound | ports.keys())):
        ports[port] = {"lanes": f"{number}", "speed": "100000"} | ports.get(port, {})
    return database


@pytest.mark.parametrize("hints", [Hints(), Hints(rate=10**11, pool=10**7)], ids=["alone", "with-hints"])
@pytest.mark.parametrize("source", SAMPLES)
def test_sonics_own_models_accept_what_is_written_or_we_have_said_what_they_miss(
    models: Models, source: str, hints: Hints
) -> None:
    text = write("sonic", None, converted(read(source, sample(source)), "sonic", hints).switch)
    refused = models.refuse(with_lanes(json.loads(text.change)))
    said = [each for each in text.inexpressible if ".yang" in each]
    assert (refused is None) == (said == []), (refused, said)
    assert source != "sonic" or refused is None


def test_sonics_own_models_accept_a_file_before_a_change_after_it_and_rolled_back(models: Models) -> None:
    there = with_lanes(json.loads(sample("sonic")))
    before = read("sonic", json.dumps(there))
    queues = before.profiles[0].queues
    curve = replace(queues[0], scheduler=Scheduler("dwrr", 7, shape=8 * 10**9))
    after = replace(
        before, profiles=(replace(before.profiles[0], queues=(curve, *queues[1:])), *before.profiles[1:])
    )
    text = write("sonic", before, after)
    changed = json.loads(applied("sonic", json.dumps(there), text.change))
    assert changed != there
    assert models.refuse(changed) is None
    shaped = read("sonic", json.dumps(changed)).profiles[0].queues[0].scheduler
    assert shaped is not None
    assert (shaped.shape, shaped.guaranteed) == (8 * 10**9, None)
    assert json.loads(applied("sonic", json.dumps(changed), text.rollback)) == there


@pytest.mark.parametrize("fabric", ["leaf-spine-25g", "tomahawk-bcc", "eight-classes", "legacy-10g"])
def test_sonics_own_models_accept_what_is_advised_or_we_have_said_what_they_miss(
    models: Models, fabric: str
) -> None:
    wanted = Fabric.load(EXAMPLES / f"{fabric}.toml")
    there = leaf()
    before = reader("sonic").read(json.dumps(there), "config_db.json")
    for candidate in candidates(wanted):
        new = configured("sonic", None, wanted, candidate)
        refused = models.refuse(with_lanes(json.loads(new.change)))
        assert (refused is None) == (not any(".yang" in each for each in new.left_out)), refused
        made = configured("sonic", before, wanted, candidate)
        changed = json.loads(applied("sonic", json.dumps(there), made.change))
        assert json.loads(applied("sonic", json.dumps(changed), made.rollback)) == there
        changed.pop("DEVICE_METADATA")
        assert models.refuse(with_lanes(changed)) is None


def test_sonics_own_models_refuse_what_is_wrong(models: Models) -> None:
    text = write("sonic", None, read("sonic", sample("sonic"))).change
    for field, value, why in (
        ("green_min_threshold", "900000000", "min"),
        ("green_drop_probability", "101", "not in range"),
        ("green_ect_min_threshold", "1000", "no field"),
    ):
        database = with_lanes(json.loads(text))
        next(iter(database["WRED_PROFILE"].values()))[field] = value
        refused = models.refuse(database)
        assert refused is not None, field
        assert why in refused


@pytest.fixture
def namespace() -> Iterator[str]:
    """The name of a network namespace, on a kernel with RED and ETS."""
    if os.geteuid() != 0 or not (shutil.which("ip") and shutil.which("tc")):
        pytest.skip(needs("root and iproute2", "apt-get install iproute2"))
    name = f"shallows-{os.getpid()}"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode:
        pytest.skip("needs a kernel that allows network namespaces")
    try:
        for kind in ("red limit 100000 min 10000 max 20000 avpkt 1000", "ets bands 2"):
            command = f"tc qdisc replace dev lo root handle 1: {kind}"
            done = subprocess.run(
                ["ip", "netns", "exec", name, *command.split()], capture_output=True, text=True, check=False
            )
            if done.returncode:
                pytest.skip(f"needs a kernel with the qdisc: {kind.split()[0]} ({done.stderr.strip()})")
        yield name
    finally:
        subprocess.run(["ip", "netns", "del", name], check=False)


def test_the_kernel_takes_what_is_written_and_shows_it_again(namespace: str) -> None:
    switch = read("tc", sample("tc"))
    text = write("tc", None, replace(switch, settings=())).change.replace("swp1", "lo")
    for line in text.splitlines():
        subprocess.run(["ip", "netns", "exec", namespace, *line.split()], check=True)
    shown = subprocess.run(
        ["ip", "netns", "exec", namespace, "tc", "-d", "qdisc", "show"],
        capture_output=True,
        text=True,
        check=True,
    )
    [profile] = read("tc", shown.stdout).profiles
    [before] = switch.profiles
    limits = [queue.allotment for queue in profile.queues]
    assert limits == [None, *(Allotment(limit=Threshold(Fraction(size))) for size in (1_500_000, 1 << 20))]
    assert [queue.scheduler for queue in profile.queues] == [queue.scheduler for queue in before.queues]
