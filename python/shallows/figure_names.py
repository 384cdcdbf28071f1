"""Names and contents of figures."""

FIGURES = {
    "fct": "completion times by flow size, losses and timeouts, against load",
    "fct-cdf": "distribution of completion times by flow size",
    "slowdown": "median and 99th percentile of the slowdown, against flow size",
    "slowdown-cdf": "distribution of slowdowns by flow size",
    "incast": "goodput and query time against the number of servers",
    "query-cdf": "distribution of the completion times of queries",
    "frontier": "two metrics of each scheme against each other, and the schemes that none beats",
    "dots": "metrics of many schemes, with a row for each",
    "classes": "completion times and goodput by class of service",
    "queue": "backlog of ports and pools over time",
    "queue-cdf": "distribution of the backlog of ports and pools",
    "heat-map": "heat map of the backlog of all switch ports over time",
    "pauses": "time for which ports were paused, over time",
    "headroom": "largest use of the headroom of ports",
    "cwnd": "congestion windows over time",
    "rate": "rates of queue pairs over time",
    "goodput": "goodput of flows or classes over time",
    "starvation": "histogram of each flow's longest time without an acknowledgement",
    "shares": "histogram of each flow's data in the last interval of its trace",
    "ping": "distribution of the round-trip times of pings",
}
"""Description of each figure, by the name of its function in `shallows.figures`."""
