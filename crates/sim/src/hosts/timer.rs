//! Timers whose pending event is kept when they are set back: an entity has one.

use shallows_core::Instant;

/// See that an event is pending no later than `deadline`; returns when, if one is to be scheduled. A later deadline waits for
/// the event.
#[inline]
pub(super) fn arm(deadline: Option<Instant>, timer_at: &mut Instant) -> Option<Instant> {
    let deadline = deadline.filter(|deadline| deadline < timer_at)?;
    *timer_at = deadline;
    Some(deadline)
}
