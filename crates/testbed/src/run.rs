//! A run, from the scenario's text to the tables of its folder.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde::Deserialize;
use serde_json::{Value, json};
use shallows_core::{Duration, Instant};
use shallows_scenario::Experiment;
use shallows_sim::{Measured, Report};

use crate::carry::carry;
use crate::fabric::Fabric;
use crate::health::{Bounds, Health};
use crate::hosts::{Hosts, congestion_controls};
use crate::load::Load;
use crate::mapping::{Plan, Refusal};
use crate::sys::clock::Clock;
use crate::sys::machine::{self, Times};
use crate::sys::packets::Packets;

/// What is to be run, and where its tables go.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The scenario's text.
    pub text: String,
    /// What it is called in messages.
    pub file: String,
    /// Where the files are that it names.
    pub base: PathBuf,
    /// Values that differ, by key.
    pub overrides: Vec<(String, String)>,
    /// In place of the scenario's own.
    pub seed: Option<u64>,
    /// Where the tables go.
    pub folder: PathBuf,
}

/// Why nothing was run.
#[derive(Debug)]
pub enum Failure {
    /// The scenario, or parts of it.
    Scenario(String),
    /// What the scenario asks for and Linux cannot do.
    Refused(Vec<Refusal>),
    /// This machine, or this user.
    Machine(String),
}

/// How long connections may take to open before the run.
const OPENING: Duration = Duration::from_secs(20);
/// Between two looks at whether it is time to end.
const LOOK: Duration = Duration::from_millis(20);
/// Before time zero: what opened connections has died away.
const LEAD: Duration = Duration::from_millis(50);
/// Between two reports of how far it is.
const TELL: Duration = Duration::from_millis(200);

/// Run it, and write its tables; `tell` hears how far it is, as `shallows_sim::Progress` would say it.
///
/// # Errors
///
/// What stands in the way, before anything was sent, or what went wrong.
pub fn run(request: &Request, mut tell: impl FnMut(Value)) -> Result<Value, Failure> {
    let Request { text, file, base, overrides, seed, folder } = request;
    let read = |path: &str| std::fs::read_to_string(base.join(path)).map_err(|error| error.to_string());
    let experiment = shallows_scenario::parse(text, file, &read, overrides, *seed)
        .map_err(|error| Failure::Scenario(error.to_string()))?;
    let available = congestion_controls();
    let mut known: Vec<&str> = available.iter().map(String::as_str).collect();
    let has_own = cfg!(feature = "ebpf") && !known.contains(&"dctcp");
    known.extend(has_own.then_some("dctcp"));
    let mut plan = Plan::of(&experiment, &known).map_err(Failure::Refused)?;
    if !machine::is_root() {
        machine::become_root().map_err(|error| {
            Failure::Machine(format!("a testbed needs root, or namespaces of users ({error}); try sudo"))
        })?;
    }
    let own = register(has_own && plan.congestion == "dctcp")?;
    if let Some((name, _)) = &own {
        plan.congestion.clone_from(name);
    }
    let hosts = Hosts::raise(&experiment, &plan).map_err(Failure::Machine)?;
    let bounds = Bounds::of(&experiment);
    let (report, health) = measure(&experiment, &hosts, &plan, &mut tell)
        .map_err(|error| Failure::Machine(error.to_string()))?;
    for name in report.tables() {
        write(&folder.join(format!("{name}.parquet")), |out| report.write_table(name, out))
            .map_err(|error| Failure::Machine(format!("{name}.parquet could not be written: {error}")))?;
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

/// The kernel's name of our DCTCP, and what keeps it there.
#[cfg(feature = "ebpf")]
fn register(wanted: bool) -> Result<Option<(String, crate::sys::ebpf::Registered)>, Failure> {
    if !wanted {
        return Ok(None);
    }
    let registered = crate::sys::ebpf::dctcp()
        .map_err(|error| Failure::Machine(format!("the kernel does not take DCTCP from us: {error}")))?;
    Ok(Some((registered.name.clone(), registered)))
}

#[cfg(not(feature = "ebpf"))]
fn register(_wanted: bool) -> Result<Option<(String, ())>, Failure> {
    Ok(None)
}

fn write(path: &Path, table: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    table(&mut out)?;
    out.flush()
}

/// Two networks, one after the other: in the first, connections are opened; the second begins at time zero, and is measured.
fn measure(
    experiment: &Experiment,
    hosts: &Hosts,
    plan: &Plan,
    tell: &mut impl FnMut(Value),
) -> io::Result<(Report, Health)> {
    // Applications are not what is measured.
    machine::hurry();
    let mut packets = Packets::open(plan.mtu.0 as usize)?;
    let mut load = Load::new(experiment, hosts, plan)?;
    let mut opening = Fabric::new(experiment);
    let clock = Clock::starting_in(Duration::ZERO);
    beside(&mut opening, &mut packets, hosts, clock, &mut Health::default(), || {
        while !load.is_up() {
            load.turn(Clock::starting_in(OPENING), LOOK)?;
            if clock.now() >= Instant::ZERO + OPENING {
                return Err(io::Error::other("connections could not be opened: no answer"));
            }
        }
        // What opened them dies away.
        thread::sleep(std::time::Duration::from_micros(
            (LEAD.0 + experiment.network.base_rtt().0) / 1_000_000,
        ));
        Ok(())
    })?;
    let mut fabric = Fabric::new(experiment);
    let mut health = Health::default();
    let (before, refused) = (Times::now(), hosts.refused());
    let clock = Clock::starting_in(LEAD);
    let mut end = Instant::ZERO;
    beside(&mut fabric, &mut packets, hosts, clock, &mut health, || {
        let mut told = Instant::ZERO;
        loop {
            load.turn(clock, LOOK)?;
            let now = clock.now();
            end = now;
            let at = experiment.stop.at.filter(|at| now >= *at);
            if at.is_some() || (experiment.stop.on_completion && load.is_complete()) {
                end = at.unwrap_or(now);
                load.settle(end);
                return Ok(());
            }
            if now.saturating_since(told) >= TELL {
                told = now;
                tell(progress(experiment, &load, now));
            }
        }
    })?;
    health.steal = Times::now().steal_since(&before);
    health.refused += hosts.refused() - refused;
    health.writing = std::mem::take(&mut load.writing);
    let measured = Measured {
        flows: std::mem::take(&mut load.flows),
        queries: load.queries(),
        end,
        ..Measured::default()
    };
    Ok((fabric.report(experiment.clone(), measured), health))
}

/// Carry frames in a thread of its own while `work` is done in this one.
fn beside(
    fabric: &mut Fabric,
    packets: &mut Packets,
    hosts: &Hosts,
    clock: Clock,
    health: &mut Health,
    work: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let end = AtomicBool::new(false);
    thread::scope(|scope| {
        let carrier = scope.spawn(|| {
            machine::hurry();
            carry(fabric, packets, &hosts.interfaces, clock, &end, health);
        });
        let done = work();
        end.store(true, Ordering::Relaxed);
        carrier.join().expect("what a switch does cannot fail");
        done
    })
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
