//! A run with real TCP, from the text of a scenario to the tables in a folder.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::thread;

use serde::Deserialize;
use serde_json::{Value, json};
use shallows_core::{Duration, Instant, Rate};
use shallows_measure::{Captures, Measured, Report, Sink};
use shallows_scenario::Experiment;

use crate::carry::Switch;
use crate::dilation::Dilation;
use crate::fabric::Fabric;
use crate::health::{Bounds, Health};
use crate::hosts::{HostNamespaces, congestion_controls};
use crate::load::Load;
use crate::mapping::{FASTEST, LinuxPlan, Refusal};
use crate::sys::clock::Clock;
use crate::sys::ebpf::{self, Registered};
use crate::sys::machine::{self, Times, Who};

/// Scenario with its options.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Text of the scenario.
    pub text: String,
    /// Name of the scenario's file, for messages.
    pub file: String,
    /// Folder to which the paths in the scenario are relative.
    pub base: PathBuf,
    /// Changed keys and their values.
    pub overrides: Vec<(String, String)>,
    /// Seed that replaces the seed of the scenario.
    pub seed: Option<u64>,
    /// Ratio of the machine's time to network time.
    pub dilation: Dilation,
    /// Whether links may exceed the rate that a software switch can pace, to measure the capacity of this machine.
    #[serde(default)]
    pub trial: bool,
    /// Whether hosts use the testbed's own congestion control even if the kernel has a congestion control of that name.
    #[serde(default)]
    pub own: bool,
}

/// Scenario to run, and the folder of its tables.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Scenario to run.
    pub scenario: Scenario,
    /// Folder for the tables.
    pub folder: PathBuf,
}

/// Reason for the failure of a run.
#[derive(Debug)]
pub enum Failure {
    /// Error in the scenario.
    Scenario(String),
    /// Keys of the scenario that Linux does not support.
    Refused(Vec<Refusal>),
    /// Problem of this machine or user.
    Machine(String),
}

/// Longest time for opening connections before the run.
const OPENING: Duration = Duration::from_secs(20);
/// Time between two checks of whether the run has ended.
const LOOK: Duration = Duration::from_millis(20);
/// Time allowed for the packets of connection set-ups to leave the network. Also the time between the set-up of the measured network and
/// its time zero.
const LEAD: Duration = Duration::from_millis(50);
/// Time between two reports of progress.
const TELL: Duration = Duration::from_millis(200);

/// Runs a scenario and writes its tables; `tell` receives progress in the form of `shallows_sim::Progress`.
///
/// # Errors
///
/// If the run cannot start, or fails.
pub fn run(request: &Request, mut tell: impl FnMut(Value)) -> Result<Value, Failure> {
    let Request { scenario, folder } = request;
    let (experiment, plan, mut own) = prepare(scenario)?;
    let mut hosts = HostNamespaces::raise(&experiment, &plan, own.as_mut()).map_err(Failure::Machine)?;
    let bounds = Bounds::of(&experiment, plan.dilation);
    let machine = |error: io::Error| Failure::Machine(error.to_string());
    let captures = capture(&experiment, &plan, folder).map_err(machine)?;
    let network = (&hosts, own.as_ref());
    let (report, mut health) = measure(&experiment, network, &plan, captures, &mut tell).map_err(machine)?;
    health.changed = hosts.changed();
    for name in report.tables() {
        write(&folder.join(format!("{name}.parquet")), |out| report.write_table(name, out))
            .map_err(|error| Failure::Machine(format!("{name}.parquet cannot be written: {error}")))?;
    }
    let mut summary = report.summary();
    summary["health"] = health.describe(&bounds);
    Ok(json!({
        "summary": summary,
        "warnings": report.warnings(),
        "observations": report.observations(),
        "differences": plan.differences,
    }))
}

/// Creates the files in `folder` for the captures that a scenario requests.
///
/// # Errors
///
/// If a file exists already, or cannot be written.
pub fn capture(experiment: &Experiment, plan: &LinuxPlan, folder: &Path) -> io::Result<Captures> {
    let factor = plan.dilation.factor();
    let slower = if factor > 1 {
        format!(", which pass {factor} times slower than the machine's")
    } else {
        String::new()
    };
    let how = format!("real TCP of Linux; times are those of the network{slower}");
    Captures::new(experiment, &how, |name| {
        let path = folder.join(format!("{name}.pcapng"));
        let opened = File::create_new(&path);
        let told = |error| io::Error::other(format!("{} cannot be written: {error}", path.display()));
        opened.map(|file| Box::new(file) as Sink).map_err(told)
    })
}

/// Checks a scenario, acquires the rights to run it, and registers its congestion control until the returned [`Registered`] is dropped.
///
/// # Errors
///
/// If the scenario is invalid, Linux does not support it, or rights are missing.
pub fn prepare(scenario: &Scenario) -> Result<(Experiment, LinuxPlan, Option<Registered>), Failure> {
    let Scenario { text, file, base, overrides, seed, dilation, trial, own } = scenario;
    let read = |path: &str| shallows_files::read_text(&base.join(path));
    let experiment = shallows_scenario::parse(text, file, &read, overrides, *seed)
        .map_err(|error| Failure::Scenario(error.to_string()))?;
    let available = congestion_controls();
    let mut known: Vec<&str> = available.iter().map(String::as_str).collect();
    let own: Vec<&str> = ebpf::OWN.iter().copied().filter(|name| *own || !known.contains(name)).collect();
    known.extend(&own);
    let mut plan =
        LinuxPlan::of(&experiment, &known, *dilation, if *trial { Rate(u64::MAX) } else { FASTEST })
            .map_err(Failure::Refused)?;
    let was_root = machine::is_root();
    if !was_root {
        machine::become_root().map_err(|error| {
            Failure::Machine(format!("the testbed needs root or user namespaces ({error}); run with sudo"))
        })?;
    }
    let wanted = plan.congestion.as_str();
    let own = own.contains(&wanted).then(|| {
        let remedy = if was_root { "" } else { "; programs in the kernel need root, so run with sudo" };
        let told = |error| {
            Failure::Machine(format!("the kernel rejects the congestion control {wanted}: {error}{remedy}"))
        };
        ebpf::register(wanted, &plan.told).map_err(told)
    });
    let own = own.transpose()?;
    if let Some(own) = &own {
        plan.congestion.clone_from(&own.name);
    }
    Ok((experiment, plan, own))
}

fn write(path: &Path, table: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    table(&mut out)?;
    out.flush()
}

/// Executes and measures a run. A first network carries the packets that open connections. A new network then replaces it, begins at time
/// zero, and is measured.
fn measure(
    experiment: &Experiment,
    (hosts, own): (&HostNamespaces, Option<&Registered>),
    plan: &LinuxPlan,
    captures: Captures,
    tell: &mut impl FnMut(Value),
) -> io::Result<(Report, Health)> {
    // The speed of applications is not measured, so they must not delay flows.
    machine::hurry(Who::Programs);
    let mut switch = Switch::open(hosts, plan)?;
    // Threads that take packets at hosts need the hosts' processors; otherwise programs would run on the switch's processor.
    if let Some((_, hosts)) = machine::switch_and_hosts().filter(|_| own.is_some()) {
        machine::stay_on(hosts);
    }
    let clock = Clock::starting_in(Duration::ZERO, plan.dilation);
    if plan.bounded {
        switch.carry(&mut Fabric::new(experiment), clock, &mut |_, _, _| {}, |_| hosts.acquaint())?;
    }
    let mut load = Load::new(experiment, hosts, plan, own)?;
    let mut opening = Fabric::new(experiment);
    let clock = Clock::starting_in(Duration::ZERO, plan.dilation);
    switch.carry(&mut opening, clock, &mut |_, _, _| {}, |gone| {
        while !load.is_up() {
            load.turn(Clock::starting_in(OPENING, plan.dilation), LOOK)?;
            gone.check()?;
            if clock.real_since(Instant::ZERO, clock.now()) >= OPENING {
                return Err(io::Error::other("connections cannot be opened: no answer"));
            }
        }
        // Waits until the packets that opened the connections have left the network.
        thread::sleep(std::time::Duration::from_micros(
            (LEAD.0 + plan.dilation.real(experiment.network.base_rtt()).0) / 1_000_000,
        ));
        Ok(())
    })?;
    let mut fabric = Fabric::capturing(experiment, captures);
    let (before, lost) = (Times::now(), hosts.lost());
    let clock = Clock::starting_in(LEAD, plan.dilation);
    let mut end = Instant::ZERO;
    // Packets that sources sent before they stopped arrive within this time, or are lost.
    let sources = experiment.sources_stop().map(|stop| stop + plan.dilation.network(LEAD));
    let (incomplete, mut health) = switch.carry(&mut fabric, clock, &mut |_, _, _| {}, |gone| {
        let mut told = Instant::ZERO;
        loop {
            let turned = load.turn(clock, LOOK).and_then(|()| gone.check());
            let now = clock.now();
            end = now;
            if let Err(error) = turned {
                load.settle(end);
                return Ok(Some(format!("the run ended after {:.3} s: {error}", now.as_secs_f64())));
            }
            let at = experiment.stop.at.filter(|at| now >= *at);
            let is_over = load.is_complete() && sources.is_none_or(|sources| now >= sources);
            if at.is_some() || (experiment.stop.on_completion && is_over) {
                end = at.unwrap_or(now);
                load.settle(end);
                return Ok(None);
            }
            if clock.real_since(told, now) >= TELL {
                told = now;
                tell(progress(experiment, &load, now));
            }
        }
    })?;
    fabric
        .flush_captures()
        .map_err(|error| io::Error::other(format!("a capture cannot be written: {error}")))?;
    health.incomplete = incomplete;
    health.steal = Times::now().steal_since(&before);
    health.refused += hosts.lost().saturating_sub(lost);
    health.writing = std::mem::take(&mut load.writing);
    let measured = Measured {
        flows: std::mem::take(&mut load.flows),
        queries: load.queries(),
        flow_traces: load.take_traces(),
        end,
        ..Measured::default()
    };
    Ok((fabric.report(experiment.clone(), measured), health))
}

fn progress(experiment: &Experiment, load: &Load<'_>, now: Instant) -> Value {
    let of = |part: f64, whole: f64| if whole > 0.0 { (part / whole).min(1.0) } else { 0.0 };
    let by_time = experiment.stop.at.map(|at| of(now.as_secs_f64(), at.as_secs_f64()));
    let by_flows = experiment.expected_flows().map(|flows| of(load.completed() as f64, flows as f64));
    json!({
        "done": false,
        "simulated_s": now.as_secs_f64(),
        "fraction": by_time.unwrap_or(0.0).max(by_flows.unwrap_or(0.0)),
        "flows_started": load.flows.len(),
        "flows_completed": load.completed(),
        "packet_hops": 0,
        "events": 0,
    })
}
