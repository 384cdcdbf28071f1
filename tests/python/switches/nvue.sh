# nv config show -o commands
nv set system hostname leaf2
nv set interface swp1-32 type swp
nv set interface swp1 link speed 100G
nv set interface swp1 link mtu 9216
nv set qos mapping default-global trust both
nv set qos mapping default-global dscp 26 switch-priority 3
nv set qos mapping default-global dscp 48 switch-priority 6
nv set qos egress-queue-mapping default-global switch-priority 3 traffic-class 3
nv set qos egress-queue-mapping default-global switch-priority 6 traffic-class 6
nv set qos pfc default-global switch-priority 3
nv set qos pfc default-global cable-length 50
nv set qos congestion-control default-global traffic-class 0 ecn disable
nv set qos congestion-control default-global traffic-class 1,2 min-threshold 200000
nv set qos congestion-control default-global traffic-class 1,2 max-threshold 200000
nv set qos congestion-control default-global traffic-class 1,2 ecn enable
nv set qos congestion-control default-global traffic-class 1,2 red enable
nv set qos congestion-control default-global traffic-class 3 min-threshold 150000
nv set qos congestion-control default-global traffic-class 3 max-threshold 1500000
nv set qos congestion-control default-global traffic-class 3 ecn enable
nv set qos congestion-control uplinks traffic-class 3 min-threshold 400000
nv set qos congestion-control uplinks traffic-class 3 max-threshold 1600000
nv set qos congestion-control uplinks traffic-class 3 ecn enable
nv set qos egress-scheduler default-global traffic-class 0,4,5,7 mode dwrr
nv set qos egress-scheduler default-global traffic-class 0,4,5,7 bw-percent 5
nv set qos egress-scheduler default-global traffic-class 1,2 mode dwrr
nv set qos egress-scheduler default-global traffic-class 1,2 bw-percent 15
nv set qos egress-scheduler default-global traffic-class 3 mode dwrr
nv set qos egress-scheduler default-global traffic-class 3 bw-percent 50
nv set qos egress-scheduler default-global traffic-class 6 mode strict
nv set qos traffic-pool default-lossy memory-percent 50
nv set qos traffic-pool default-lossless memory-percent 50
nv set qos traffic-pool default-lossless switch-priority 3
nv set qos advance-buffer-config default-global egress-lossy-buffer traffic-class 1 shared-alpha alpha_4
nv set qos advance-buffer-config default-global egress-lossy-buffer traffic-class 1 reserved 1696
nv set qos advance-buffer-config default-global ingress-lossless-buffer shared-alpha alpha_2
nv set interface swp31,swp32 qos congestion-control profile uplinks
nv set interface lo ip address 10.10.10.2/32
nv set router bgp autonomous-system 65102
