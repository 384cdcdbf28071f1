"""Names in Junos that its reader and its writer share."""

from shallows.advisor.configuration import Colour

COLOURS: dict[str, Colour] = {"any": "all", "low": "green", "medium-high": "yellow", "high": "red"}

LOSS = "dscp.loss-priority"
PAUSED_QUEUE = "pfc.flow-control-queue"
BUFFER_SIZE = "buffer-size"
WATCHDOG = "pfc-profile.watchdog"
PAUSED_POINTS, PAUSED_TAGS, MRU = "pfc.dscp", "pfc.ieee-802.1", "pfc.mru"
CABLE = "pfc.cable-length"
"""Names of PFC settings; a congestion notification profile pauses code points or VLAN priorities, never both.
"""

STRICT = ("strict-high", "high", "strict")
