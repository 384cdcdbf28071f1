//! Constants of Linux for the conversion of scenarios.

use shallows_core::Duration;

/// Timer tick of a kernel with HZ = 250, the most common value; timers of TCP are no finer.
pub(super) const TICK: Duration = Duration::from_millis(4);

/// Largest receive window in bytes. While a receiver's window grows (by two segments for each arriving segment), the receiver acknowledges
/// every segment (Linux, `tcp_grow_window`). With the largest buffers, the window grows during the first ten thousand segments of each
/// connection. With this value, the window grows only during the first 700 segments.
pub(super) const LARGEST_WINDOW: u64 = 1 << 21;

/// Default of `sysctl_tcp_pacing_ss_ratio`, in percent of a window per round trip. `PACING_AVOIDANCE` is the default of
/// `sysctl_tcp_pacing_ca_ratio`, and `MOST_PACING` the maximum of both settings (net/ipv4/sysctl_net_ipv4.c, `tcp_max_..._ratio`).
pub(super) const PACING_SLOW_START: u32 = 200;
pub(super) const PACING_AVOIDANCE: u32 = 120;
pub(super) const MOST_PACING: u32 = 1_000;

/// Value of `sysctl_tcp_early_retrans` that enables probes for lost segments at the end of a window (tcp_input.c).
pub(super) const TAIL_LOSS_PROBES: &str = "3";
