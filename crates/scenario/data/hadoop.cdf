# Hadoop (Facebook, SIGCOMM '15). Published in packets (hadoop-packets.cdf); each value times 1460 bytes.
# Value, and the share of flows up to it. Mean 4,135,297 bytes.
1460 0
35040 0.1
43800 0.2
48180 0.3
48180 0.4
73000 0.5
77380 0.6
97820 0.7
175200 0.8
233600 0.9
292000 0.95
973820 0.96
9733820 0.97
97333820 0.99
486666180 1
