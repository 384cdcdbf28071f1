"""Names and contents of figures."""

FIGURES = {
    "fct": "completion times by size of flow, losses and timeouts, against load",
    "fct-cdf": "distribution of completion times by size of flow",
    "slowdown": "slowdown against size of flow: median and 99th percentile",
    "slowdown-cdf": "distribution of slowdowns by size of flow",
    "incast": "goodput and time of queries against the number of servers",
    "query-cdf": "distribution of the times that queries take",
    "classes": "completion times and goodput of each class of service",
    "queue": "backlog of ports and pools over time",
    "queue-cdf": "distribution of backlogs",
    "heat-map": "backlog of all ports over time",
    "cwnd": "congestion windows over time",
    "goodput": "goodput of flows or classes over time",
    "starvation": "histogram of the longest times without acknowledgement",
    "shares": "histogram of what each flow got in its last interval",
    "ping": "distribution of the round-trip times of pings",
}
"""Content of each figure by name; a function of `shallows.figures` has the same name."""
