"""What we write for vendors is accepted by what others wrote: pyavd for EOS and AVD, the kernel for Linux."""

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import pytest
import yaml

from shallows.advisor.configuration import Allotment, Threshold
from shallows.advisor.writers import write
from vendors import SWITCHES, read, sample

needs_pyavd = pytest.mark.skipif(
    importlib.util.find_spec("pyavd") is None,
    reason="not run: pyavd is not installed; get it with: make avd",
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


@pytest.fixture
def namespace() -> Iterator[str]:
    """A network namespace whose kernel has RED and ETS."""
    if os.geteuid() != 0 or not (shutil.which("ip") and shutil.which("tc")):
        pytest.skip("not run: needs root, and iproute2 (apt-get install iproute2)")
    name = f"shallows-{os.getpid()}"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode:
        pytest.skip("not run: needs a kernel that lets us make network namespaces")
    try:
        for kind in ("red limit 100000 min 10000 max 20000 avpkt 1000", "ets bands 2"):
            command = f"tc qdisc replace dev lo root handle 1: {kind}"
            done = subprocess.run(
                ["ip", "netns", "exec", name, *command.split()], capture_output=True, text=True, check=False
            )
            if done.returncode:
                pytest.skip(
                    f"not run: this kernel has no such qdisc: {kind.split()[0]} ({done.stderr.strip()})"
                )
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
