//! TCN (Bai, Chen, Chen, Kim, Wu; CoNEXT '16): marks a packet at departure if it waited longer than *T*.
//!
//! The waiting time covers only the packet's own queue, so one threshold suits every scheduler and any number of queues.

use shallows_core::packet::Header;
use shallows_core::{Duration, Instant};

use super::interface::{Aqm, Hears, PortView, Verdict};

/// TCN marker: marks packets that have waited longer than a threshold.
#[derive(Clone, Debug)]
pub struct Tcn {
    threshold: Duration,
}

impl Tcn {
    /// Creates a marker with this `threshold`: *RTT · λ* in the TCN paper.
    pub fn new(threshold: Duration) -> Self {
        Self { threshold }
    }
}

impl Aqm for Tcn {
    fn hears(&self) -> Hears {
        Hears::DEQUEUES
    }

    #[inline]
    fn on_dequeue(&mut self, _now: Instant, _header: &Header, port: &PortView<'_>) -> Verdict {
        // TCN §4: "if the sojourn time is larger than T", instantaneous, strictly.
        Verdict::mark_if(port.sojourn > self.threshold)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Seen;
    use super::*;

    #[test]
    fn it_marks_what_waited_longer_than_t_as_it_leaves() {
        let mut tcn = Tcn::new(Duration::from_micros(78));
        for (wait, marks) in [(0, false), (78_000_000, false), (78_000_001, true)] {
            let seen = Seen { sojourn: Duration(wait), ..Seen::queue(0) };
            assert_eq!(
                tcn.on_dequeue(Instant::ZERO, &Header::default(), &seen.view()).marks(),
                marks,
                "{wait}"
            );
            assert_eq!(tcn.on_enqueue(Instant::ZERO, &Header::default(), &seen.view()), Verdict::PASS);
        }
    }
}
