//! Numbers of Linux that scenarios are converted by.

use shallows_core::Duration;

/// HZ = 250, the most common; timers of TCP are no finer.
pub(super) const TICK: Duration = Duration::from_millis(4);

/// While a receiver lets its window grow, by two segments for each that comes, it acknowledges every single one (Linux,
/// `tcp_grow_window`). With the largest buffers that takes the first ten thousand segments of each connection; with this, 700.
pub(super) const LARGEST_WINDOW: u64 = 1 << 21;

/// `sysctl_tcp_pacing_ss_ratio` and `sysctl_tcp_pacing_ca_ratio`, in percent of a window in a round trip, and the most that they can be
/// (net/ipv4/sysctl_net_ipv4.c, `tcp_max_..._ratio`).
pub(super) const PACING_SLOW_START: u32 = 200;
pub(super) const PACING_AVOIDANCE: u32 = 120;
pub(super) const MOST_PACING: u32 = 1_000;

/// `sysctl_tcp_early_retrans` that lets a probe find out whether a window's last segments were lost (tcp_input.c).
pub(super) const TAIL_LOSS_PROBES: &str = "3";
