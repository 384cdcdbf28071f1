//! PINT (Ben Basat et al., SIGCOMM '20): telemetry of one or two bytes per packet. For HPCC, the telemetry is the logarithm of the highest
//! utilisation of a port on the path. The switches measure the utilisation.
//!
//! Rules and constants are those of HPCC's repository (`pint.cc`, `switch-node.cc`), with exact arithmetic. The repository's switches
//! approximate logarithms by tables, as hardware does.

use std::num::NonZeroU16;

use shallows_core::{Bytes, Duration, Instant};

use super::interface::Telemetry;

/// Parameters that all switches and queue pairs of a network share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Base of the logarithm, above 1.
    pub log_base: f64,
    /// Round-trip time T over which a switch averages the utilisation.
    pub base_rtt: Duration,
}

/// Base of the logarithms in HPCC's repository. With this base, a code has one byte.
pub const LOG_BASE: f64 = 1.05;

/// Number of steps into which a utilisation of 1 is divided; also the largest utilisation (`max_concurrent`).
const STEPS: f64 = 512.0;

impl Config {
    /// Returns the code of a utilisation: its logarithm plus one, rounded up or down at random. The expected value of [`Self::decode`] is
    /// then the utilisation, rounded up to a multiple of 1/512. `uniform` is a random number from 0 to 1.
    pub fn encode(&self, utilisation: f64, uniform: f64) -> NonZeroU16 {
        let steps = (utilisation * STEPS).ceil().clamp(1.0, STEPS * STEPS);
        // The search finds the largest logarithm whose power is at most `steps`.
        let (mut lower, mut beyond) = (0, u16::MAX);
        while beyond - lower > 1 {
            let middle = lower + (beyond - lower) / 2;
            if power(self.log_base, middle) <= steps { lower = middle } else { beyond = middle }
        }
        let [below, above] = [lower, lower + 1].map(|logarithm| power(self.log_base, logarithm));
        let rounds_up = above <= STEPS * STEPS && uniform < (steps - below) / (above - below);
        NonZeroU16::MIN.saturating_add(lower + u16::from(rounds_up))
    }

    /// Returns the utilisation of a code.
    pub fn decode(&self, code: NonZeroU16) -> f64 {
        power(self.log_base, code.get() - 1) / STEPS
    }
}

/// Returns the bytes of a code in a packet (`get_n_bytes`): one if the logarithm of the largest utilisation, 512, is below 256.
pub fn header(log_base: f64) -> Bytes {
    if power(log_base, 256) > STEPS * STEPS { Bytes(1) } else { Bytes(2) }
}

/// Returns `base` to the power of `exponent`. Unlike the system's functions, this function returns the same bits on every machine.
fn power(base: f64, mut exponent: u16) -> f64 {
    let (mut result, mut square) = (1.0, base);
    while exponent > 0 {
        if exponent % 2 == 1 {
            result *= square;
        }
        square *= square;
        exponent /= 2;
    }
    result
}

/// Utilisation of a port: a moving average over the round-trip time T.
#[derive(Clone, Copy, Debug, Default)]
pub struct PortUtilisation {
    /// Average utilisation U.
    average: f64,
    /// Time of the last departure.
    at: Instant,
    /// Bytes that the port has sent, the last packet included.
    sent: u64,
    /// Bytes of the last packet.
    last_size: u64,
}

impl PortUtilisation {
    /// Adds a departing packet to U, and returns U: U ← (1 − τ/T)·U + τ·q/(B·T²) + b/(B·T). τ is the time since the last departure, at most
    /// T; q is the backlog; b is the size in bytes of the last packet, which was sent during τ.
    pub fn on_departure(&mut self, base_rtt: Duration, hop: &Telemetry) -> f64 {
        let rtt = base_rtt.as_secs_f64();
        let passed = hop.at.saturating_since(self.at).as_secs_f64().min(rtt);
        let pipe = hop.rate.0 as f64 / 8.0 * rtt;
        self.average = (1.0 - passed / rtt) * self.average
            + passed / rtt * hop.backlog.0 as f64 / pipe
            + self.last_size as f64 / pipe;
        *self = Self { average: self.average, at: hop.at, sent: hop.sent, last_size: hop.sent - self.sent };
        self.average
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::Rate;
    use shallows_core::random::Stream;

    use super::*;

    const T: Duration = Duration::from_micros(8);
    const PINT: Config = Config { log_base: 1.05, base_rtt: T };

    #[test]
    fn a_port_averages_its_backlog_and_what_it_has_sent() {
        // 100 Gb/s for 8 µs are 100,000 B.
        let hop = |us, sent, backlog| Telemetry {
            at: Instant::ZERO + Duration::from_micros(us),
            sent,
            backlog: Bytes(backlog),
            rate: Rate::from_gbps(100),
        };
        let mut port = PortUtilisation::default();
        // No packet was sent before: 8/8 of the backlog.
        assert_eq!(port.on_departure(T, &hop(100, 10_000, 20_000)), 0.2);
        // 6/8 · 0.2 + 2/8 · 0.4 + 0.1.
        let second = port.on_departure(T, &hop(102, 30_000, 40_000));
        assert!((second - 0.35).abs() < 1e-12, "{second}");
        // After 8 µs or more, only the new backlog and the last 20,000 bytes count.
        let third = port.on_departure(T, &hop(120, 31_000, 0));
        assert!((third - 0.2).abs() < 1e-12, "{third}");
    }

    #[test]
    fn a_busy_port_without_a_queue_has_a_utilisation_of_one() {
        let mut port = PortUtilisation::default();
        let depart = |number: u64| Telemetry {
            at: Instant::ZERO + Duration::from_nanos(80 * number),
            sent: 1_000 * number,
            backlog: Bytes(0),
            rate: Rate::from_gbps(100),
        };
        let last = (1..2_000).map(|number| port.on_departure(T, &depart(number))).last().unwrap();
        assert!((last - 1.0).abs() < 1e-6, "{last}");
    }

    #[test]
    fn codes_are_logarithms_rounded_up_and_down_at_random() {
        let logarithm = |utilisation, uniform| PINT.encode(utilisation, uniform).get() - 1;
        // 1.05^127 = 491.0 and 1.05^128 = 515.5 steps; a utilisation of 0.99 has 507.
        let [below, above] = [127, 128].map(|logarithm| power(1.05, logarithm));
        assert!((below - 490.97).abs() < 0.1 && (above - 515.5).abs() < 0.1, "{below} {above}");
        let share = (507.0 - below) / (above - below);
        assert_eq!([share - 1e-9, share + 1e-9].map(|uniform| logarithm(0.99, uniform)), [128, 127]);
        assert_eq!([0.0, 1e-9, 1.0 / 512.0].map(|utilisation| logarithm(utilisation, 0.0)), [0, 0, 0]);
        assert_eq!([600.0, 512.0].map(|utilisation| logarithm(utilisation, 0.0)), [255, 255]);
    }

    #[test]
    fn the_expected_value_of_a_code_is_the_utilisation() {
        let mut stream = Stream::new(1, "test", 0);
        for utilisation in [0.25, 0.95, 1.5, 100.0] {
            let code = |_| PINT.decode(PINT.encode(utilisation, stream.uniform()));
            let mean = (0..20_000).map(code).sum::<f64>() / 20_000.0;
            // Steps of 5 % have a standard deviation of at most 2.5 %; of the mean, 0.018 %. The step of 1/512 adds up to 0.4 % at 0.25.
            assert!((mean / utilisation - 1.0).abs() < 0.005, "{mean} instead of {utilisation}");
        }
    }

    #[test]
    fn a_code_of_base_1_05_has_one_byte_and_one_of_a_lower_base_has_two() {
        // The repository: the logarithm of 512² is 255.7 to base 1.05, 260.8 to base 1.049, and 1,254 to base 1.01.
        assert_eq!([1.05, 1.049, 1.01].map(header), [Bytes(1), Bytes(2), Bytes(2)]);
    }
}
