//! Headroom by SONiC's formula for NVIDIA's Spectrum chips (sonic-swss, `cfgmgr/buffer_headroom_mellanox.lua`).

use std::fmt;

use shallows_core::{Bytes, Rate};

/// Version of the formula. Each variant names the pull requests of sonic-swss that introduced it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// #3235 (September 2024): the share of small packets is interpreted as a share of bytes.
    BySmallPackets,
    /// #4757 and #4797 (July 2026): additions for a reduced share of small packets and for Spectrum-6.
    Compensated,
}

/// A chip, as SONiC's table of ASICs describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chip {
    /// Generation, from 1 to 6.
    pub generation: u8,
    /// Cell of the memory.
    pub cell: Bytes,
    /// Latency of the pipeline, in bytes.
    pub pipeline: Bytes,
    /// Delay of MAC and PHY, in bytes.
    pub mac_phy: f64,
}

impl Chip {
    /// Creates a Spectrum of this generation with the values that SONiC ships.
    ///
    /// # Panics
    ///
    /// Panics if the generation is not from 1 to 6.
    pub fn spectrum(generation: u8) -> Self {
        let cell = match generation {
            1 => 96,
            2 | 3 => 144,
            4 | 5 => 192,
            6 => 256,
            _ => panic!("no Spectrum-{generation}"),
        };
        let pipeline = Bytes(if generation == 6 { 42 * 1_024 } else { 19 * 1_024 });
        Self { generation, cell: Bytes(cell), pipeline, mac_phy: 0.8 * 1_024.0 }
    }
}

/// A port and its traffic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Port {
    /// Rate of the link.
    pub rate: Rate,
    /// Length of the cable in metres.
    pub metres: u32,
    /// Number of lanes.
    pub lanes: u8,
    /// MTU of the port.
    pub mtu: Bytes,
    /// Delay of the port's gearbox, in SONiC's unit (1/1,024 µs, by the formula).
    pub gearbox_delay: f64,
    /// Bytes that the sender may still send before it responds; see [`super::largest_response`].
    pub response: Bytes,
    /// MTU of lossless traffic (`LOSSLESS_TRAFFIC_PATTERN`).
    pub lossless_mtu: Bytes,
    /// Percentage of small packets, from 0 to 100 (`LOSSLESS_TRAFFIC_PATTERN`).
    pub small_packets: u8,
    /// Whether the chip has a shared headroom pool.
    pub shared_headroom: bool,
}

/// Terms and results of the formula. Terms are in bytes, before rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Headroom {
    /// MTU of lossless traffic: the largest packet that the sender may have begun when it responds.
    pub lossless_mtu: Bytes,
    /// MTU of the port: the largest packet with which the switch itself may block the PFC frame.
    pub port_mtu: Bytes,
    /// Bytes in flight on the cable in both directions.
    pub cable: f64,
    /// Bytes in the gearboxes of both directions.
    pub gearbox: f64,
    /// Bytes that arrive during the delay of MAC and PHY.
    pub mac_phy: f64,
    /// Bytes that arrive until the sender responds.
    pub response: Bytes,
    /// Bytes in the tiles of Spectrum-4 and Spectrum-5.
    pub tile: f64,
    /// Bytes of memory occupied per arriving byte, given the share of small packets.
    pub occupancy: f64,
    /// Bytes that [`Version::Compensated`] adds after rounding.
    pub compensation: Bytes,
    /// `xoff` of SONiC's buffer profile: the headroom.
    pub xoff: Bytes,
    /// `xon` of SONiC's buffer profile.
    pub xon: Bytes,
    /// `size` of SONiC's buffer profile: the reserved memory of the priority group.
    pub size: Bytes,
}

/// Speed of light in a cable, in metres per second.
pub const SPEED_OF_LIGHT: f64 = 198e6;
/// Size of the smallest packet, in bytes.
const SMALL: f64 = 64.0;

impl Headroom {
    /// Returns the headroom of a priority group at `port` of `chip`.
    pub fn of(version: Version, chip: &Chip, port: &Port) -> Self {
        let bits = port.rate.0 as f64;
        let worst = worst_occupancy(chip.cell);
        let percentage = f64::from(port.small_packets);
        let lossless_mtu = port.lossless_mtu.0 as f64;
        // As shipped: 64 bytes over the mean packet size. The share of bytes would be this value times the share of small packets.
        let share = 100.0 * SMALL / (percentage * SMALL + (100.0 - percentage) * lossless_mtu);
        let mut headroom = Self {
            lossless_mtu: port.lossless_mtu,
            port_mtu: port.mtu,
            cable: 2.0 * f64::from(port.metres) * bits / SPEED_OF_LIGHT / 8.0,
            gearbox: 2.0 * (bits / 1e6) * port.gearbox_delay / (8.0 * 1_024.0),
            mac_phy: chip.mac_phy,
            response: port.response,
            tile: if matches!(chip.generation, 4 | 5) { bits / 1e9 * 15.0 } else { 0.0 },
            occupancy: 1.0 - share + share * worst,
            compensation: Bytes(0),
            xoff: Bytes(0),
            xon: whole_kib(chip.pipeline.0 as f64 * if port.lanes == 8 { 2.0 } else { 1.0 }),
            size: Bytes(0),
        };
        let before = headroom.xoff_at(headroom.occupancy);
        if version == Version::Compensated {
            if chip.generation == 6 {
                headroom.compensation += Bytes(18 * 1_024);
            }
            let more = Bytes(2 * 1_024);
            let is_reduced = !port.shared_headroom && port.small_packets != 100;
            if is_reduced && before + headroom.compensation + more < headroom.xoff_at(worst) {
                headroom.compensation += more;
            }
        }
        headroom.xoff = before + headroom.compensation;
        let speed_overhead = if port.lanes == 8 { port.mtu } else { Bytes(0) };
        headroom.size = if port.shared_headroom {
            headroom.xon
        } else {
            whole_kib((headroom.xoff + headroom.xon + speed_overhead).0 as f64)
        };
        headroom
    }

    /// Returns the bytes that arrive after the decision to pause.
    pub fn propagation(&self) -> f64 {
        self.port_mtu.0 as f64 + self.cable + self.gearbox + self.mac_phy + self.response.0 as f64 + self.tile
    }

    fn xoff_at(&self, occupancy: f64) -> Bytes {
        whole_kib(self.lossless_mtu.0 as f64 + self.propagation() * occupancy)
    }
}

/// Returns the memory that packets of 64 bytes occupy in cells, per byte of these packets, rounded up.
fn worst_occupancy(cell: Bytes) -> f64 {
    let cell = cell.0 as f64;
    let worst = if cell > 2.0 * SMALL { cell / SMALL } else { 2.0 * cell / (1.0 + cell) };
    worst.ceil()
}

fn whole_kib(bytes: f64) -> Bytes {
    Bytes((bytes / 1_024.0).ceil() as u64 * 1_024)
}

impl fmt::Display for Headroom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lossless_mtu, port_mtu, cable, gearbox, mac_phy, response, tile, occupancy, .. } = self;
        write!(
            f,
            "xoff = {} = {lossless_mtu} (lossless MTU) + {occupancy:.4} · ({port_mtu} (port MTU) + {cable:.0}B (cable) + \
             {gearbox:.0}B (gearboxes) + {mac_phy:.0}B (MAC, PHY) + {response} (response) + {tile:.0}B (tiles)), in whole \
             KiB, + {} (compensation); xon = {}, size = {}",
            self.xoff, self.compensation, self.xon, self.size
        )
    }
}
