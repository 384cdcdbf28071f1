//! Timers that need few events: if the deadline moves to a later time, the pending event stays and arms the timer again.

use shallows_core::Instant;

/// Arms a timer whose earliest pending event is at `timer_at`. Returns `deadline` if a new event must be scheduled for this time. Otherwise
/// the pending event fires first, and its handler arms the timer again.
#[inline]
pub(super) fn arm(deadline: Option<Instant>, timer_at: &mut Instant) -> Option<Instant> {
    let deadline = deadline.filter(|deadline| deadline < timer_at)?;
    *timer_at = deadline;
    Some(deadline)
}
