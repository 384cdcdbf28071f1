"""Configurations of any length for each vendor's reader, in the forms that take longest to read."""

import json
from collections.abc import Callable, Iterator

DSCP = range(64)
"""Names of DSCP code points."""


def own_policies(format_: str, lines: int) -> str:
    """Return a configuration of this many lines in which every port has its own policy."""
    return _text(format_, _OWN[format_], lines)


def one_policy(format_: str, lines: int) -> str:
    """Return a configuration with one policy of many queues, and different ports that all use it."""
    return _text(format_, _SHARED[format_], lines)


Makes = Callable[[int], Iterator[str]]


def _text(format_: str, make: Makes, lines: int) -> str:
    if format_ == "sonic":
        return _sonic(make(lines))
    kept: list[str] = []
    for line in make(lines):
        if len(kept) >= lines:
            break
        kept.append(line)
    return "\n".join(kept) + "\n"


def _nxos_own(lines: int) -> Iterator[str]:
    for number in range(lines):
        yield f"policy-map type queuing P{number}"
        yield "  class type queuing c-out-8q-q3"
        yield "    bandwidth remaining percent 60"
        yield "    random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes weight 0 ecn"
        yield f"interface Ethernet1/{number}"
        yield f"  service-policy type queuing output P{number}"


def _nxos_shared(lines: int) -> Iterator[str]:
    yield "policy-map type queuing P"
    for queue in range(8):
        yield f"  class type queuing c-out-8q-q{queue}"
        yield "    random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes weight 0 ecn"
    for number in range(lines):
        yield f"interface Ethernet1/{number}"
        yield f"  mtu {64 + number % 9000}"
        yield "  service-policy type queuing output P"


def _eos_own(lines: int) -> Iterator[str]:
    for number in range(lines):
        yield f"qos profile P{number}"
        yield "   uc-tx-queue 3"
        yield "      bandwidth percent 40"
        yield "      random-detect ecn minimum-threshold 200 kbytes maximum-threshold 400 kbytes weight 0"
        yield f"interface Ethernet{number}/1"
        yield f"   service-profile P{number}"


def _eos_shared(lines: int) -> Iterator[str]:
    yield "qos profile P"
    for queue in range(16):
        yield f"   uc-tx-queue {queue}"
        yield "      random-detect ecn minimum-threshold 200 kbytes maximum-threshold 400 kbytes weight 0"
    for number in range(lines):
        yield f"interface Ethernet{number}/1"
        yield f"   mtu {64 + number % 60_000}"
        yield "   service-profile P"


def _junos_own(lines: int) -> Iterator[str]:
    start = "set class-of-service"
    yield f"{start} forwarding-classes class C queue-num 3"
    yield f"{start} drop-profiles D interpolate fill-level [ 10 50 ]"
    yield f"{start} drop-profiles D interpolate drop-probability [ 0 100 ]"
    for number in range(lines):
        yield f"{start} schedulers s{number} transmit-rate percent 10"
        yield (f"{start} schedulers s{number} drop-profile-map loss-priority any protocol any drop-profile D")
        yield f"{start} scheduler-maps m{number} forwarding-class C scheduler s{number}"
        yield f"{start} interfaces et-0/0/{number} scheduler-map m{number}"


def _junos_shared(lines: int) -> Iterator[str]:
    start = "set class-of-service"
    for number in range(64):
        yield f"{start} forwarding-classes class C{number} queue-num {number % 16}"
        yield f"{start} scheduler-maps m forwarding-class C{number} scheduler s"
    yield f"{start} schedulers s transmit-rate percent 10"
    for number in range(lines):
        yield f"{start} interfaces et-0/0/{number} scheduler-map m"
        yield f"set interfaces et-0/0/{number} mtu {64 + number % 9000}"


def _nvue_own(lines: int) -> Iterator[str]:
    for number in range(lines):
        start = f"nv set qos congestion-control P{number} traffic-class 3"
        yield f"{start} min-threshold 150000"
        yield f"{start} max-threshold 1500000"
        yield f"{start} ecn enable"
        yield f"nv set interface swp{number} qos congestion-control profile P{number}"


def _nvue_shared(lines: int) -> Iterator[str]:
    for tc in range(64):
        yield f"nv set qos congestion-control P traffic-class {tc} min-threshold 150000"
    for number in range(lines):
        yield f"nv set interface swp{number} link mtu {64 + number % 9000}"
        yield f"nv set interface swp{number} qos congestion-control profile P"


def _avd_own(lines: int) -> Iterator[str]:
    head, policies, ports = 2, 6, 2
    count = max((lines - head) // (policies + ports), 1)
    yield "qos_profiles:"
    for number in range(count):
        yield f"  - name: P{number}"
        yield "    uc_tx_queues:"
        yield "      - id: 3"
        yield "        random_detect:"
        yield "          ecn:"
        yield "            threshold: {units: kbytes, min: 200, max: 400}"
    yield "ethernet_interfaces:"
    for number in range(count):
        yield f"  - name: Ethernet{number}/1"
        yield f"    service_profile: P{number}"


def _avd_shared(lines: int) -> Iterator[str]:
    yield "qos_profiles:"
    yield "  - name: P"
    yield "    uc_tx_queues:"
    for queue in range(16):
        yield f"      - id: {queue}"
        yield "        random_detect:"
        yield "          ecn:"
        yield "            threshold: {units: kbytes, min: 200, max: 400}"
    yield "ethernet_interfaces:"
    for number in range(lines):
        yield f"  - name: Ethernet{number}/1"
        yield f"    mtu: {64 + number % 60_000}"
        yield "    service_profile: P"


def _tc_own(lines: int) -> Iterator[str]:
    for number in range(lines):
        yield f"qdisc ets 1: dev swp{number} root refcnt 2 bands 3 strict 1 quanta 30000 10000"
        yield (
            f"qdisc red 11: dev swp{number} parent 1:2 limit 1500000b min 200000b max 210000b ecn ewma 5 "
            "probability 1 Scell_log 13"
        )


def _tc_shared(lines: int) -> Iterator[str]:
    for number in range(lines):
        yield f"qdisc prio 1: dev swp{number} root bands 16 priomap 2 2 1 1"


def _sonic(rows: Iterator[str]) -> str:
    tables: dict[str, dict[str, dict[str, str]]] = {}
    for row in rows:
        table, key, *fields = row.split()
        tables.setdefault(table, {})[key] = dict(field.split("=") for field in fields)
    return json.dumps(tables, indent=0)


_CURVE = "ecn=ecn_all green_min_threshold=1000 green_max_threshold=2000"


def _sonic_own(lines: int) -> Iterator[str]:
    for number in range(lines // 12):
        yield f"PORT Ethernet{number} speed=100000"
        yield f"WRED_PROFILE W{number} {_CURVE}"
        yield f"QUEUE Ethernet{number}|3 wred_profile=W{number}"


def _sonic_shared(lines: int) -> Iterator[str]:
    yield f"WRED_PROFILE W {_CURVE}"
    for number in range(lines // 6):
        yield f"PORT Ethernet{number} mtu={64 + number % 9000}"
        yield f"QUEUE Ethernet{number}|0-15 wred_profile=W"


_OWN: dict[str, Makes] = {
    "sonic": _sonic_own,
    "nvue": _nvue_own,
    "junos": _junos_own,
    "nxos": _nxos_own,
    "eos": _eos_own,
    "avd": _avd_own,
    "tc": _tc_own,
}
_SHARED: dict[str, Makes] = {
    "sonic": _sonic_shared,
    "nvue": _nvue_shared,
    "junos": _junos_shared,
    "nxos": _nxos_shared,
    "eos": _eos_shared,
    "avd": _avd_shared,
    "tc": _tc_shared,
}
