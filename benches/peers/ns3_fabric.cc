// The ns-3 side of `make bench`: DCTCP through a star or a leaf-spine fabric. Written for ns-3.37, as Debian ships it.
//
//   ns3_fabric --mode=star --time=0.5
//   ns3_fabric --mode=leaf-spine --flows=FLOWS.csv --fcts=FCTS.csv
//
// Prints one JSON object. FLOWS.csv has the header `start_ns,source,destination,bytes`. A leaf-spine run ends when
// every flow has arrived; a star ends at --time. --classify=1 also counts packet-hops by kind. This takes time, so
// do not time such a run.

#include "ecmp_routing.h"

#include "ns3/bulk-send-helper.h"
#include "ns3/core-module.h"
#include "ns3/data-rate.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-header.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/ppp-header.h"
#include "ns3/queue-disc.h"
#include "ns3/queue-size.h"
#include "ns3/tcp-header.h"
#include "ns3/traffic-control-helper.h"
#include "ns3/traffic-control-layer.h"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;
using bench::EcmpRouting;

namespace {

// IPv4 20, TCP 20, timestamp option 10 padded to 12.
constexpr uint32_t kHeaderBytes = 52;
// ns-3's point-to-point link adds a PPP header of two bytes to each packet, and no preamble, gap or checksum.
constexpr uint32_t kFramingBytes = 2;
// Size of every buffer, so large that nothing is dropped.
constexpr uint32_t kBufferBytes = 1'000'000'000;
// Maximum number of bytes that one connection has in flight.
constexpr uint32_t kSocketBufferBytes = 8 << 20;
constexpr uint16_t kSinkPort = 1000;
constexpr uint16_t kFirstSourcePort = 1024;

struct Options {
    bool star = true;
    bool classify = false;
    uint32_t senders = 16;
    uint32_t leaves = 8, spines = 8, hosts_per_leaf = 16;
    uint32_t mtu = 1500;
    uint32_t threshold_packets = 65;  // DCTCP (SIGCOMM '10) §4: K = 65 packets at 10 Gb/s.
    uint32_t seed = 1;
    uint64_t rate_gbps = 10;
    uint64_t delay_us = 20;
    double time_s = 0.5;
    std::string flows, fcts;

    uint32_t Segment() const { return mtu - kHeaderBytes; }
    uint32_t Hosts() const { return star ? senders + 1 : leaves * hosts_per_leaf; }
    uint32_t LeafOf(uint32_t host) const { return star ? 0 : host / hosts_per_leaf; }
};

struct Flow {
    uint64_t start_ns, source, destination, bytes;  // bytes = 0: endless
    uint64_t delivered = 0;
    uint64_t finish_ns = 0;
};

/// All data that the trace callbacks read or change.
struct Record {
    std::vector<Flow> flows;
    std::vector<std::vector<uint32_t>> flows_of_source;  // indexed by source host, then by port - kFirstSourcePort
    uint64_t completed = 0;
    uint64_t data_hops = 0, ack_hops = 0, handshake_hops = 0;  // with --classify
};
Record g_record;

struct Network {
    NodeContainer hosts, switches;
    NetDeviceContainer devices;
    std::vector<Ipv4Address> addresses;  // of the hosts
};

[[noreturn]] void Fail(const std::string& message) {
    std::fprintf(stderr, "ns3_fabric: %s\n", message.c_str());
    std::exit(2);
}

Options ParseOptions(int argc, char** argv) {
    std::string mode = "star";
    Options options;
    CommandLine command;
    command.AddValue("mode", "star or leaf-spine", mode);
    command.AddValue("time", "simulated seconds of a star", options.time_s);
    command.AddValue("flows", "flow list of a leaf-spine run", options.flows);
    command.AddValue("fcts", "file for the flow completion times", options.fcts);
    command.AddValue("seed", "seed of the ECMP hashes", options.seed);
    command.AddValue("classify", "count packet-hops by kind", options.classify);
    command.Parse(argc, argv);
    if (mode != "star" && mode != "leaf-spine") {
        Fail("unknown mode \"" + mode + "\"; expected star or leaf-spine");
    }
    options.star = mode == "star";
    if (!options.star) {
        options.rate_gbps = 100;
        options.mtu = 9000;
        options.delay_us = 10;
    }
    return options;
}

void ConfigureTcp(const Options& options) {
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpDctcp"));
    Config::SetDefault("ns3::TcpDctcp::DctcpShiftG", DoubleValue(1.0 / 16));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(options.Segment()));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(kSocketBufferBytes));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(kSocketBufferBytes));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(10)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
}

/// RED with a step at K on the instantaneous backlog.
///
/// RED marks a packet if the queue disc's backlog is at least MaxTh. This backlog excludes the one packet that waits in
/// the device, so with MaxTh = K a packet is marked if more than K bytes wait in total, which is DCTCP's rule.
void ConfigureMarking(const Options& options) {
    double threshold = double(options.threshold_packets) * options.mtu;
    Config::SetDefault("ns3::RedQueueDisc::MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::BYTES, kBufferBytes)));
    Config::SetDefault("ns3::RedQueueDisc::MeanPktSize", UintegerValue(options.mtu));
    Config::SetDefault("ns3::RedQueueDisc::MinTh", DoubleValue(threshold - 1));
    Config::SetDefault("ns3::RedQueueDisc::MaxTh", DoubleValue(threshold));
    Config::SetDefault("ns3::RedQueueDisc::QW", DoubleValue(1));
    Config::SetDefault("ns3::RedQueueDisc::Gentle", BooleanValue(false));
    Config::SetDefault("ns3::RedQueueDisc::UseEcn", BooleanValue(true));
    Config::SetDefault("ns3::RedQueueDisc::UseHardDrop", BooleanValue(false));
}

Ptr<EcmpRouting> RoutingOf(Ptr<Node> node) { return node->GetObject<EcmpRouting>(); }

/// Connects two nodes, gives the near end `base`.1 and the far end `base`.2, and returns their devices.
NetDeviceContainer Connect(const Options& options, Network& network, Ptr<Node> near, Ptr<Node> far,
                           const std::string& base) {
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(options.rate_gbps * 1'000'000'000)));
    link.SetDeviceAttribute("Mtu", UintegerValue(options.mtu));
    link.SetChannelAttribute("Delay", TimeValue(MicroSeconds(options.delay_us)));
    // The device's default FIFO of 100 packets would hide the backlog from the marker.
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    NetDeviceContainer ends = link.Install(near, far);

    TrafficControlHelper marking;
    marking.SetRootQueueDisc("ns3::RedQueueDisc", "LinkBandwidth",
                             DataRateValue(DataRate(options.rate_gbps * 1'000'000'000)), "LinkDelay",
                             TimeValue(MicroSeconds(options.delay_us)));
    TrafficControlHelper fifo;
    fifo.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize",
                          QueueSizeValue(QueueSize(QueueSizeUnit::BYTES, kBufferBytes)));
    bool far_is_host = far->GetId() < options.Hosts();
    marking.Install(ends.Get(0));
    (far_is_host ? fifo : marking).Install(ends.Get(1));

    Ipv4AddressHelper addresses;
    addresses.SetBase((base + ".0").c_str(), "255.255.255.0");
    addresses.Assign(ends);
    network.devices.Add(ends);
    return ends;
}

void ConnectHosts(const Options& options, Network& network) {
    for (uint32_t host = 0; host < options.Hosts(); host++) {
        std::string base = "10." + std::to_string(host >> 8) + "." + std::to_string(host & 255);
        Ptr<Node> leaf = network.switches.Get(options.LeafOf(host));
        NetDeviceContainer ends = Connect(options, network, leaf, network.hosts.Get(host), base);
        Ipv4Address switch_side((base + ".1").c_str()), host_side((base + ".2").c_str());
        RoutingOf(leaf)->AddHost(host, ends.Get(0), host_side);
        RoutingOf(network.hosts.Get(host))->AddDefault(ends.Get(1), switch_side);
        network.addresses.push_back(host_side);
    }
}

void ConnectSpines(const Options& options, Network& network) {
    for (uint32_t leaf = 0; leaf < options.leaves; leaf++) {
        for (uint32_t spine = 0; spine < options.spines; spine++) {
            std::string base = "11." + std::to_string(leaf) + "." + std::to_string(spine);
            Ptr<Node> leaf_node = network.switches.Get(leaf);
            Ptr<Node> spine_node = network.switches.Get(options.leaves + spine);
            NetDeviceContainer ends = Connect(options, network, leaf_node, spine_node, base);
            RoutingOf(leaf_node)->AddDefault(ends.Get(0), Ipv4Address((base + ".2").c_str()));
            for (uint32_t host = leaf * options.hosts_per_leaf; options.LeafOf(host) == leaf; host++) {
                RoutingOf(spine_node)->AddHost(host, ends.Get(1), Ipv4Address((base + ".1").c_str()));
            }
        }
    }
}

Network BuildNetwork(const Options& options) {
    Network network;
    network.hosts.Create(options.Hosts());  // First, so that the hosts have the node ids from 0.
    network.switches.Create(options.star ? 1 : options.leaves + options.spines);
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.SetRoutingHelper(bench::EcmpRoutingHelper());
    stack.Install(network.hosts);
    stack.Install(network.switches);
    for (uint32_t i = 0; i < network.switches.GetN(); i++) {
        RoutingOf(network.switches.Get(i))->ForwardOnly();
        RoutingOf(network.switches.Get(i))->SetSeed((uint64_t(options.seed) << 32) + i);
    }
    ConnectHosts(options, network);
    if (!options.star) {
        ConnectSpines(options, network);
    }
    return network;
}

std::vector<Flow> ReadFlows(const std::string& path, uint32_t hosts) {
    std::ifstream file(path);
    std::string line;
    if (!std::getline(file, line) || line != "start_ns,source,destination,bytes") {
        Fail("cannot read \"" + path + "\", or its header is not start_ns,source,destination,bytes");
    }
    std::vector<Flow> flows;
    while (std::getline(file, line)) {
        std::istringstream row(line);
        Flow flow{};
        char comma;
        row >> flow.start_ns >> comma >> flow.source >> comma >> flow.destination >> comma >> flow.bytes;
        if (!row || flow.source >= hosts || flow.destination >= hosts || flow.bytes == 0) {
            Fail(path + ": not a flow: " + line);
        }
        flows.push_back(flow);
    }
    return flows;
}

/// Returns the long flows of the star. Host 0 receives; the senders start 10 us apart.
std::vector<Flow> LongFlows(uint32_t senders) {
    std::vector<Flow> flows;
    for (uint32_t i = 0; i < senders; i++) {
        flows.push_back(Flow{uint64_t(10'000) * i, i + 1, 0, 0});
    }
    return flows;
}

/// Handles the arrival of a packet at a sink. The sender's address and port identify the flow.
void OnReceive(Ptr<const Packet> packet, const Address& from) {
    InetSocketAddress peer = InetSocketAddress::ConvertFrom(from);
    uint32_t source = bench::HostOf(peer.GetIpv4());
    Flow& flow = g_record.flows[g_record.flows_of_source[source][peer.GetPort() - kFirstSourcePort]];
    flow.delivered += packet->GetSize();
    if (flow.delivered == flow.bytes) {
        flow.finish_ns = Simulator::Now().GetNanoSeconds();
        if (++g_record.completed == g_record.flows.size()) {
            Simulator::Stop();
        }
    }
}

void InstallFlows(const Options& options, const Network& network) {
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), kSinkPort));
    ApplicationContainer sinks = sink.Install(network.hosts);
    for (uint32_t i = 0; i < sinks.GetN(); i++) {
        sinks.Get(i)->TraceConnectWithoutContext("Rx", MakeCallback(&OnReceive));
    }
    g_record.flows_of_source.resize(options.Hosts());
    for (uint32_t i = 0; i < g_record.flows.size(); i++) {
        const Flow& flow = g_record.flows[i];
        std::vector<uint32_t>& siblings = g_record.flows_of_source[flow.source];
        uint16_t port = kFirstSourcePort + siblings.size();
        siblings.push_back(i);
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(network.addresses[flow.destination], kSinkPort));
        bulk.SetAttribute("Local", AddressValue(InetSocketAddress(network.addresses[flow.source], port)));
        bulk.SetAttribute("MaxBytes", UintegerValue(flow.bytes));
        bulk.SetAttribute("SendSize", UintegerValue(options.Segment()));
        bulk.Install(network.hosts.Get(flow.source)).Start(NanoSeconds(flow.start_ns));
    }
}

void Classify(Ptr<const Packet> packet) {
    Ptr<Packet> copy = packet->Copy();
    PppHeader ppp;
    Ipv4Header ip;
    TcpHeader tcp;
    copy->RemoveHeader(ppp);
    copy->RemoveHeader(ip);
    copy->RemoveHeader(tcp);
    bool handshake = tcp.GetFlags() & (TcpHeader::SYN | TcpHeader::FIN);
    uint64_t& count = copy->GetSize() > 0 ? g_record.data_hops : handshake ? g_record.handshake_hops : g_record.ack_hops;
    count++;
}

struct Totals {
    uint64_t packet_hops = 0, drops = 0, marks = 0;
};

/// Returns the sums of the counters of all root queue discs. Every packet that is put on a link leaves a root queue disc.
Totals CountPackets(const Network& network) {
    Totals totals;
    for (uint32_t i = 0; i < network.devices.GetN(); i++) {
        Ptr<NetDevice> device = network.devices.Get(i);
        Ptr<TrafficControlLayer> layer = device->GetNode()->GetObject<TrafficControlLayer>();
        const QueueDisc::Stats& stats = layer->GetRootQueueDiscOnDevice(device)->GetStats();
        totals.packet_hops += stats.nTotalSentPackets;
        totals.drops += stats.nTotalDroppedPackets;
        totals.marks += stats.nTotalMarkedPackets;
    }
    return totals;
}

/// Returns the peak memory of this process, in kB (VmHWM).
long PeakRssKb() {
    std::ifstream status("/proc/self/status");
    std::string word;
    long value = 0;
    while (status >> word) {
        if (word == "VmHWM:") {
            status >> value;
            return value;
        }
    }
    Fail("/proc/self/status has no VmHWM");
}

void WriteFcts(const std::string& path) {
    std::FILE* file = std::fopen(path.c_str(), "w");
    if (!file) {
        Fail("cannot write \"" + path + "\"");
    }
    std::fprintf(file, "start_ns,source,destination,bytes,fct_ns\n");
    for (const Flow& flow : g_record.flows) {
        if (flow.finish_ns > 0) {
            std::fprintf(file, "%lu,%lu,%lu,%lu,%lu\n", flow.start_ns, flow.source, flow.destination, flow.bytes,
                         flow.finish_ns - flow.start_ns);
        }
    }
    std::fclose(file);
}

void PrintReport(const Options& options, const Network& network, double setup_s, double run_s) {
    Totals totals = CountPackets(network);
    uint64_t delivered = 0;
    for (const Flow& flow : g_record.flows) {
        delivered += flow.delivered;
    }
    std::printf("{\"mode\": \"%s\", \"seed\": %u, ", options.star ? "star" : "leaf-spine", options.seed);
    std::printf("\"setup_s\": %.6f, \"run_s\": %.6f, \"simulated_s\": %.9f, ", setup_s, run_s,
                Simulator::Now().GetSeconds());
    std::printf("\"events\": %lu, \"packet_hops\": %lu, \"delivered_bytes\": %lu, ", Simulator::GetEventCount(),
                totals.packet_hops, delivered);
    std::printf("\"flows\": %zu, \"completed\": %lu, \"drops\": %lu, \"marks\": %lu, \"peak_rss_kb\": %ld, ",
                g_record.flows.size(), g_record.completed, totals.drops, totals.marks, PeakRssKb());
    if (options.classify) {
        std::printf("\"data_hops\": %lu, \"ack_hops\": %lu, \"handshake_hops\": %lu, ", g_record.data_hops,
                    g_record.ack_hops, g_record.handshake_hops);
    }
    std::printf("\"mtu\": %u, \"segment_bytes\": %u, \"header_bytes\": %u, \"framing_bytes\": %u, ", options.mtu,
                options.Segment(), kHeaderBytes, kFramingBytes);
    std::printf("\"threshold_bytes\": %u, \"window_bytes\": %u}\n", options.threshold_packets * options.mtu,
                kSocketBufferBytes);
}

}  // namespace

int main(int argc, char** argv) {
    using Clock = std::chrono::steady_clock;
    auto seconds = [](Clock::duration span) { return std::chrono::duration<double>(span).count(); };
    Clock::time_point begin = Clock::now();
    Options options = ParseOptions(argc, argv);
    ConfigureTcp(options);
    ConfigureMarking(options);
    Network network = BuildNetwork(options);
    g_record.flows = options.star ? LongFlows(options.senders) : ReadFlows(options.flows, options.Hosts());
    InstallFlows(options, network);
    if (options.classify) {
        for (uint32_t i = 0; i < network.devices.GetN(); i++) {
            network.devices.Get(i)->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Classify));
        }
    }
    if (options.star) {
        Simulator::Stop(Seconds(options.time_s));
    }
    Clock::time_point ready = Clock::now();
    Simulator::Run();
    Clock::time_point done = Clock::now();
    PrintReport(options, network, seconds(ready - begin), seconds(done - ready));
    if (!options.fcts.empty()) {
        WriteFcts(options.fcts);
    }
    Simulator::Destroy();
    return 0;
}
