# Small flows and large: seven in ten have up to 20 KB, and one in seven is above 100 KB.
2000 0
20000 0.7
100000 0.85
1000000 1
