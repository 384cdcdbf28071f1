# Cache (Facebook, SIGCOMM '15), as in MQ-ECN's scripts; in packets of 1460 bytes.
# Value, and the share of flows up to it. Mean 623.76 packets.
1 0
1 0.35
2 0.4
7 0.46
13 0.5
67 0.6
133 0.7
667 0.78
1333 0.8
2000 0.9
2667 0.99
33333 1
