//! Scratch space of a network, which several networks can share.

use crate::network::Network;
use crate::network::calendar::Arriving;
use crate::network::sorter::Sorter;

/// Memory that a network needs only while it runs. Networks that one thread runs in turn share it, so that it stays in the cache.
#[derive(Debug)]
pub(crate) struct Scratch<T> {
    sorter: Sorter,
    /// Egress ports of the packets of a visit.
    egress: Vec<u32>,
    /// Empty vectors with allocated memory, for buckets of the calendar.
    buckets: Vec<Vec<Arriving<T>>>,
}

impl<T> Default for Scratch<T> {
    fn default() -> Self {
        Self { sorter: Sorter::default(), egress: Vec::new(), buckets: Vec::new() }
    }
}

#[cfg(test)]
impl<T> Scratch<T> {
    /// Returns whether there is memory for buckets and for sorting.
    pub(crate) fn has_memory(&self) -> bool {
        self.sorter.has_memory() && self.buckets.iter().any(|bucket| bucket.capacity() > 0)
    }
}

impl<T: Copy> Network<T> {
    /// Swaps the scratch space of this network with `scratch`.
    pub(crate) fn exchange_scratch(&mut self, scratch: &mut Scratch<T>) {
        std::mem::swap(&mut self.sorter, &mut scratch.sorter);
        std::mem::swap(&mut self.egress, &mut scratch.egress);
        self.calendar.exchange_spare(&mut scratch.buckets);
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::packet::{Header, HostId};
    use shallows_core::{Duration, Instant};

    use crate::network::calendar::{Arriving, Calendar};
    use crate::network::group::Turn;

    #[test]
    fn a_calendar_uses_the_memory_of_another_calendar() {
        let calendar = || Calendar::new(Duration(10), Duration(10), vec![Turn::HOSTS], 1);
        let (mut one, mut other, mut spare) = (calendar(), calendar(), Vec::new());
        let header = Header::new(HostId(0), HostId(1));
        let packet = Arriving { at: Instant(3), header, payload: (), wire: 0 };
        one.place(0, packet);
        let emptied = one.take(0);
        let memory = emptied.as_ptr();
        one.recycle(emptied);
        one.exchange_spare(&mut spare);
        other.exchange_spare(&mut spare);
        other.place(0, packet);
        let taken = other.take(0);
        assert_eq!(taken.as_ptr(), memory);
    }
}
