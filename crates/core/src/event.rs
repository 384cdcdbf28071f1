//! Event queue ordered by time, and the loops that fire its events.
//!
//! Events at equal times fire in the order of their keys. A key consists of the class of the event and the rank of the event's entity, so
//! the key depends only on the scenario. Two pending events with equal time and key are identical. The order therefore needs no insertion
//! counter, and does not change when a run is split over threads.
//!
//! Events in the near future wait in a timing wheel with short buckets. A bucket is sorted only when time reaches it. Events further ahead,
//! mostly timers, wait in a binary heap. The order of events does not depend on whether the wheel or the heap holds them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use self::wheel::{Entry, Wheel, entry, time_of};
use crate::time::{Duration, Instant};

mod wheel;

/// Simulated system, whose state changes when events fire.
pub trait World {
    /// Type of this system's events.
    type Event: Event;

    /// Handles `event`, which fires at the current time `queue.now()`.
    ///
    /// The handler may schedule further events at the current time or later.
    fn handle(&mut self, event: Self::Event, queue: &mut EventQueue<Self::Event>);

    /// Prefetches the state that an event needs. Called when an event from the heap fires, with the next event of the heap. That event may
    /// fire much later, may be passed again, and may be cancelled.
    fn prefetch_for(&self, _event: Self::Event) {}

    /// Returns whether the run may end now: no pending event can change the results. Called after each event.
    fn is_finished(&self) -> bool {
        false
    }
}

/// Event of a simulation. Events should be small, because the queue copies them.
pub trait Event: Copy {
    /// Returns the key that orders this event among events at the same time: the class of the event in the high bits, then the rank of its
    /// entity. Two pending events with equal time and key are identical, and both fire. Such a pair arises, for example, if a timer is set,
    /// moved, and then set back to its first time.
    ///
    /// The low bits may contain any number from which [`Event::from_key`] can restore the event.
    fn key(self) -> u64;

    /// Returns the event with this key.
    fn from_key(key: u64) -> Self;
}

/// Pending events, earliest first.
#[derive(Debug)]
pub struct EventQueue<E> {
    now: Instant,
    wheel: Wheel,
    far: BinaryHeap<Reverse<Entry>>,
    /// Earliest entry of the heap `far`, or `Entry::MAX` if the heap is empty.
    far_first: Entry,
    /// Lower bound for the time of the next event, which saves [`run_before`] the search for that event.
    idle_until: Instant,
    handled: u64,
    events: std::marker::PhantomData<E>,
}

impl<E: Event> EventQueue<E> {
    /// Creates an empty queue at time zero. The queue is fastest if most events are scheduled at most `horizon` ahead.
    pub fn new(horizon: Duration) -> Self {
        Self {
            now: Instant::ZERO,
            wheel: Wheel::new(horizon),
            far: BinaryHeap::new(),
            far_first: Entry::MAX,
            idle_until: Instant::ZERO,
            handled: 0,
            events: std::marker::PhantomData,
        }
    }

    /// Returns the current simulated time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Prefetches the wheel's buckets and nodes into the processor's cache.
    pub fn prefetch(&self) {
        self.wheel.prefetch();
    }

    /// Returns the number of events that have fired.
    pub fn handled(&self) -> u64 {
        self.handled
    }

    /// Schedules `event` to fire at `at`.
    ///
    /// # Panics
    ///
    /// If `at` is in the past.
    #[inline]
    pub fn schedule(&mut self, at: Instant, event: E) {
        assert!(at >= self.now, "an event was scheduled in the past");
        self.idle_until = self.idle_until.min(at);
        let entry = entry(at, event.key());
        if !self.wheel.insert_ahead(entry) {
            self.schedule_elsewhere(entry);
        }
    }

    /// Schedules an entry that `Wheel::insert_ahead` has rejected. This is a separate function so that the fast path in `schedule` makes no
    /// call and saves no registers.
    #[inline(never)]
    fn schedule_elsewhere(&mut self, entry: Entry) {
        // The wheel covers a fixed range from its cursor. An entry within this range needs no move of the cursor.
        self.wheel.advance(self.now);
        if !self.wheel.insert(entry) {
            self.far.push(Reverse(entry));
            self.far_first = self.far_first.min(entry);
        }
    }

    /// Removes one pending `event` that is scheduled for `at`. Returns whether such an event was pending. Searches one bucket of the wheel,
    /// and the whole heap if the event is not in the wheel.
    pub fn cancel(&mut self, at: Instant, event: E) -> bool {
        let entry = entry(at, event.key());
        if self.wheel.remove(entry) {
            return true;
        }
        let mut far = std::mem::take(&mut self.far).into_vec();
        let place = far.iter().position(|far| far.0 == entry);
        place.map(|place| far.swap_remove(place));
        self.far = far.into();
        self.far_first = self.far.peek().map_or(Entry::MAX, |far| far.0);
        place.is_some()
    }

    /// Returns a lower bound for the time of the next event: its exact time, or the start of the bucket that holds it.
    pub fn not_before(&self) -> Instant {
        self.wheel.not_before().min(time_of(self.far_first))
    }

    /// Returns the time of the next event, or `None` if nothing is pending.
    pub fn next_at(&mut self) -> Option<Instant> {
        let next = self.wheel.peek(Instant::MAX).min(self.far_first);
        (next != Entry::MAX).then(|| time_of(next))
    }

    /// Removes and returns the next event, and advances the current time to the time of that event. Does nothing and returns `None` if the
    /// event lies after `until`. If the event is from the heap, passes the heap's next event to `prefetch`.
    #[inline(always)]
    fn pop_until(&mut self, until: Instant, prefetch: impl FnOnce(E)) -> Option<E> {
        let near = self.wheel.peek(until);
        if near >= self.far_first || time_of(near) > until {
            return self.pop_far(near, until, prefetch);
        }
        self.wheel.pop();
        Some(self.fire(near))
    }

    /// Removes and returns the next event, and advances the current time to the time of that event. Does nothing and returns `None` if
    /// no event comes before `limit`. If the event is from the heap, passes the heap's next event to `prefetch`.
    #[inline(always)]
    fn pop_before(&mut self, limit: Entry, prefetch: impl FnOnce(E)) -> Option<E> {
        let near = self.wheel.peek(time_of(limit));
        let next = near.min(self.far_first);
        if next >= limit {
            return None;
        }
        if near > next {
            return self.pop_far(near, time_of(limit), prefetch);
        }
        self.wheel.pop();
        Some(self.fire(near))
    }

    /// Advances the current time to `now`, the time of an event that is not in this queue.
    ///
    /// # Panics
    ///
    /// If `now` is in the past.
    #[inline]
    pub fn move_to(&mut self, now: Instant) {
        assert!(now >= self.now, "time ran backwards");
        self.now = now;
    }

    /// Slow path of [`Self::pop_until`] and [`Self::pop_before`]: the next event is in the heap, lies after `until`, or does not exist.
    /// `near` is the earliest entry of the wheel.
    #[inline(never)]
    fn pop_far(&mut self, near: Entry, until: Instant, prefetch: impl FnOnce(E)) -> Option<E> {
        let next = self.far_first;
        if next == Entry::MAX || near < next || time_of(next) > until {
            return None;
        }
        self.far.pop();
        let following = self.far.peek().map(|far| far.0);
        self.far_first = following.unwrap_or(Entry::MAX);
        if let Some(following) = following {
            prefetch(E::from_key(following as u64));
        }
        Some(self.fire(next))
    }

    #[inline(always)]
    fn fire(&mut self, next: Entry) -> E {
        debug_assert!(time_of(next) >= self.now, "time ran backwards");
        self.now = time_of(next);
        self.handled += 1;
        E::from_key(next as u64)
    }
}

/// Runs `world` until it is finished, no event is pending, the next event lies after `until`, or `budget` events have fired.
///
/// Returns `true` if the run ended because `budget` events have fired.
pub fn run<W: World>(world: &mut W, queue: &mut EventQueue<W::Event>, until: Instant, budget: u64) -> bool {
    for _ in 0..budget {
        let Some(event) = queue.pop_until(until, |event| world.prefetch_for(event)) else { return false };
        world.handle(event, queue);
        if world.is_finished() {
            return false;
        }
    }
    true
}

/// Handles all pending events that would fire before `event` if `event` were scheduled for `at`. Ends early if `world` is finished or no
/// event is pending.
#[inline]
pub fn run_before<W: World>(world: &mut W, queue: &mut EventQueue<W::Event>, at: Instant, event: W::Event) {
    if at < queue.idle_until {
        return;
    }
    let limit = entry(at, event.key());
    while let Some(event) = queue.pop_before(limit, |event| world.prefetch_for(event)) {
        world.handle(event, queue);
        if world.is_finished() {
            return;
        }
    }
    queue.idle_until = queue.not_before();
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    impl Event for u64 {
        fn key(self) -> u64 {
            self
        }
        fn from_key(key: u64) -> Self {
            key
        }
    }

    fn drain(queue: &mut EventQueue<u64>) -> Vec<(u64, u64)> {
        std::iter::from_fn(|| queue.pop_until(Instant::MAX, |_| ()).map(|key| (queue.now().0, key))).collect()
    }

    #[test]
    fn the_wheel_moves_when_an_event_is_scheduled_beyond_its_range() {
        let mut queue = EventQueue::<u64>::new(Duration(1_000));
        queue.move_to(Instant(1_000_000));
        queue.schedule(Instant(1_000_500), 1);
        assert!(queue.far.is_empty());
        queue.schedule(Instant(2_000_000), 2);
        assert_eq!(queue.far.len(), 1);
    }

    #[test]
    fn events_fire_in_time_order() {
        let mut queue = EventQueue::new(Duration::from_micros(1));
        for at in [5, 3_000_000, 4, 80_000_000_000, 4_095] {
            queue.schedule(Instant(at), at);
        }
        let times: Vec<u64> = drain(&mut queue).iter().map(|fired| fired.0).collect();
        assert_eq!(times, [4, 5, 4_095, 3_000_000, 80_000_000_000]);
    }

    #[test]
    fn simultaneous_events_fire_in_key_order_whatever_the_order_of_scheduling() {
        let mut queue = EventQueue::new(Duration::from_micros(1));
        for key in [3, 1, 2] {
            queue.schedule(Instant(7), key);
        }
        assert_eq!(drain(&mut queue), [(7, 1), (7, 2), (7, 3)]);
    }

    #[test]
    fn an_event_may_be_scheduled_at_the_current_time() {
        let mut queue = EventQueue::new(Duration::from_micros(1));
        queue.schedule(Instant(7), 5);
        queue.schedule(Instant(7), 9);
        assert_eq!(queue.pop_until(Instant::MAX, |_| ()), Some(5));
        queue.schedule(Instant(7), 6);
        assert_eq!(drain(&mut queue), [(7, 6), (7, 9)]);
    }

    #[test]
    fn events_after_the_limit_stay() {
        let mut queue = EventQueue::new(Duration::from_micros(1));
        queue.schedule(Instant(7), 1);
        assert_eq!(queue.pop_until(Instant(6), |_| ()), None);
        assert_eq!(queue.pop_until(Instant(7), |_| ()), Some(1));
    }

    #[test]
    fn time_can_move_into_the_bucket_of_the_next_event() {
        let mut queue = EventQueue::new(Duration::from_micros(1));
        // Buckets have 256 ps.
        queue.schedule(Instant(1_000), 1);
        queue.schedule(Instant(5_000), 2);
        queue.move_to(Instant(900));
        assert_eq!(drain(&mut queue), [(1_000, 1), (5_000, 2)]);
    }

    /// World that records each event that it handles or prefetches for.
    #[derive(Default)]
    struct Prefetching {
        handled: Vec<u64>,
        /// Each event of a prefetch, and the number of events that were handled before.
        prefetched: std::cell::RefCell<Vec<(u64, usize)>>,
    }

    impl World for Prefetching {
        type Event = u64;
        fn handle(&mut self, event: u64, _queue: &mut EventQueue<u64>) {
            self.handled.push(event);
        }
        fn prefetch_for(&self, event: u64) {
            self.prefetched.borrow_mut().push((event, self.handled.len()));
        }
    }

    #[test]
    fn state_is_prefetched_for_the_next_event_of_the_heap_when_the_one_before_it_fires() {
        let mut queue = EventQueue::new(Duration::from_micros(1));
        let far = Duration::from_millis(1);
        for (at, event) in [(Duration(5), 1), (far, 2), (far + Duration(7), 3), (far * 2, 4)] {
            queue.schedule(Instant::ZERO + at, event);
        }
        let mut world = Prefetching::default();
        run(&mut world, &mut queue, Instant::ZERO + far, u64::MAX);
        assert_eq!((&world.handled[..], &world.prefetched.borrow()[..]), (&[1, 2][..], &[(3, 1)][..]));
        run_before(&mut world, &mut queue, Instant::MAX, 0);
        assert_eq!(
            (&world.handled[..], &world.prefetched.borrow()[..]),
            (&[1, 2, 3, 4][..], &[(3, 1), (4, 2)][..])
        );
    }

    #[test]
    #[should_panic(expected = "in the past")]
    fn the_past_cannot_be_scheduled() {
        let mut queue = EventQueue::new(Duration::from_micros(1));
        queue.schedule(Instant(7), 1);
        queue.pop_until(Instant::MAX, |_| ());
        queue.schedule(Instant(6), 1);
    }

    proptest! {
        /// Compares the queue with a binary heap of times and keys. Equal times and identical events are frequent in this test.
        #[test]
        fn the_queue_agrees_with_a_list(
            horizon in 1u64..1_000_000,
            grain in prop_oneof![Just(1), Just(250_000)],
            steps in prop::collection::vec((0u64..7, 0u64..3_000_000, 0u64..3), 1..400),
        ) {
            let mut queue = EventQueue::new(Duration(horizon));
            let mut model = BinaryHeap::new();
            for (kind, delay, key) in steps {
                if kind >= 5 {
                    // Cancel an event, which may or may not be pending.
                    let mut pending = model.into_vec();
                    let place = delay as usize % (pending.len() + 1);
                    let (at, key) = match pending.get(place) {
                        Some(&Reverse((at, own))) => (at, if kind == 5 { own } else { key }),
                        None => (queue.now().0 + delay, key),
                    };
                    let place = pending.iter().position(|&Reverse(other)| other == (at, key));
                    place.map(|place| pending.swap_remove(place));
                    model = pending.into();
                    prop_assert_eq!(queue.cancel(Instant(at), key), place.is_some());
                } else if kind == 0 || kind == 4 {
                    // Pop events up to a limit, as each window of a parallel run does. All events may lie after the limit.
                    let until = if kind == 0 { Instant::MAX } else { queue.now() + Duration(delay / 8) };
                    let next = model.peek().copied().filter(|&Reverse((at, _))| at <= until.0);
                    prop_assert_eq!(queue.pop_until(until, |_| ()), next.map(|Reverse((_, key))| key));
                    if let Some(Reverse((at, _))) = next {
                        prop_assert_eq!(queue.now(), Instant(at));
                        model.pop();
                    }
                } else {
                    // Delays in three ranges: within a bucket, within the wheel, and beyond the wheel.
                    let delay = [delay % 300, delay, delay * 1_000][kind as usize - 1];
                    let at = (queue.now() + Duration(delay)).0.next_multiple_of(grain);
                    queue.schedule(Instant(at), key);
                    model.push(Reverse((at, key)));
                }
            }
            let rest: Vec<(u64, u64)> = std::iter::from_fn(|| model.pop().map(|next| next.0)).collect();
            prop_assert_eq!(drain(&mut queue), rest);
        }

        /// Compares [`run_before`] with a binary heap of times and keys. Other events are scheduled before and while events fire.
        #[test]
        fn events_before_another_fire_in_order(
            horizon in 1u64..1_000_000,
            steps in prop::collection::vec((any::<bool>(), 0u64..3, 0u64..3_000_000, 0u64..3), 1..400),
        ) {
            // Times are multiples of the delay of the following events, so that equal times are frequent.
            let mut queue = EventQueue::new(Duration(horizon));
            let (mut world, mut model) = (Fired::default(), BinaryHeap::new());
            for (schedules, range, delay, key) in steps {
                let delay = [delay % 5_000, delay, delay * 1_000][range as usize];
                let at = (queue.now().0 + delay).next_multiple_of(DELAY);
                if schedules {
                    queue.schedule(Instant(at), key);
                    model.push(Reverse((at, key)));
                    continue;
                }
                run_before(&mut world, &mut queue, Instant(at), key);
                let mut expected = Vec::new();
                while let Some(&Reverse((time, event))) = model.peek()
                    && (time, event) < (at, key)
                {
                    model.pop();
                    expected.push((time, event));
                    model.extend(Fired::next(event).map(|next| Reverse((time + DELAY, next))));
                }
                prop_assert_eq!(std::mem::take(&mut world.0), expected);
                queue.move_to(Instant(at));
            }
        }
    }

    /// World that records the times and keys of the events that it handles. After every event except 0, an event with a lower key follows.
    #[derive(Default)]
    struct Fired(Vec<(u64, u64)>);

    const DELAY: u64 = 1_000;

    impl Fired {
        fn next(event: u64) -> Option<u64> {
            event.checked_sub(1)
        }
    }

    impl World for Fired {
        type Event = u64;

        fn handle(&mut self, event: u64, queue: &mut EventQueue<u64>) {
            self.0.push((queue.now().0, event));
            if let Some(next) = Self::next(event) {
                queue.schedule(queue.now() + Duration(DELAY), next);
            }
        }
    }
}
