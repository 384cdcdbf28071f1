# Cache (Facebook, SIGCOMM '15), as in BCC's scripts; in bytes.
# Value, and the share of flows up to it. Mean 935,452.5 bytes.
500 0
1500 0.35
3000 0.4
10000 0.46
20000 0.5
100000 0.6
200000 0.7
1000000 0.78
2000000 0.8
3000000 0.9
4000000 0.99
50000000 1
