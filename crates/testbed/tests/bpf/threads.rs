//! Threads in which the kernel takes packets that arrive at hosts.

use shallows_testbed::sys::machine;

use crate::script::Kernel;

/// Some kernels skip BPF programs when these interrupt certain processes. Separate kernel threads are not affected.
#[test]
fn hosts_with_our_programs_take_up_packets_in_threads_of_their_own() {
    if machine::switch_and_hosts().is_none() {
        eprintln!("not run: needs several processors");
        return;
    }
    for congestion in ["\"dctcp\"", "\"ecn-star\"", "\"pulser\""] {
        let Some(kernel) = Kernel::with(congestion, "") else { return };
        let hurried = kernel.hosts.hurried.len();
        assert!(hurried >= kernel.hosts.networks.len(), "{congestion}: {hurried} threads");
    }
}
