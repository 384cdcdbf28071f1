//! Work on several threads. The results do not depend on the number of threads.

use std::sync::{Mutex, PoisonError};
use std::thread;

/// Applies `work` to each item on up to `threads` threads, one of which is the calling thread. Returns the results in the order of the
/// items. The calling thread begins with the first item, and each other thread with one of the next items. If the system starts fewer threads,
/// those share the work.
///
/// # Panics
///
/// If `work` panics.
pub fn map<T: Send, R: Send>(threads: usize, items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let threads = threads.min(items.len());
    if threads < 2 {
        return items.into_iter().map(work).collect();
    }
    let mut items = items.into_iter().enumerate();
    let first = items.next();
    let queue = Mutex::new(items);
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let take_turns = |first: Option<(usize, T)>| {
        let mut done = Vec::new();
        let mut taken = first.or_else(next);
        while let Some((place, item)) = taken {
            done.push((place, work(item)));
            taken = next();
        }
        done
    };
    let mut done = thread::scope(|scope| {
        let start = |_| thread::Builder::new().spawn_scoped(scope, || take_turns(None)).ok();
        let others: Vec<_> = (1..threads).map_while(start).collect();
        let mut done = take_turns(first);
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn the_results_are_in_the_order_of_the_items() {
        for threads in [0, 1, 2, 3, 7] {
            for count in [0, 1, 2, 100] {
                let squares = map(threads, (0..count).collect(), |number: u64| number * number);
                assert_eq!(squares, (0..count).map(|number| number * number).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn each_thread_works() {
        for count in [2, 3] {
            // No item is done before all threads have taken one.
            let all = Barrier::new(count);
            let work = |()| {
                all.wait();
                format!("{:?}", thread::current().id())
            };
            let threads: BTreeSet<String> = map(count, vec![(); count], work).into_iter().collect();
            assert_eq!(threads.len(), count);
        }
    }

    #[test]
    fn the_calling_thread_begins_with_the_first_item() {
        // Without this rule, another thread takes the first item in some rounds, but not in all.
        for _ in 0..200 {
            let by: Vec<_> = map(2, vec![(); 2], |()| thread::current().id());
            assert_eq!(by[0], thread::current().id());
        }
    }

    #[test]
    fn a_panic_of_any_thread_is_passed_on() {
        for broken in [0, 1, 99] {
            let work = |number: u32| assert_ne!(number, broken, "broken");
            assert!(catch_unwind(AssertUnwindSafe(|| map(2, (0..100).collect(), work))).is_err());
        }
    }
}
