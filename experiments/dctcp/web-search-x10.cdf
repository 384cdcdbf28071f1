# The community's reading of DCTCP's Fig. 4 (web search), with all flows above 1 MB 10 times as large.
0 0
10000 0.15
20000 0.2
30000 0.3
50000 0.4
80000 0.53
200000 0.6
1000000 0.7
10000000 0.7
20000000 0.8
50000000 0.9
100000000 0.97
300000000 1
