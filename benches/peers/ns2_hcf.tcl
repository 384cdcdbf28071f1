# HCF's Fig. 3 in ns-2: 400 long NewReno flows, and datagrams at 5 % of the rate, share a link of 100 Mb/s with room for twenty packets.
#
# Usage: ns ns2_hcf.tcl QUEUE LIMIT SINGLEDUP SEED SECONDS
#
# QUEUE is DropTail, whose LIMIT is in packets, or DRR, whose LIMIT is in bytes. SINGLEDUP is 1 if senders use limited transmit, and
# otherwise 0. For each ten seconds, prints the mean and variance over flows of the number of acknowledged packets, and the share of
# flows without any. All other settings are ns-2's defaults. experiments/hcf/README.md contains the output. DRR reports each collision
# on stderr.

foreach {queue limit singledup seed seconds} $argv break

set flows 400
set payload 1460
set access {1Gb 25us DropTail}

Agent/TCP set packetSize_ $payload
Agent/TCP set singledup_ $singledup
Queue/DRR set buckets_ 20
Queue/DRR set blimit_ $limit

set ns [new Simulator]
$defaultRNG seed $seed

# The receiver is created first, as in experiments/hcf/fig3.toml, because DRR hashes addresses, which are the numbers of nodes.
set receiver [$ns node]
for {set i 1} {$i <= $flows + 1} {incr i} { set host($i) [$ns node] }
set switch [$ns node]
Queue/DropTail set limit_ 100000
for {set i 1} {$i <= $flows + 1} {incr i} { $ns duplex-link $host($i) $switch {*}$access }
$ns simplex-link $receiver $switch {*}$access
Queue/DropTail set limit_ $limit
$ns simplex-link $switch $receiver 100Mb 25us $queue

set start [new RandomVariable/Uniform]
$start set max_ 1.0
for {set i 1} {$i <= $flows} {incr i} {
    set tcp($i) [new Agent/TCP/Newreno]
    set sink [new Agent/TCPSink]
    $ns attach-agent $host($i) $tcp($i)
    $ns attach-agent $receiver $sink
    $ns connect $tcp($i) $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    $ns at [$start value] "$ftp start"
}

set udp [new Agent/UDP]
set null [new Agent/Null]
$ns attach-agent $host([expr {$flows + 1}]) $udp
$ns attach-agent $receiver $null
$ns connect $udp $null
# After each datagram, the source pauses for an exponential time, so datagrams form a Poisson process.
set datagrams [new Application/Traffic/Exponential]
foreach {name value} {packetSize_ 1500 burst_time_ 0 idle_time_ 2.4ms rate_ 1000Gb} { $datagrams set $name $value }
$udp set packetSize_ 1500
$datagrams attach-agent $udp
$ns at 0.0 "$datagrams start"

proc mark {} {
    global tcp flows before
    for {set i 1} {$i <= $flows} {incr i} { set before($i) [$tcp($i) set ack_] }
}

proc report {} {
    global tcp flows before ns
    set sum 0.0
    set squares 0.0
    set starved 0
    for {set i 1} {$i <= $flows} {incr i} {
        set packets [expr {[$tcp($i) set ack_] - $before($i)}]
        set sum [expr {$sum + $packets}]
        set squares [expr {$squares + $packets * $packets}]
        incr starved [expr {$packets < 1}]
    }
    set mean [expr {$sum / $flows}]
    puts [format "until %g s: mean %.1f, variance %.0f, starved %.1f %%" [$ns now] $mean \
        [expr {$squares / $flows - $mean * $mean}] [expr {100.0 * $starved / $flows}]]
    mark
}

for {set at 10} {$at <= $seconds} {incr at 10} { $ns at $at [expr {$at == 10 ? "mark" : "report"}] }
$ns at [expr {$seconds + 0.001}] "exit 0"
$ns run
