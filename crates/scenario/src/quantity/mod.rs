//! Quantities as scenarios write them, such as sizes, times and rates.

mod choices;
mod number_map;
mod numbers;
mod per_queue;
mod text;

pub(crate) use choices::{Backpressure, Every, HeadroomSize, Jitter, Tso};
pub(crate) use number_map::NumberMap;
pub(crate) use numbers::{MAX_PACKET, PacketSize, Window};
pub(crate) use per_queue::PerQueue;
pub(crate) use text::{Amount, Automatic, Depth, MAX_TIME, PacketRate, Size, Speed, Time};

#[cfg(test)]
mod tests {
    use shallows_core::{Bytes, Duration};

    use super::*;

    #[test]
    fn amounts_are_sizes_or_packets() {
        assert_eq!("80p".parse(), Ok(Amount::Packets(80)));
        assert_eq!("720KB".parse(), Ok(Amount::Bytes(Bytes(720_000))));
        assert_eq!(
            "720kb".parse::<Amount>().unwrap_err(),
            "must be a size such as \"720KB\", got \"720kb\": the unit is missing or unknown; did you mean \"720KB\"? \
             (units: B, KB, MB, GB, TB, KiB, MiB, GiB); a number of packets such as \"80p\" is also allowed"
        );
        assert_eq!(
            "-3p".parse::<Amount>().unwrap_err(),
            "must be a number of packets such as \"80p\", got \"-3p\""
        );
    }

    #[test]
    fn packet_rates_have_a_unit_of_their_own() {
        let rate = |text: &str| text.parse::<PacketRate>();
        assert_eq!((rate("20.5Mpps"), rate("100pps")), (Ok(PacketRate(20_500_000)), Ok(PacketRate(100))));
        assert_eq!(PacketRate(20_500_000).to_string(), "20.5Mpps");
        assert_eq!(rate("20Gpps").unwrap_err(), "must be from 1pps to 10Gpps, got \"20Gpps\"");
        assert_eq!(
            rate("20Mbps").unwrap_err(),
            "must be a number of packets per second such as \"20Mpps\", got \"20Mbps\" (units: pps, Kpps, Mpps, Gpps)"
        );
    }

    #[test]
    fn quantities_beyond_reason_are_refused_with_the_bound() {
        assert_eq!("2s".parse::<Time>().map(|time| time.0), Ok(Duration::from_secs(2)));
        assert_eq!("90000s".parse::<Time>().unwrap_err(), "must be at most 86400s, got \"90000s\"");
        assert_eq!("2000000GB".parse::<Size>().unwrap_err(), "must be at most 1048576GiB, got \"2000000GB\"");
        assert_eq!("0bps".parse::<Speed>().unwrap_err(), "must be from 1Mbps to 100Tbps, got \"0bps\"");
    }
}
