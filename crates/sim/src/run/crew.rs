//! Threads that exist for the whole run and sleep between stretches (series of time windows).

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::run::partition::Partition;
use crate::run::schedule::Schedule;
use crate::run::stretch::Stretch;

/// Threads of a run besides the thread that advances the run.
#[derive(Debug, Default)]
pub(crate) struct Crew {
    members: Vec<Member>,
}

/// Thread that receives partitions through one channel before each stretch (series of time windows), and returns them through another
/// channel after the stretch.
#[derive(Debug)]
struct Member {
    tasks: Sender<Task>,
    done: Receiver<Vec<Partition>>,
    thread: JoinHandle<()>,
}

/// Work of one thread in a stretch (series of time windows): the partitions that the thread runs.
#[derive(Debug)]
struct Task {
    meeting: Arc<Meeting>,
    partitions: Vec<Partition>,
    /// Index of the first of `partitions` among all partitions of the network.
    first: usize,
}

/// State shared by all threads of a stretch (series of time windows).
#[derive(Debug)]
struct Meeting {
    stretch: Stretch,
    schedule: Mutex<Schedule>,
}

impl Crew {
    /// Runs a stretch (series of time windows) on several threads. Each element of `shares` is the number of partitions that one thread
    /// runs. The calling thread runs the first share. Returns the state of the stretch and the schedule.
    ///
    /// # Panics
    ///
    /// If one of the threads panics.
    pub(crate) fn run(
        &mut self,
        partitions: &mut Vec<Partition>,
        shares: &[usize],
        stretch: Stretch,
        schedule: Schedule,
    ) -> (Stretch, Schedule) {
        let [mine, others @ ..] = shares else { unreachable!("a run has a thread") };
        let meeting = Arc::new(Meeting { stretch, schedule: Mutex::new(schedule) });
        while self.members.len() < others.len() {
            self.members.push(Member::stand_by());
        }
        let (mut first, mut rest) = (*mine, partitions.split_off(*mine));
        for (member, &share) in self.members.iter().zip(others) {
            let after = rest.split_off(share);
            let task = Task {
                meeting: Arc::clone(&meeting),
                partitions: std::mem::replace(&mut rest, after),
                first,
            };
            // Sending fails only if the receiving thread has panicked; `take_back` reports the panic.
            drop(member.tasks.send(task));
            first += share;
        }
        meeting.stretch.work(partitions, 0, &meeting.schedule);
        for number in 0..others.len() {
            partitions.append(&mut self.take_back(number));
        }
        let Meeting { stretch, schedule } =
            Arc::into_inner(meeting).expect("threads drop it before they hand back their partitions");
        (stretch, schedule.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the identifiers of the threads, except the calling thread.
    #[cfg(test)]
    pub(crate) fn threads(&self) -> Vec<thread::ThreadId> {
        self.members.iter().map(|member| member.thread.thread().id()).collect()
    }

    /// Waits for the thread with this number and returns its partitions.
    fn take_back(&mut self, number: usize) -> Vec<Partition> {
        self.members[number].done.recv().unwrap_or_else(|_| {
            let ended = self.members.swap_remove(number).thread.join();
            std::panic::resume_unwind(ended.expect_err("a thread ends only when it panics"))
        })
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for Member { tasks, done, thread } in self.members.drain(..) {
            drop((tasks, done));
            // If the joined thread has panicked, either its panic has been reported, or the panic of another thread ends the run.
            drop(thread.join());
        }
    }
}

impl Member {
    fn stand_by() -> Self {
        let (tasks, received) = channel::<Task>();
        let (hand_back, done) = channel();
        let thread = thread::spawn(move || {
            for Task { meeting, mut partitions, first } in received {
                meeting.stretch.work(&mut partitions, first, &meeting.schedule);
                drop(meeting);
                if hand_back.send(partitions).is_err() {
                    return;
                }
            }
        });
        Self { tasks, done, thread }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_crew_that_is_dropped_waits_until_its_threads_have_ended() {
        let (tasks, received) = channel::<Task>();
        let (hand_back, done) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let noted = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            assert!(received.recv().is_err(), "no task comes");
            drop(hand_back);
            thread::sleep(Duration::from_millis(20));
            noted.store(true, Ordering::Relaxed);
        });
        drop(Crew { members: vec![Member { tasks, done, thread }] });
        assert!(is_over.load(Ordering::Relaxed));
    }
}
