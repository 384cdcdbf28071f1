//! The process and its machine: rights, scheduling, and time that other virtual machines took.

use std::collections::BTreeSet;
use std::fs;
use std::io;

use super::checked;

/// Returns whether this process has the rights of root.
pub fn is_root() -> bool {
    // SAFETY: it cannot fail and changes nothing.
    unsafe { libc::geteuid() == 0 }
}

/// Becomes root of a new user namespace, which suffices for network namespaces. Must be called before the first thread starts.
///
/// # Errors
///
/// If this machine does not allow user namespaces.
pub fn become_root() -> io::Result<()> {
    // SAFETY: both cannot fail; the process has one thread, as `unshare` requires.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    checked(unsafe { libc::unshare(libc::CLONE_NEWUSER) })?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}

/// Makes the kernel kill this process when its parent process ends, for whatever reason.
pub fn die_with_parent() {
    // SAFETY: takes only a number.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

/// Kind of thread that gets priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The programs of hosts.
    Programs,
    /// The switch, and kernel threads that process packets arriving at hosts; as in a real network, they do not wait for programs.
    Network,
}

impl Who {
    fn real_time(self) -> SchedulingAttributes {
        SchedulingAttributes {
            policy: libc::SCHED_FIFO.cast_unsigned(),
            priority: 1 + u32::from(self == Self::Network),
            ..SchedulingAttributes::default()
        }
    }
}

/// Gives the calling thread real-time priority and exact wake-ups. Returns whether the thread has priority.
///
/// A real-time thread preempts others when it is woken. The kernel stops such threads for 50 ms once they have used a processor for
/// almost a second, so a thread that needs more is late, which `Health` reports. Without the right to real-time priority, the thread
/// gets a short time slice (since Linux 6.12).
pub fn hurry(who: Who) -> bool {
    let short_slice = SchedulingAttributes {
        policy: libc::SCHED_OTHER.cast_unsigned(),
        nice: -20,
        runtime: 100_000,
        ..SchedulingAttributes::default()
    };
    // SAFETY: takes only a number.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    who.real_time().apply(THIS_THREAD) || short_slice.apply(THIS_THREAD)
}

/// Returns the masks of the switch's processor and of the hosts' processors; `None` if the machine has only one processor.
///
/// By default, Linux processes a packet at a host on the processor that sent the packet. One thread would therefore do the work of the
/// switch and of the kernels of both hosts, and delay all three.
pub fn switch_and_hosts() -> Option<(u32, u32)> {
    // SAFETY: the kernel writes one set, for which zeros are valid; its bits are read within its size.
    let all: Vec<usize> = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&set), &raw mut set);
        (0..u32::BITS as usize).filter(|&processor| libc::CPU_ISSET(processor, &set)).collect()
    };
    // Simultaneous runs use different processors, if there are enough.
    let switch = *all.get(std::process::id() as usize % all.len().max(1))?;
    let hosts = all.iter().filter(|&&other| other != switch).fold(0, |mask, other| mask | 1 << other);
    (hosts != 0).then_some((1 << switch, hosts))
}

/// Process number that denotes the calling thread.
const THIS_THREAD: libc::pid_t = 0;

/// Restricts the calling thread to the processors of `mask`, if allowed.
pub fn stay_on(mask: u32) {
    keep_on(THIS_THREAD, mask);
}

fn keep_on(thread: libc::pid_t, mask: u32) {
    // SAFETY: a set of processors, with room for all bits of a mask.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        (0..u32::BITS)
            .filter(|bit| mask >> bit & 1 == 1)
            .for_each(|bit| libc::CPU_SET(bit as usize, &mut set));
        libc::sched_setaffinity(thread, size_of_val(&set), &raw const set);
    }
}

/// Runs `start`, and gives priority on the processors of `mask` to the kernel threads of interfaces with this name that begin meanwhile.
/// Threads that existed before have the same name but belong to other networks.
pub fn hurry_new_interface_threads(name: &str, mask: u32, start: impl FnOnce()) -> Vec<Hurried> {
    let before = interface_threads(name);
    start();
    let new = interface_threads(name).into_iter().filter(|thread| !before.contains(thread));
    new.filter_map(|thread| Hurried::new(thread, mask)).collect()
}

/// Returns the kernel threads that process packets arriving at interfaces of this name, in any network of the machine.
fn interface_threads(name: &str) -> BTreeSet<libc::pid_t> {
    let begin = format!("napi/{name}-");
    let is_one = |process: &fs::DirEntry| {
        fs::read_to_string(process.path().join("comm")).is_ok_and(|name| name.starts_with(&begin))
    };
    let all = fs::read_dir("/proc").into_iter().flatten().flatten().filter(is_one);
    all.filter_map(|process| process.file_name().to_str()?.parse().ok()).collect()
}

/// Thread with the priority of `Who::Network` on certain processors; dropping this value restores the thread's previous scheduling.
#[derive(Debug)]
pub struct Hurried {
    thread: libc::pid_t,
    processors: libc::cpu_set_t,
    attributes: SchedulingAttributes,
}

impl Hurried {
    /// Gives the thread with this identifier priority on the processors in `mask`. Returns `None` if that is not allowed or if the thread
    /// has ended.
    fn new(thread: libc::pid_t, mask: u32) -> Option<Self> {
        let attributes = SchedulingAttributes::of(thread)?;
        // SAFETY: the kernel writes one set, for which zeros are valid.
        let processors = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            let size = size_of_val(&set);
            (libc::sched_getaffinity(thread, size, &raw mut set) == 0).then_some(set)?
        };
        Who::Network.real_time().apply(thread).then(|| keep_on(thread, mask))?;
        Some(Self { thread, processors, attributes })
    }
}

impl Drop for Hurried {
    fn drop(&mut self) {
        self.attributes.apply(self.thread);
        let set = &raw const self.processors;
        // SAFETY: the kernel reads one set, which lives until the call returns.
        unsafe { libc::sched_setaffinity(self.thread, size_of_val(&self.processors), set) };
    }
}

/// Scheduling of a thread: `struct sched_attr` of sched_setattr(2). Times are in nanoseconds.
#[repr(C)]
#[derive(Debug, PartialEq)]
struct SchedulingAttributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

impl Default for SchedulingAttributes {
    fn default() -> Self {
        Self {
            size: size_of::<Self>() as u32,
            policy: 0,
            flags: 0,
            nice: 0,
            priority: 0,
            runtime: 0,
            deadline: 0,
            period: 0,
        }
    }
}

impl SchedulingAttributes {
    /// Returns the scheduling of a thread; `None` if the thread has ended.
    fn of(thread: libc::pid_t) -> Option<Self> {
        let mut found = Self::default();
        let size = size_of::<Self>();
        // SAFETY: the kernel writes at most `size` bytes into a structure of that size.
        let result = unsafe { libc::syscall(libc::SYS_sched_getattr, thread, &raw mut found, size, 0) };
        (result == 0).then_some(found)
    }

    /// Applies this scheduling to a thread. Returns whether that is allowed.
    fn apply(&self, thread: libc::pid_t) -> bool {
        // SAFETY: a structure of the size in its first field.
        unsafe { libc::syscall(libc::SYS_sched_setattr, thread, std::ptr::from_ref(self), 0) == 0 }
    }
}

/// Total time of all processors since the machine started, and the part that other virtual machines took, in ticks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    all: u64,
    stolen: u64,
}

impl Times {
    /// Returns the current counters; zero if they cannot be read.
    pub fn now() -> Self {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        // proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal; later columns are included in the first two.
        let words = text.lines().next().unwrap_or_default().split_whitespace().skip(1).take(8);
        let ticks: Vec<u64> = words.map(|word| word.parse().unwrap_or(0)).collect();
        Self { all: ticks.iter().sum(), stolen: ticks.get(7).copied().unwrap_or(0) }
    }

    /// Returns the share of processor time that other virtual machines took since `before`, in percent.
    pub fn steal_since(&self, before: &Self) -> f64 {
        let all = self.all.saturating_sub(before.all);
        if all == 0 { 0.0 } else { self.stolen.saturating_sub(before.stolen) as f64 * 100.0 / all as f64 }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// Starts a process named `napi/decoy-NUMBER`, like the kernel thread of a network interface called `decoy`.
    fn named(number: u32) -> Child {
        let script = format!("printf napi/decoy-{number} > /proc/$$/comm; read ended");
        let child = Command::new("sh").args(["-c", &script]).stdin(Stdio::piped()).spawn().unwrap();
        let path = format!("/proc/{}/comm", child.id());
        let has_name = || fs::read_to_string(&path).is_ok_and(|name| name.starts_with("napi/"));
        let took_it = (0..20_000).any(|_| {
            thread::sleep(Duration::from_millis(1));
            has_name()
        });
        assert!(took_it, "the process never took its name");
        child
    }

    fn processors(thread: libc::pid_t) -> Vec<usize> {
        // SAFETY: as in `switch_and_hosts`.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::sched_getaffinity(thread, size_of_val(&set), &raw mut set);
            (0..u32::BITS as usize).filter(|&processor| libc::CPU_ISSET(processor, &set)).collect()
        }
    }

    #[test]
    fn only_threads_that_begin_meanwhile_hurry_and_run_afterwards_as_before() {
        let Some((_, mask)) = switch_and_hosts().filter(|_| is_root()) else {
            eprintln!("not run: needs root and several processors");
            return;
        };
        let mut physical = named(1);
        let numbers = |child: &Child| libc::pid_t::try_from(child.id()).unwrap();
        let how = |thread| (processors(thread), SchedulingAttributes::of(thread).unwrap());
        let (before, mut ours) = (how(numbers(&physical)), None);
        let hurried = hurry_new_interface_threads("decoy", mask, || ours = Some(named(2)));
        let mut ours = ours.unwrap();
        assert_eq!(hurried.iter().map(|each| each.thread).collect::<Vec<_>>(), [numbers(&ours)]);
        assert_eq!(how(numbers(&physical)), before, "a thread of another network was changed");
        let (now, attributes) = how(numbers(&ours));
        assert_eq!(now.iter().fold(0, |all, one| all | 1 << one), mask);
        assert_eq!(attributes.policy, libc::SCHED_FIFO.cast_unsigned());
        drop(hurried);
        assert_eq!(how(numbers(&ours)), before);
        for child in [&mut physical, &mut ours] {
            drop(child.stdin.take());
            child.wait().unwrap();
        }
    }
}
