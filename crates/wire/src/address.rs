//! Addresses of hosts, in captures of simulations and in the testbed: host *h* has the IPv4 address with number *h* + 1 in 10.0.0.0/8.

use shallows_core::packet::HostId;

/// Returns the IPv4 address of a host. Host 0 has 10.0.0.1.
pub fn address(host: HostId) -> [u8; 4] {
    let [_, x, y, z] = (host.0 + 1).to_be_bytes();
    [10, x, y, z]
}

/// Returns the host with this IPv4 address, or `None` if the address belongs to none of the first `hosts` hosts.
pub fn host(address: [u8; 4], hosts: u32) -> Option<HostId> {
    let [network, x, y, z] = address;
    let number = u32::from_be_bytes([0, x, y, z]).checked_sub(1)?;
    (network == 10 && number < hosts).then_some(HostId(number))
}

/// Returns the Ethernet address of a host. It is locally administered (IEEE 802, second bit of the first byte) and ends with the host's
/// IPv4 address.
pub fn mac(host: HostId) -> [u8; 6] {
    let [a, b, c, d] = address(host);
    [0x02, 0x00, a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_addresses_of_their_own() {
        assert_eq!((address(HostId(0)), address(HostId(255))), ([10, 0, 0, 1], [10, 0, 1, 0]));
        assert_eq!(mac(HostId(70_000)), [2, 0, 10, 1, 17, 113]); // 70,001 = 1 · 65,536 + 17 · 256 + 113
    }

    #[test]
    fn an_address_belongs_to_one_host_or_none() {
        for number in [0, 1, 254, 255, 70_000] {
            assert_eq!(host(address(HostId(number)), 70_001), Some(HostId(number)));
        }
        for other in [[10, 0, 0, 0], [10, 0, 0, 4], [11, 0, 0, 1], [10, 1, 0, 1]] {
            assert_eq!(host(other, 3), None, "{other:?}");
        }
    }
}
