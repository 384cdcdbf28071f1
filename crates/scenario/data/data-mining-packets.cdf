# Data mining (VL2, SIGCOMM '09), as in MQ-ECN's scripts; in packets of 1460 bytes.
# Value, and the share of flows up to it. Mean 5116.6 packets.
1 0
1 0.5
2 0.6
3 0.7
7 0.8
267 0.9
2107 0.95
66667 0.99
666667 1
