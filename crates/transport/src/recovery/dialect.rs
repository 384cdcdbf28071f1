//! Rules in which the senders of ns-2 differ from the RFCs, except for the rules that repair losses.

use super::interface::Method;

/// Rules of one sender: the sender of the RFCs ([`RFC`]), or a sender of ns-2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// Whether a fast retransmit restarts the retransmission timer and ends the current RTT measurement.
    pub(crate) fast_retransmit_restarts_timer: bool,
    /// Whether the RTT measurement of a segment continues when another segment is retransmitted. RFC 6298 §3 (Karn's algorithm) takes no
    /// sample from a segment that may have been sent twice.
    pub(crate) repairs_leave_timing: bool,
    /// Event that ends the back-off of the timer while data is missing.
    pub(crate) back_off_ends: BackOffEnds,
    /// Acknowledgements with ECE that cut the window.
    pub(crate) ece: Ece,
    /// Whether a loss in a window that was already cut for ECN replaces ECN as the recorded cause of the cut. The window is not cut again
    /// in either case.
    pub(crate) loss_replaces_cut_for_ecn: bool,
    /// Whether a lost SYN only delays the connection. By the RFCs it also makes the window smaller (RFC 5681 §3.1) and the timer longer
    /// (RFC 6298 §5.7).
    pub(crate) lost_syn_costs_wait_alone: bool,
}

/// Event that ends the back-off of the retransmission timer while data is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BackOffEnds {
    /// A measured round-trip time (RFC 6298 §5).
    WithSample,
    /// Any acknowledgement of new data.
    WithNewData,
    /// Any acknowledgement of new data. The timer is restarted first, and therefore still has the longer timeout.
    AfterTimer,
}

/// Acknowledgements with ECE that cut the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ece {
    /// First acknowledgement with ECE for data sent after the last cut (RFC 3168 §6.1.2).
    OncePerWindow,
    /// First acknowledgement with ECE for data sent after the last cut, and the first one after a timeout, even if it is a duplicate
    /// (`TcpAgent::ecn`).
    AfterTimeout,
    /// First acknowledgement with ECE for data sent after the last cut, and the first one after a timeout, if it acknowledges new data
    /// (`FullTcpAgent::recv`).
    AfterTimeoutOnNewData,
}

/// Rules of RFC 5681, RFC 6298 and RFC 3168.
const RFC: Dialect = Dialect {
    fast_retransmit_restarts_timer: false,
    repairs_leave_timing: false,
    back_off_ends: BackOffEnds::WithSample,
    ece: Ece::OncePerWindow,
    loss_replaces_cut_for_ecn: false,
    lost_syn_costs_wait_alone: false,
};

/// Rules of ns-2.35's `Agent/TCP/Sack1` (`tcp.cc`, `tcp-sack1.cc`).
const NS2_SACK1: Dialect = Dialect {
    fast_retransmit_restarts_timer: true,
    repairs_leave_timing: true,
    back_off_ends: BackOffEnds::WithNewData,
    ece: Ece::AfterTimeout,
    loss_replaces_cut_for_ecn: true,
    lost_syn_costs_wait_alone: true,
};

/// Rules of ns-2.35's `Agent/TCP/FullTcp/Sack` (`tcp-full.cc`).
const NS2_FULL_TCP: Dialect =
    Dialect { back_off_ends: BackOffEnds::AfterTimer, ece: Ece::AfterTimeoutOnNewData, ..NS2_SACK1 };

impl Method {
    /// Returns the rules of a sender with this loss recovery.
    #[inline]
    pub(crate) fn dialect(self) -> &'static Dialect {
        match self {
            Self::FullTcp => &NS2_FULL_TCP,
            Self::Sack1 => &NS2_SACK1,
            Self::Sack(_) | Self::Rack(_) | Self::NewReno | Self::Reno => &RFC,
        }
    }
}

impl Ece {
    /// Returns whether an acknowledgement with ECE cuts cwnd. `beyond`: it acknowledges data sent after the last cut. `new_data`: it
    /// acknowledges new data and is not a duplicate. `after_timeout`: the last cut was for a timeout.
    #[inline]
    pub(crate) fn cuts(self, beyond: bool, new_data: bool, after_timeout: bool) -> bool {
        match self {
            Self::OncePerWindow => beyond,
            Self::AfterTimeout => beyond || after_timeout,
            Self::AfterTimeoutOnNewData => new_data && (beyond || after_timeout),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_agents_of_ns_2_differ_from_the_rfcs() {
        for method in [Method::Sack(None), Method::Rack(None), Method::NewReno, Method::Reno] {
            assert_eq!(*method.dialect(), RFC, "{method:?}");
        }
        let (full, sack1) = (*Method::FullTcp.dialect(), *Method::Sack1.dialect());
        // `tcp-full.cc` calls `ecn` for acknowledgements of new data only, and sets the timer before it ends the back-off.
        let (back_off_ends, ece) = (BackOffEnds::AfterTimer, Ece::AfterTimeoutOnNewData);
        assert_eq!(full, Dialect { back_off_ends, ece, ..sack1 });
    }

    #[test]
    fn an_ece_cuts_once_per_window_and_with_ns_2_once_more_after_a_timeout() {
        // In order: beyond the window, on new data, after a timeout.
        let all = [false, true]
            .map(|beyond| [false, true].map(|data| [false, true].map(|late| (beyond, data, late))));
        let all: Vec<_> = all.into_iter().flatten().flatten().collect();
        let cuts = |ece: Ece| {
            all.iter().map(|&(beyond, data, late)| ece.cuts(beyond, data, late)).collect::<Vec<_>>()
        };
        assert_eq!(cuts(Ece::OncePerWindow), [false, false, false, false, true, true, true, true]);
        assert_eq!(cuts(Ece::AfterTimeout), [false, true, false, true, true, true, true, true]);
        assert_eq!(cuts(Ece::AfterTimeoutOnNewData), [false, false, false, true, false, false, true, true]);
    }
}
