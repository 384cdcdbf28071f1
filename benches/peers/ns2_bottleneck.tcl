# The ns-2 side of the comparison: eight senders and eight receivers at two switches, and one slow link between the switches.
#
# Usage: ns ns2_bottleneck.tcl FLOWS TRANSPORT QUEUE SEED FCTS
#
# FLOWS is a list of benches/peers/flows.py. TRANSPORT is Reno, Newreno, Sack1 or FullTcp/Sack. QUEUE is a row of `queue` below. FCTS is
# the output file, with a line for each finished flow: its number in the list, its completion time in ns, and the number of packets that
# were sent for it. Prints the statistics of the queue as one line of JSON. ns-2 sends whole packets, so sizes are rounded up to packets.

foreach {flow_list transport queue_name seed fct_file} $argv break

set hosts_a_side 8
set packet_bytes 1460
set wire_bytes 1500

# Settings of each queue's class. By default, RED counts bytes, and its limit is in mean packets of 500 bytes.
array set queue {
    DropTail {limit_ 51}
    RED      {limit_ 50 thresh_ 5 maxthresh_ 15 q_weight_ 0.002 linterm_ 10 bytes_ false queue_in_bytes_ false
              mean_pktsize_ 1500}
    RED/automatic {limit_ 1500}
    DRR      {blimit_ 75000 quantum_ 1500 buckets_ 16}
    SFQ      {maxqueue_ 50 buckets_ 16}
}

proc set_all {class settings} {
    foreach {name value} $settings { $class set $name $value }
}

set_all Agent/TCP [list packetSize_ $packet_bytes window_ 1000 windowInit_ 10 tcpTick_ 0.000001 \
    rtxcur_init_ 1.0 minrto_ 0.2 singledup_ 0]
# The part of a queue's name after a slash selects settings and is not part of the class.
set class [lindex [split $queue_name /] 0]
set_all Queue/$class $queue($queue_name)

# FullTcp counts bytes. All segments are full, so its receiver acknowledges each segment.
set_all Agent/TCP/FullTcp [list segsize_ $packet_bytes nodelay_ true interval_ 0]

# Classes of the transport and its receiver.
set full [string match FullTcp/* $transport]
set sink [expr {$full ? "Agent/TCP/$transport" : $transport eq "Sack1" ? "Agent/TCPSink/Sack1" : "Agent/TCPSink"}]

set ns [new Simulator]
$defaultRNG seed $seed

proc build {} {
    global ns hosts_a_side class host switch
    # Hosts are created first, because queues hash addresses, which are the numbers of nodes.
    for {set i 0} {$i < 2 * $hosts_a_side} {incr i} { set host($i) [$ns node] }
    foreach side {0 1} { set switch($side) [$ns node] }
    Queue/DropTail set limit_ 10001
    for {set i 0} {$i < 2 * $hosts_a_side} {incr i} {
        $ns duplex-link $host($i) $switch([expr {$i / $hosts_a_side}]) 1Gb 0.1ms DropTail
    }
    if {$class eq "DropTail"} { Queue/DropTail set limit_ 51 }
    $ns simplex-link $switch(0) $switch(1) 100Mb 1ms $class
    Queue/DropTail set limit_ 10001
    $ns simplex-link $switch(1) $switch(0) 100Mb 1ms DropTail
}

# Starts a flow, which has its own connection.
proc start {number source destination bytes} {
    global ns transport sink full host packet_bytes
    set tcp [new Agent/TCP/$transport]
    set receiver [new $sink]
    $ns attach-agent $host($source) $tcp
    $ns attach-agent $host($destination) $receiver
    $ns connect $tcp $receiver
    $tcp set flow $number
    $tcp set started [$ns now]
    if {$full} {
        $receiver listen
        $tcp set signal_on_empty_ true
    }
    $tcp advance [expr {($bytes + $packet_bytes - 1) / $packet_bytes}]
}

# ns-2 calls `done` when all data is acknowledged; FullTcp calls `done_data` instead.
Agent/TCP/FullTcp instproc done_data {} { $self done }
Agent/TCP instproc done {} {
    global ns fcts left packets
    $self instvar flow started
    puts $fcts "$flow,[expr {round(([$ns now] - $started) * 1e9)}],[$self set ndatapack_]"
    incr packets [$self set ndatapack_]
    if {[incr left -1] == 0} { $ns at-now "finish" }
}

proc finish {} {
    global ns monitor bytes_waiting fcts packets begun
    close $fcts
    set mean [expr {[$bytes_waiting set sum_] / [$ns now]}]
    puts "{\"packets\": $packets, \"arrived\": [$monitor set parrivals_], \"dropped\": [$monitor set pdrops_],\
          \"mean_queue_bytes\": $mean, \"run_s\": [expr {([clock microseconds] - $begun) / 1e6}]}"
    exit 0
}

build
set monitor [$ns monitor-queue $switch(0) $switch(1) ""]
set bytes_waiting [$monitor get-bytes-integrator]
set packets 0
set fcts [open $fct_file w]
puts $fcts "flow,fct_ns,packets"

set file [open $flow_list]
gets $file
set number 0
while {[gets $file line] >= 0} {
    foreach {start_ns source destination bytes} [split $line ,] break
    $ns at [expr {$start_ns / 1e9}] "start $number $source $destination $bytes"
    incr number
}
close $file
set left $number
set begun [clock microseconds]
$ns run
