//! Detection of spurious retransmission timeouts (F-RTO, RFC 5682 §3.1, with selective acknowledgements).
//!
//! After the first retransmission the sender sends new data instead of further retransmissions. If the next acknowledgement covers data
//! that was sent only once, the acknowledgements were late and no data is lost.

/// Maximum number of new segments sent before any further retransmission (§3.1 step 2b).
const NEW_SEGMENTS: u8 = 2;

/// State of F-RTO: the steps of RFC 5682 §3.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Frto {
    /// Conventional recovery, or no recovery.
    #[default]
    Off,
    /// The first segment, which ends at `end`, has been retransmitted.
    Sent { end: u64 },
    /// The first retransmitted segment has arrived. The sender may send `left` more new segments; the next acknowledgement decides whether
    /// the timeout was spurious.
    Asking { left: u8 },
}

/// Contents of an acknowledgement that help to decide whether a timeout was spurious.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    /// Cumulative acknowledgement; `advances` states whether it is new.
    pub(super) una: u64,
    pub(super) advances: bool,
    /// SND.NXT when the timer fired (*recover*).
    pub(super) recover: u64,
    /// Whether the acknowledgement newly covers, selectively or not, data below `recover` that was sent only once.
    pub(super) original: bool,
}

impl Frto {
    /// Processes an acknowledgement. Returns whether it proves the timeout spurious.
    pub(super) fn on_ack(&mut self, evidence: Evidence) -> bool {
        let Evidence { una, advances, recover, original } = evidence;
        let (next, spurious) = match *self {
            // Step 2: duplicates have no effect.
            Self::Sent { .. } if !advances => (*self, false),
            Self::Sent { end } if una >= end && una < recover => (Self::Asking { left: NEW_SEGMENTS }, false),
            // Step 3.
            Self::Asking { .. } => (Self::Off, original),
            Self::Sent { .. } | Self::Off => (Self::Off, false),
        };
        *self = next;
        spurious
    }

    /// Returns `Some(true)` to send new data now, and `Some(false)` to send nothing until the next acknowledgement. Returns `None` during
    /// conventional recovery, and begins it if no new data exists (step 2b). `some` states whether there is new data.
    pub(super) fn asks(&mut self, some: bool) -> Option<bool> {
        match *self {
            Self::Asking { left: NEW_SEGMENTS } if !some => {
                *self = Self::Off;
                None
            }
            Self::Asking { left } => {
                let goes = some && left > 0;
                *self = Self::Asking { left: left - u8::from(goes) };
                Some(goes)
            }
            Self::Sent { .. } | Self::Off => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_data_is_asked_about_only_between_the_first_segment_and_recover() {
        // Ten segments of 1,000 bytes were outstanding, and the first has been retransmitted.
        let after = |una| {
            let mut frto = Frto::Sent { end: 1_000 };
            assert!(!frto.on_ack(Evidence { una, advances: true, recover: 10_000, original: true }));
            frto
        };
        // Step 2a: if only a part of the first segment, or all data, is acknowledged, conventional recovery follows.
        assert_eq!(after(999), Frto::Off);
        assert_eq!(after(10_000), Frto::Off);
        // Step 2b.
        assert_eq!(after(1_000), Frto::Asking { left: 2 });
        assert_eq!(after(9_999), Frto::Asking { left: 2 });
    }
}
