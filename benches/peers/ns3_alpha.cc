// Alpha of ns-3's DCTCP behind CoDel, with and without byte queue limits below the marker (evidence/fidelity.md). For ns-3.37.
//
//   g++ -O1 -std=c++17 ns3_alpha.cc -o ns3_alpha -lns3-core -lns3-internet -lns3-network -lns3-point-to-point -lns3-traffic-control -lns3-applications
//   ./ns3_alpha --rtt=10 --from=7 --stop=15 --limits=1
//
// The network of ns-3's `tcp-validation`: 1 Gb/s, then 50 Mb/s with the delay and CoDel, then 1 Gb/s; one flow from 5 s on.
// Prints the mean of ns-3's alpha, and the mean of an alpha that is computed from the acknowledged bytes and their ECE echoes.

#include "ns3/bulk-send-helper.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/tcp-dctcp.h"
#include "ns3/tcp-socket-base.h"
#include "ns3/traffic-control-helper.h"

#include <algorithm>
#include <cstdio>
#include <string>

using namespace ns3;

namespace {

constexpr double kGain = 1.0 / 16;

struct Echoed {
    double alpha = 1;
    uint32_t acked = 1, sent = 1, window_end = 1;
    double bytes = 0, marked = 0;
} g_echoed;
double g_alpha = 1, g_from_s = 7;
double g_alpha_sum = 0, g_echoed_sum = 0;
uint64_t g_samples = 0;

void OnEstimate(uint32_t, uint32_t, double alpha) { g_alpha = alpha; }

void OnSent(Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase>) {
    g_echoed.sent = std::max(g_echoed.sent, header.GetSequenceNumber().GetValue() + packet->GetSize());
}

// Computes alpha by RFC 8257 §3.3 from the acknowledgements on the wire.
void OnReceived(Ptr<const Packet>, const TcpHeader& header, Ptr<const TcpSocketBase>) {
    uint32_t ack = header.GetAckNumber().GetValue();
    if ((header.GetFlags() & TcpHeader::SYN) || ack <= g_echoed.acked) return;
    double bytes = ack - g_echoed.acked;
    g_echoed.acked = ack;
    g_echoed.bytes += bytes;
    if (header.GetFlags() & TcpHeader::ECE) g_echoed.marked += bytes;
    if (ack <= g_echoed.window_end) return;
    g_echoed.alpha += kGain * (g_echoed.marked / g_echoed.bytes - g_echoed.alpha);
    g_echoed.bytes = g_echoed.marked = 0;
    g_echoed.window_end = g_echoed.sent;
}

void Sample() {
    if (Simulator::Now().GetSeconds() > g_from_s) {
        g_alpha_sum += g_alpha;
        g_echoed_sum += g_echoed.alpha;
        g_samples++;
    }
    Simulator::Schedule(MilliSeconds(1), &Sample);
}

void Attach() {
    const std::string socket = "/NodeList/0/$ns3::TcpL4Protocol/SocketList/0/";
    Config::ConnectWithoutContext(socket + "CongestionOps/$ns3::TcpDctcp/CongestionEstimate", MakeCallback(&OnEstimate));
    Config::ConnectWithoutContext(socket + "Rx", MakeCallback(&OnReceived));
    Config::ConnectWithoutContext(socket + "Tx", MakeCallback(&OnSent));
}

Ipv4InterfaceContainer Connect(Ptr<Node> near, Ptr<Node> far, const char* rate, Time delay, const char* base,
                               bool is_bottleneck, bool limits) {
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    link.SetChannelAttribute("Delay", TimeValue(delay));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("3p"));
    NetDeviceContainer ends = link.Install(near, far);
    if (is_bottleneck) {
        TrafficControlHelper marking;
        marking.SetRootQueueDisc("ns3::CoDelQueueDisc");
        if (limits) marking.SetQueueLimits("ns3::DynamicQueueLimits", "HoldTime", StringValue("1ms"));
        marking.Install(ends.Get(0));
    }
    Ipv4AddressHelper addresses;
    addresses.SetBase(base, "255.255.255.0");
    return addresses.Assign(ends);
}

}  // namespace

int main(int argc, char** argv) {
    double rtt_ms = 10, stop_s = 15;
    bool limits = false;
    CommandLine command;
    command.AddValue("rtt", "milliseconds", rtt_ms);
    command.AddValue("from", "seconds from which alpha is averaged", g_from_s);
    command.AddValue("stop", "seconds", stop_s);
    command.AddValue("limits", "byte queue limits at the bottleneck, as in tcp-validation", limits);
    command.Parse(argc, argv);

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpDctcp"));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue("On"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(32'768'000));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(32'768'000));
    Config::SetDefault("ns3::CoDelQueueDisc::UseEcn", BooleanValue(true));
    Config::SetDefault("ns3::CoDelQueueDisc::CeThreshold", TimeValue(MilliSeconds(1)));

    NodeContainer nodes;
    nodes.Create(4);
    InternetStackHelper().Install(nodes);
    Time delay = MicroSeconds(int64_t(rtt_ms * 500));
    Connect(nodes.Get(0), nodes.Get(1), "1Gbps", MicroSeconds(1), "10.0.1.0", false, false);
    Connect(nodes.Get(1), nodes.Get(2), "50Mbps", delay, "10.0.2.0", true, limits);
    auto last = Connect(nodes.Get(2), nodes.Get(3), "1Gbps", MicroSeconds(1), "10.0.3.0", false, false);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    BulkSendHelper sender("ns3::TcpSocketFactory", InetSocketAddress(last.GetAddress(1), 5000));
    sender.Install(nodes.Get(0)).Start(Seconds(5));
    PacketSinkHelper("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5000)).Install(nodes.Get(3));
    Simulator::Schedule(Seconds(5.001), &Attach);
    Simulator::Schedule(Seconds(5), &Sample);
    Simulator::Stop(Seconds(stop_s));
    Simulator::Run();
    double samples = double(g_samples);
    std::printf("alpha %.4f, of the bytes echoed %.4f\n", g_alpha_sum / samples, g_echoed_sum / samples);
    Simulator::Destroy();
}
