"""SONiC configurations for tests."""

import copy
import json
from pathlib import Path
from typing import Any

Tables = dict[str, Any]

PORTS = [f"Ethernet{4 * number}" for number in range(4)]

COLOURS = ("green", "yellow", "red")


def curve(low: object, high: object, percent: object = "5", *, wred: str = "true") -> dict[str, object]:
    """Return the fields of a marking profile with the same curve for all colours."""
    found: dict[str, object] = {"ecn": "ecn_all"}
    for colour in COLOURS:
        found |= {
            f"wred_{colour}_enable": wred,
            f"{colour}_min_threshold": low,
            f"{colour}_max_threshold": high,
            f"{colour}_drop_probability": percent,
        }
    return found


def leaf() -> Tables:
    """Four ports at 100 Gbit/s on a Tomahawk: queue 0 lossy with α = 8, queue 3 lossless, both marking."""
    return copy.deepcopy(
        {
            "DEVICE_METADATA": {"localhost": {"hostname": "leaf1", "hwsku": "Arista-7060CX-32S-C32"}},
            "PORT": {name: {"speed": "100000", "mtu": "9100"} for name in PORTS},
            "CABLE_LENGTH": {"AZURE": dict.fromkeys(PORTS, "40m")},
            "WRED_PROFILE": {
                "LOSSY": curve("208000", "208000", "100", wred="false"),
                "LOSSLESS": curve("208000", "416000", "10"),
            },
            "SCHEDULER": {
                "scheduler.0": {"type": "DWRR", "weight": "14"},
                "scheduler.1": {"type": "DWRR", "weight": "15"},
            },
            "BUFFER_POOL": {
                "ingress_lossless_pool": {
                    "type": "ingress",
                    "mode": "dynamic",
                    "size": "10875072",
                    "xoff": "4194112",
                },
                "egress_lossless_pool": {"type": "egress", "mode": "static", "size": "15982720"},
                "egress_lossy_pool": {"type": "egress", "mode": "dynamic", "size": "9243812"},
            },
            "BUFFER_PROFILE": {
                "egress_lossless_profile": {
                    "pool": "egress_lossless_pool",
                    "size": "0",
                    "static_th": "15982720",
                },
                "egress_lossy_profile": {"pool": "egress_lossy_pool", "size": "1664", "dynamic_th": "3"},
                "pg_lossless_100000_40m_profile": {
                    "pool": "ingress_lossless_pool",
                    "size": "1248",
                    "xon": "2288",
                    "xon_offset": "2288",
                    "xoff": "165568",
                    "dynamic_th": "0",
                },
            },
            "BUFFER_QUEUE": {
                **{f"{name}|0": {"profile": "egress_lossy_profile"} for name in PORTS},
                **{f"{name}|3": {"profile": "egress_lossless_profile"} for name in PORTS},
            },
            "BUFFER_PG": {f"{name}|3": {"profile": "pg_lossless_100000_40m_profile"} for name in PORTS},
            "QUEUE": {
                **{f"{name}|0": {"scheduler": "scheduler.0", "wred_profile": "LOSSY"} for name in PORTS},
                **{f"{name}|3": {"scheduler": "scheduler.1", "wred_profile": "LOSSLESS"} for name in PORTS},
            },
            "PORT_QOS_MAP": {
                name: {"pfc_enable": "3", "tc_to_queue_map": "AZURE", "tc_to_pg_map": "AZURE"}
                for name in PORTS
            },
            "TC_TO_QUEUE_MAP": {"AZURE": {"0": "0", "3": "3"}},
            "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": {"0": "0", "3": "3"}},
        }
    )


def written(tables: Tables, folder: Path, name: str = "config_db.json") -> Path:
    """Write the tables to a file, and return its path."""
    path = folder / name
    path.write_text(json.dumps(tables), encoding="utf-8")
    return path
