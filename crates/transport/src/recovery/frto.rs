//! Whether a retransmission timeout was spurious (F-RTO, RFC 5682 §3.1, with selective acknowledgements).
//!
//! After the first segment has been sent again, new data goes in the place of further retransmissions: if what comes back then is of
//! data that was sent once, the acknowledgements were late, and nothing is lost.

/// New segments that go before anything else is sent again (§3.1 step 2b).
const NEW_SEGMENTS: u8 = 2;

/// The steps of RFC 5682 §3.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Frto {
    /// Conventional recovery, or none.
    #[default]
    Off,
    /// The first segment was sent again; it ends here.
    Sent { end: u64 },
    /// It has arrived, and so many new segments may go.
    Asking { left: u8 },
}

/// What an acknowledgement tells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    /// Up to where everything is acknowledged, and whether that is new.
    pub(super) una: u64,
    pub(super) advances: bool,
    /// SND.NXT when the timer fired (*recover*).
    pub(super) recover: u64,
    /// Data below `recover` that was sent once is newly acknowledged, selectively or not.
    pub(super) original: bool,
}

impl Frto {
    /// Take in an acknowledgement. Says whether it proves that the timeout was spurious.
    pub(super) fn on_ack(&mut self, evidence: Evidence) -> bool {
        let Evidence { una, advances, recover, original } = evidence;
        let (next, spurious) = match *self {
            // Step 2: duplicates are waited out.
            Self::Sent { .. } if !advances => (*self, false),
            Self::Sent { end } if una >= end && una < recover => (Self::Asking { left: NEW_SEGMENTS }, false),
            // Step 3.
            Self::Asking { .. } => (Self::Off, original),
            Self::Sent { .. } | Self::Off => (Self::Off, false),
        };
        *self = next;
        spurious
    }

    /// Whether new data goes now, of which there is `some` or not; and nothing is sent again until there is an answer. Without new
    /// data recovery is conventional (step 2b).
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
        // The first segment, of 1,000 bytes, was sent again of ten that were outstanding.
        let after = |una| {
            let mut frto = Frto::Sent { end: 1_000 };
            assert!(!frto.on_ack(Evidence { una, advances: true, recover: 10_000, original: true }));
            frto
        };
        // Step 2a: a part of it, or everything, is acknowledged: conventional recovery.
        assert_eq!(after(999), Frto::Off);
        assert_eq!(after(10_000), Frto::Off);
        // Step 2b.
        assert_eq!(after(1_000), Frto::Asking { left: 2 });
        assert_eq!(after(9_999), Frto::Asking { left: 2 });
    }
}
