// Equal-cost multipath by hash of the five-tuple, for ns-3.
//
// ns-3's global routing picks a random next hop for each packet, which reorders TCP segments. This class picks one next
// hop per flow. Routes are created once and shared by all packets, which is faster than ns-3's own protocols.

#pragma once

#include "ns3/ipv4-route.h"
#include "ns3/ipv4-routing-helper.h"
#include "ns3/ipv4-routing-protocol.h"
#include "ns3/ipv4.h"
#include "ns3/node.h"

#include <cstdint>
#include <vector>

namespace bench {

/// Returns the host with this address. Host `h` has 10.(h / 256).(h % 256).2; its switch port has .1 in the same /24.
inline uint32_t HostOf(ns3::Ipv4Address address) { return (address.Get() >> 8) & 0xffff; }

/// The routing table of one node: next hops for some destination hosts, and default next hops for all other hosts.
class EcmpRouting : public ns3::Ipv4RoutingProtocol {
  public:
    /// Returns the type by which ns-3 aggregates and finds this object.
    static ns3::TypeId GetTypeId() {
        static ns3::TypeId id =
            ns3::TypeId("bench::EcmpRouting").SetParent<ns3::Ipv4RoutingProtocol>().AddConstructor<EcmpRouting>();
        return id;
    }

    /// Sets the seed of the hash. Hashes differ between nodes with different seeds, as in real switches.
    void SetSeed(uint64_t seed) { m_seed = Mix(seed); }

    /// Adds a route: packets for `host` may leave through `device`, whose far end has the address `next_hop`.
    void AddHost(uint32_t host, ns3::Ptr<ns3::NetDevice> device, ns3::Ipv4Address next_hop) {
        if (m_hosts.size() <= host) {
            m_hosts.resize(host + 1);
        }
        m_hosts[host].push_back(MakeRoute(device, next_hop));
    }

    /// Adds a default route: packets for every host without a route of its own may leave through `device`.
    void AddDefault(ns3::Ptr<ns3::NetDevice> device, ns3::Ipv4Address next_hop) {
        m_default.push_back(MakeRoute(device, next_hop));
    }

    /// Skips the check for packets addressed to this node, because no packet is ever addressed to a switch.
    void ForwardOnly() { m_forward_only = true; }

    // A sender has one link, so no hash is needed; the port numbers are not known yet.
    ns3::Ptr<ns3::Ipv4Route> RouteOutput(ns3::Ptr<ns3::Packet>, const ns3::Ipv4Header& header,
                                         ns3::Ptr<ns3::NetDevice>, ns3::Socket::SocketErrno& error) override {
        ns3::Ptr<ns3::Ipv4Route> route = Lookup(header, nullptr);
        error = route ? ns3::Socket::ERROR_NOTERROR : ns3::Socket::ERROR_NOROUTETOHOST;
        return route;
    }

    bool RouteInput(ns3::Ptr<const ns3::Packet> packet, const ns3::Ipv4Header& header,
                    ns3::Ptr<const ns3::NetDevice> device, UnicastForwardCallback forward, MulticastForwardCallback,
                    LocalDeliverCallback deliver, ErrorCallback) override {
        if (!m_forward_only) {
            uint32_t interface = m_ipv4->GetInterfaceForDevice(device);
            if (m_ipv4->IsDestinationAddress(header.GetDestination(), interface)) {
                deliver(packet, header, interface);
                return true;
            }
        }
        ns3::Ptr<ns3::Ipv4Route> route = Lookup(header, packet);
        if (!route) {
            return false;
        }
        forward(route, packet, header);
        return true;
    }

    void SetIpv4(ns3::Ptr<ns3::Ipv4> ipv4) override { m_ipv4 = ipv4; }
    void NotifyInterfaceUp(uint32_t) override {}
    void NotifyInterfaceDown(uint32_t) override {}
    void NotifyAddAddress(uint32_t, ns3::Ipv4InterfaceAddress) override {}
    void NotifyRemoveAddress(uint32_t, ns3::Ipv4InterfaceAddress) override {}
    void PrintRoutingTable(ns3::Ptr<ns3::OutputStreamWrapper>, ns3::Time::Unit) const override {}

  private:
    using Routes = std::vector<ns3::Ptr<ns3::Ipv4Route>>;

    /// The finaliser of splitmix64.
    static uint64_t Mix(uint64_t x) {
        x += 0x9E3779B97F4A7C15ull;
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
        return x ^ (x >> 31);
    }

    ns3::Ptr<ns3::Ipv4Route> MakeRoute(ns3::Ptr<ns3::NetDevice> device, ns3::Ipv4Address next_hop) const {
        ns3::Ptr<ns3::Ipv4Route> route = ns3::Create<ns3::Ipv4Route>();
        route->SetGateway(next_hop);
        route->SetOutputDevice(device);
        route->SetSource(m_ipv4->GetAddress(m_ipv4->GetInterfaceForDevice(device), 0).GetLocal());
        return route;
    }

    ns3::Ptr<ns3::Ipv4Route> Lookup(const ns3::Ipv4Header& header, ns3::Ptr<const ns3::Packet> packet) const {
        uint32_t host = HostOf(header.GetDestination());
        const Routes& routes = host < m_hosts.size() && !m_hosts[host].empty() ? m_hosts[host] : m_default;
        if (routes.empty()) {
            return nullptr;
        }
        return routes.size() == 1 ? routes[0] : routes[Hash(header, packet) % routes.size()];
    }

    uint64_t Hash(const ns3::Ipv4Header& header, ns3::Ptr<const ns3::Packet> packet) const {
        uint8_t ports[4] = {0};  // The first four bytes of TCP and UDP: source port, destination port.
        packet->CopyData(ports, sizeof ports);
        uint64_t both_ports = uint64_t(ports[0]) << 24 | ports[1] << 16 | ports[2] << 8 | ports[3];
        uint64_t addresses = uint64_t(header.GetSource().Get()) << 32 | header.GetDestination().Get();
        return Mix(Mix(addresses ^ m_seed) ^ both_ports);
    }

    ns3::Ptr<ns3::Ipv4> m_ipv4;
    std::vector<Routes> m_hosts;
    Routes m_default;
    uint64_t m_seed = 0;
    bool m_forward_only = false;
};

/// Puts an `EcmpRouting` on every node on which an Internet stack is installed.
class EcmpRoutingHelper : public ns3::Ipv4RoutingHelper {
  public:
    EcmpRoutingHelper* Copy() const override { return new EcmpRoutingHelper(*this); }

    ns3::Ptr<ns3::Ipv4RoutingProtocol> Create(ns3::Ptr<ns3::Node> node) const override {
        ns3::Ptr<EcmpRouting> routing = ns3::CreateObject<EcmpRouting>();
        node->AggregateObject(routing);
        return routing;
    }
};

}  // namespace bench
