//! What a sender has to send, as far as its host asks: bursts are made of it.

use shallows_core::Bytes;

use super::Sender;
use super::interface::State;

impl Sender {
    /// What may be outstanding: the smaller of cwnd and what the receiver offers.
    pub fn usable_window(&self) -> Bytes {
        self.cwnd().min(Bytes(self.limit - self.una))
    }

    /// New data that may be sent now. None if something else decides about what goes next: a connection that opens or repairs
    /// a loss.
    pub fn sendable(&self) -> Option<Bytes> {
        let in_order = !self.disordered && matches!(self.state, State::Open | State::Reducing);
        let end = self.written.min(self.una + self.usable_window().0);
        in_order.then(|| Bytes(end.saturating_sub(self.next)))
    }
}
