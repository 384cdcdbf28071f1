//! Hosts of a run: network namespaces, each with an interface whose other end is at the switch.
//!
//! The namespaces have no names, so none can be left behind: the kernel removes them when the process ends, even if it is killed.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use shallows_core::packet::HostId;
use shallows_scenario::{Experiment, SERVICE_PORT};

use crate::frame;
use crate::mapping::LinuxPlan;
use crate::sys::changes::Changes;
use crate::sys::ebpf::Registered;
use crate::sys::machine::{self, Hurried};
use crate::sys::namespace::{self, Namespace};

/// All hosts of a run, and the network of the switch.
#[derive(Debug)]
pub struct HostNamespaces {
    /// Kernel threads that process packets arriving at hosts. Rust drops fields in their order. This field precedes `networks`, because
    /// dropping it restores the scheduling of the threads, and the threads end with the networks.
    pub hurried: Vec<Hurried>,
    /// Watchers of changes to network settings after the set-up: one for each host, then one for the switch.
    changes: Vec<Changes>,
    /// Network namespace of the switch, with one interface for each host.
    pub switch: Namespace,
    /// Network namespace of each host.
    pub networks: Vec<Namespace>,
    /// Number of the switch's interface to each host.
    pub interfaces: Vec<u32>,
}

/// Timeout for opening and closing a connection between two hosts.
const PATIENCE: Duration = Duration::from_secs(20);

/// Message about a failed set-up: what failed, and the remedy.
pub type Failure = String;

impl HostNamespaces {
    /// Sets up the hosts of `experiment`; `own` is the testbed's own congestion control, if it is used. Afterwards the calling thread is in
    /// the switch's network.
    ///
    /// # Errors
    ///
    /// The failed step and its program.
    pub fn raise(
        experiment: &Experiment,
        plan: &LinuxPlan,
        mut own: Option<&mut Registered>,
    ) -> Result<Self, Failure> {
        let switch = create()?;
        let hosts = (0..experiment.network.hosts).map(HostId);
        // Some kernels skip a BPF program that interrupts certain processes (docs/testbed.md).
        let in_thread = own.is_some();
        let mut hurried = Vec::new();
        let networks = hosts.clone().map(|host| {
            let network = raise(host, &switch, plan, in_thread)?;
            hurried.extend(share_processors(in_thread));
            if plan.held_back {
                run("tc", &hold_back(experiment, plan, host))?;
            }
            if let Some(own) = &mut own {
                namespace::interface("eth0").and_then(|interface| own.attach(interface)).map_err(
                    |error| told("BPF programs cannot be attached to the interface of a host", &error),
                )?;
            }
            Ok(network)
        });
        let networks: Vec<Namespace> = networks.collect::<Result<_, Failure>>()?;
        switch.enter().map_err(|error| told("setns", &error))?;
        silence_ipv6()?;
        let interfaces = hosts.map(|host| {
            let name = far(host);
            run("ip", &format!("link set {name} up\n"))?;
            namespace::no_offloads(&name).map_err(|error| told(&name, &error))?;
            namespace::interface(&name).map_err(|error| told(&name, &error))
        });
        let interfaces = interfaces.collect::<Result<_, _>>()?;
        let mut hosts = Self { hurried, changes: Vec::new(), switch, networks, interfaces };
        hosts.changes = hosts.watch(plan).map_err(|error| told("rtnetlink", &error))?;
        Ok(hosts)
    }

    /// Starts to watch the networks of all hosts and of the switch. Afterwards the calling thread is in the switch's network.
    fn watch(&self, plan: &LinuxPlan) -> io::Result<Vec<Changes>> {
        let networks = self.networks.iter().chain([&self.switch]);
        networks.map(|network| network.enter().and_then(|()| Changes::watch(plan.mtu.0 as u32))).collect()
    }

    /// Returns the changes of all networks since the set-up; each text names its host or the switch.
    pub fn changed(&mut self) -> Vec<String> {
        let hosts = self.networks.len();
        let each = self.changes.iter_mut().enumerate().flat_map(|(number, changes)| {
            let whose = if number < hosts { format!("of host {number}") } else { "of the switch".to_owned() };
            changes.so_far().iter().map(move |what| format!("{what} ({whose})")).collect::<Vec<_>>()
        });
        each.collect()
    }

    /// Opens and closes a connection between every two hosts; another thread must carry the frames. A route can limit congestion windows
    /// (`cwnd lock`), but a kernel applies this limit only to connections with hosts for which it has stored metrics (`tcp_init_metrics`).
    /// It stores metrics for a host when a connection with this host ends.
    ///
    /// # Errors
    ///
    /// If a connection cannot be made.
    pub fn acquaint(&self) -> io::Result<()> {
        let place = |host: usize| SocketAddr::from((frame::address(HostId(host as u32)), SERVICE_PORT));
        for (host, network) in self.networks.iter().enumerate() {
            network.enter()?;
            let listener = TcpListener::bind(place(host))?;
            let callers = thread::scope(|scope| {
                let calls = self.networks[..host].iter().map(|other| {
                    // A new thread is in the network of the thread that starts it.
                    other.enter()?;
                    Ok(scope.spawn(|| TcpStream::connect_timeout(&place(host), PATIENCE)))
                });
                let calls: Vec<_> = calls.collect::<io::Result<_>>()?;
                calls
                    .into_iter()
                    .map(|call| call.join().expect("it does not panic"))
                    .collect::<io::Result<Vec<_>>>()
            })?;
            let answerers: Vec<_> = callers.iter().map(|_| accept(&listener)).collect::<io::Result<_>>()?;
            // One end closes first, and stores metrics when the other end has closed too. The other end stores metrics when its own close
            // is acknowledged.
            callers.iter().try_for_each(|caller| caller.shutdown(Shutdown::Write))?;
            answerers.into_iter().chain(callers).try_for_each(hear_the_end)?;
        }
        Ok(())
    }

    /// Returns how many packets the machine has lost so far, not counting the drops of the model. The number includes drops at both ends of
    /// each interface and in the kernels of hosts.
    ///
    /// Afterwards the calling thread is in the switch's network.
    pub fn lost(&self) -> u64 {
        let at_hosts = self.networks.iter().filter_map(|network| {
            network.enter().ok()?;
            Some(interface_drops("eth0", &[Direction::Received, Direction::Sent]) + kernel_drops())
        });
        let at_hosts: u64 = at_hosts.sum();
        let hosts = (0..self.networks.len()).map(|host| far(HostId(host as u32)));
        // Frames that arrive at the switch are counted only by its ring.
        let at_switch =
            self.switch.enter().map(|()| hosts.map(|name| interface_drops(&name, &[Direction::Sent])).sum());
        at_hosts + at_switch.unwrap_or(0)
    }
}

#[derive(Clone, Copy)]
enum Direction {
    Received,
    Sent,
}

/// Returns how many packets an interface in the calling thread's network dropped, or counted as errors, in these directions.
fn interface_drops(name: &str, directions: &[Direction]) -> u64 {
    // `ip -s link` reads this file as well. The file shows the network of the thread; sysfs shows the network in which it was mounted.
    let text = fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let of_it = |line: &str| {
        line.trim_start()
            .strip_prefix(name)?
            .strip_prefix(':')
            .map(|rest| rest.split_whitespace().map(|word| word.parse().unwrap_or(0)).collect::<Vec<u64>>())
    };
    let counts = text.lines().find_map(of_it).unwrap_or_default();
    // Each direction has eight numbers: bytes, packets, errors, drops, and others.
    let lost = |direction: &Direction| counts.iter().skip(*direction as usize * 8 + 2).take(2).sum::<u64>();
    directions.iter().map(lost).sum()
}

/// Returns how many packets the IP layer of the calling thread's network dropped because it found no receiver or no memory. The counters
/// have the names of RFC 4293.
fn kernel_drops() -> u64 {
    let read = |file| fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap_or_default();
    counters(&read("snmp"), "Ip:", &["InAddrErrors", "InDiscards", "OutDiscards"])
        + counters(&read("netstat"), "IpExt:", &["InNoRoutes"])
}

/// Returns the sum of the counters `names` of `protocol`. `text` has two lines for each protocol: one with names, and one with numbers.
fn counters(text: &str, protocol: &str, names: &[&str]) -> u64 {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(protocol)).map(str::split_whitespace);
    let (Some(all), Some(numbers)) = (lines.next(), lines.next()) else { return 0 };
    let wanted = all.zip(numbers).filter(|(name, _)| names.contains(name));
    wanted.filter_map(|(_, number)| number.parse::<u64>().ok()).sum()
}

/// Waits for a connection at `listener` and accepts it.
fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    listener.set_nonblocking(true)?;
    let pause = Duration::from_millis(1);
    let mut waited = Duration::ZERO;
    loop {
        match listener.accept() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && waited < PATIENCE => {
                thread::sleep(pause);
                waited += pause;
            }
            other => return other.map(|(stream, _)| stream),
        }
    }
}

/// Waits until the other end has closed the connection, and then closes this end.
fn hear_the_end(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.read_to_end(&mut Vec::new()).map(drop)
}

/// Returns the congestion controls that this kernel has, or can load.
pub fn congestion_controls() -> Vec<String> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

fn raise(host: HostId, switch: &Namespace, plan: &LinuxPlan, in_thread: bool) -> Result<Namespace, Failure> {
    let network = create()?;
    silence_ipv6()?;
    // Default for programs that choose no congestion control, if the kernel allows it as the default of a namespace
    // (TCP_CONG_NON_RESTRICTED).
    let _ = fs::write("/proc/sys/net/ipv4/tcp_congestion_control", &plan.congestion);
    for (name, value) in &plan.settings {
        let path = format!("/proc/sys/net/ipv4/{name}");
        match fs::write(&path, value) {
            // Older kernels have fewer settings.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(told(&path, &error)),
            Ok(()) => {}
        }
    }
    let merged = if in_thread { " gro_max_size 1" } else { "" };
    let (mtu, far, path) = (plan.mtu.0, far(host), switch.path());
    let ([a, b, c, d], mac) =
        (frame::address(host), frame::mac(host).map(|byte| format!("{byte:02x}")).join(":"));
    run(
        "ip",
        &format!(
            "link add eth0 mtu {mtu} address {mac} type veth peer name {far} mtu {mtu} netns {path}\n\
             link set eth0 arp off gso_max_segs 1{merged} up\n\
             link set lo up\n\
             address add {a}.{b}.{c}.{d}/32 dev eth0\n\
             route add 10.0.0.0/8 dev eth0 src {a}.{b}.{c}.{d} {}\n",
            plan.route
        ),
    )?;
    namespace::no_offloads("eth0").map_err(|error| told("eth0", &error))?;
    Ok(network)
}

/// Moves the processing of packets that arrive at the calling thread's host to processors other than the switch's. With `in_thread`, kernel
/// threads process these packets, and the function returns these threads. Without the necessary rights, the switch's processor does all the
/// work.
fn share_processors(in_thread: bool) -> Vec<Hurried> {
    let Some((_, hosts)) = machine::switch_and_hosts() else { return Vec::new() };
    if !in_thread {
        let _ = namespace::steer("eth0", hosts);
        return Vec::new();
    }
    machine::hurry_new_interface_threads("eth0", hosts, || {
        let _ = namespace::take_up_in_thread("eth0");
    })
}

/// Returns the command that sets up a queue in the host; the queue sends at the rate of the host's link. TCP Small Queues limit the data
/// that a socket has in this queue. They do not limit data that waits at the switch.
fn hold_back(experiment: &Experiment, plan: &LinuxPlan, host: HostId) -> String {
    let network = &experiment.network;
    let rate = plan.dilation.real_rate(network.links[host.0 as usize].rate).0;
    let full = network.mtu.0 + frame::ETHERNET as u64;
    // The queue is allowed to send a few packets early, because its timer can be late. Early packets wait at the port of the NIC.
    let burst = full * 4;
    let overhead = i64::try_from(network.framing.0).unwrap_or(0) - frame::ETHERNET as i64;
    let overhead = if overhead > 0 { format!(" overhead {overhead}") } else { String::new() };
    format!("qdisc add dev eth0 root tbf rate {rate}bit burst {burst} limit 67108864{overhead}\n")
}

/// Returns the name of the interface at the switch that leads to a host.
fn far(host: HostId) -> String {
    format!("h{}", host.0)
}

fn create() -> Result<Namespace, Failure> {
    Namespace::create().map_err(|error| format!("a network namespace cannot be created: {error}"))
}

/// Disables IPv6 in the calling thread's network, because an IPv6 interface sends packets that no program requested.
fn silence_ipv6() -> Result<(), Failure> {
    for place in ["all", "default"] {
        let path = format!("/proc/sys/net/ipv6/conf/{place}/disable_ipv6");
        match fs::write(&path, "1") {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(told(&path, &error)),
            _ => {}
        }
    }
    Ok(())
}

/// Executes these commands with a program of iproute2, in the calling thread's network.
fn run(program: &str, commands: &str) -> Result<(), Failure> {
    let mut child = Command::new(program)
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| {
            format!("{program} cannot be run: {error}; install {program} with apt-get install iproute2")
        })?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(commands.as_bytes()).map_err(|error| told(program, &error))?;
    }
    let done = child.wait_with_output().map_err(|error| told(program, &error))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr).trim().replace('\n', "; ");
    Err(format!("{program} rejected {:?}: {said}", commands.trim_end()))
}

fn told(what: &str, error: &io::Error) -> Failure {
    format!("{what}: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_a_protocol_are_found_by_their_names() {
        let text = "Ip: Forwarding InAddrErrors InDiscards\nIp: 2 30 4\nIcmp: InAddrErrors\nIcmp: 500\n";
        assert_eq!(counters(text, "Ip:", &["InAddrErrors", "InDiscards", "OutDiscards"]), 34);
        assert_eq!(counters(text, "Udp:", &["InAddrErrors"]), 0);
    }
}
