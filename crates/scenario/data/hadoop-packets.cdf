# Hadoop (Facebook, SIGCOMM '15), as in MQ-ECN's scripts; in packets of 1460 bytes.
# Value, and the share of flows up to it. Mean 2832.4 packets.
1 0
24 0.1
30 0.2
33 0.3
33 0.4
50 0.5
53 0.6
67 0.7
120 0.8
160 0.9
200 0.95
667 0.96
6667 0.97
66667 0.99
333333 1
