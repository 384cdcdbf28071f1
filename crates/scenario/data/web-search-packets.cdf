# Web search (DCTCP, SIGCOMM '10), as in MQ-ECN's scripts; in packets of 1460 bytes.
# Value, and the share of flows up to it. Mean 1140.98 packets.
6 0
6 0.15
13 0.2
19 0.3
33 0.4
53 0.53
133 0.6
667 0.7
1333 0.8
3333 0.9
6667 0.97
20000 1
