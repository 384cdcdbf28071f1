//! The testbed's DCTCP compared with the kernel's own DCTCP, on kernels that have it.

use crate::script::{CE, ECE, ECT, Kernel, Receiving, Sending};

const DCTCP: &str = "\"dctcp\"";

/// Returns the number of segments sent and the windows after each of sixty acknowledgements, some of which echo marks.
fn sent(kernel: Kernel) -> Vec<(usize, (u32, Option<u32>))> {
    let mut sending = Sending::started(kernel, 400);
    let marked = |number: u32| number % 17 < 3 || (30..34).contains(&number);
    (1..=60)
        .map(|number| {
            let sent = sending.ack(number, if marked(number) { ECE } else { 0 }, &[]);
            (sent.len(), sending.windows())
        })
        .collect()
}

/// Returns the acknowledgements after each of twenty segments, some of which are marked.
fn acknowledged(kernel: Kernel) -> Vec<Vec<(u32, bool)>> {
    let mut receiving = Receiving::warm(kernel, 60);
    (0..20u32).map(|number| receiving.data(if number % 7 < 3 { CE } else { ECT }, 0, false)).collect()
}

#[test]
fn ours_sends_and_acknowledges_what_the_kernels_own_does() {
    let patient = "rto = {min = \"400ms\"}";
    let Some(theirs) = Kernel::unaided(DCTCP, patient) else { return };
    let theirs = sent(theirs);
    let Some(ours) = Kernel::with(DCTCP, patient) else { return };
    assert_eq!(sent(ours), theirs);
    // The comparison needs a window that was cut, and that has grown.
    let windows: Vec<u32> = theirs.iter().map(|(_, (cwnd, _))| *cwnd).collect();
    assert!(
        windows.windows(2).any(|pair| pair[1] < pair[0]) && windows.windows(2).any(|pair| pair[1] > pair[0])
    );
    let Some(theirs) = Kernel::unaided(DCTCP, "") else { return };
    let theirs = acknowledged(theirs);
    let Some(ours) = Kernel::with(DCTCP, "") else { return };
    assert_eq!(acknowledged(ours), theirs);
}
