# The data mining flows of VL2 (SIGCOMM '09), with all flows above 3 MB cut to 3 MB.
0 0
180 0.1
216 0.2
560 0.3
900 0.4
1100 0.5
1870 0.6
3160 0.7
10000 0.8
400000 0.9
3000000 0.947101
3000000 1
