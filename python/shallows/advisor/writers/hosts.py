"""Configuration of hosts: sysctls, routes with their own RTO, congestion control and ECN, and NICs.

Names as in ip-sysctl of the kernel's documentation, ip-route(8), and NVIDIA's tools for mlx5.
"""

from dataclasses import dataclass

from shallows.advisor.configuration import Setting, Switch
from shallows.advisor.writers import names
from shallows.advisor.writers.lines import NO_REASONS, Reasons, Text, Told, difference, flat

SYSCTLS = {
    "host.tcp_ecn": ("net.ipv4.tcp_ecn", "2"),
    "host.congestion_control": ("net.ipv4.tcp_congestion_control", "cubic"),
    "host.rto_min_us": ("net.ipv4.tcp_rto_min_us", "200000"),
}
"""Dictionary that maps each setting to its sysctl and the kernel's default (the last: Linux 6.11)."""

ROUTE = ("host.rto_min", "host.congctl", "host.features", "host.initcwnd", "host.initrwnd", "host.quickack")
"""TCP settings of a route, in ip-route(8)'s order."""


@dataclass(frozen=True)
class Nic:
    """Configuration of an RDMA NIC with the driver mlx5."""

    interface: str
    pfc: tuple[int, ...] = ()
    """Priorities with PFC in both directions."""

    ecn: tuple[int, ...] = ()
    """Priorities with DCQCN, at both ends."""

    cnp_dscp: int | None = None
    """DSCP of congestion notification packets."""


def write(before: Switch | None, after: Switch, reasons: Reasons = NO_REASONS) -> Text:
    """Write the settings `host.…` of a switch as root commands."""

    def told(switch: Switch) -> Told:
        found = Told()
        tell(switch, found)
        return found

    return difference(told, flat("#"), before, after, reasons)


def tell(switch: Switch, told: Told) -> None:
    """Add the commands that set sysctls and routes."""
    routes: dict[str, dict[str, Setting]] = {}
    for setting in switch.settings:
        if setting.name in SYSCTLS and not setting.scope:
            key, default = SYSCTLS[setting.name]
            told.say(
                f"sysctl -w {key}={setting.value}",
                slot=key,
                undo=f"sysctl -w {key}={default}",
                about=setting.name,
            )
        elif setting.name in ROUTE and setting.scope:
            routes.setdefault(setting.scope, {})[setting.name] = setting
    for route, options in routes.items():
        words = [f"{name.partition('.')[2]} {options[name].value}" for name in ROUTE if name in options]
        told.say(
            f"ip route replace {route} {' '.join(words)}",
            slot=f"ip route {route}",
            undo=f"ip route replace {route}",
            about=next(iter(options)),
        )


def nic(before: Nic | None, after: Nic) -> Text:
    """Write the root commands for a NIC, and their rollback.

    Raises
    ------
    ShallowsError
        If the interface's name is invalid.

    >>> print(nic(None, Nic("eth0", pfc=(3,))).change, end="")
    mlnx_qos -i eth0 --trust dscp
    mlnx_qos -i eth0 --pfc 0,0,0,1,0,0,0,0
    """
    names.refuse_port("tc", after.interface)
    old, new = _nic(before or Nic(after.interface)), _nic(after)
    change = [text for key, text in new.items() if old.get(key) != text]
    back = [text for key, text in old.items() if new.get(key) != text]
    return Text("".join(f"{line}\n" for line in change), "".join(f"{line}\n" for line in back))


def _nic(each: Nic) -> dict[str, str]:
    start = f"mlnx_qos -i {each.interface}"
    flags = ",".join(str(int(priority in each.pfc)) for priority in range(8))
    trust = "dscp" if each.pfc or each.ecn else "pcp"
    lines = {"trust": f"{start} --trust {trust}", "pfc": f"{start} --pfc {flags}"}
    folder = f"/sys/class/net/{each.interface}/ecn"
    for priority in range(8):
        for end in ("roce_np", "roce_rp"):
            on = int(priority in each.ecn)
            lines[f"{end}/{priority}"] = f"echo {on} > {folder}/{end}/enable/{priority}"
    if each.cnp_dscp is not None:
        lines["cnp"] = f"echo {each.cnp_dscp} > {folder}/roce_np/cnp_dscp"
    return lines
