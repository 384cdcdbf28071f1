//! Network whose hosts run the user's own programs. A page shows the state of the network.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use shallows_core::{Duration, Instant};

use crate::carry::Switch;
use crate::fabric::Fabric;
use crate::frame;
use crate::health::{Bounds, Health};
use crate::hosts::HostNamespaces;
use crate::run::{Failure, Scenario, capture, prepare};
use crate::sys::clock::Clock;
use crate::sys::namespace::Namespace;
use crate::sys::shell::{self, Page};

/// Network to set up, and the command to run in it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Scenario that defines the network and the transport; its workloads are not run.
    pub scenario: Scenario,
    /// Command with its arguments; a shell if empty.
    pub command: Vec<String>,
    /// Folder for the captures of the scenario; `None` discards them.
    pub captures: Option<PathBuf>,
}

/// Runs a network for as long as a command runs; `page` is a file in memory that shows the network's state.
///
/// # Errors
///
/// If the network or the command cannot be run.
pub fn stand(request: &Request, page: &Path) -> Result<Value, Failure> {
    let machine = |error: std::io::Error| Failure::Machine(error.to_string());
    let home = Namespace::current().map_err(machine)?;
    let (experiment, plan, mut own) = prepare(&request.scenario)?;
    // The duration is unknown, so the run keeps no records that grow with time.
    let experiment = experiment.idle(request.captures.is_some());
    let folder = request.captures.as_deref().unwrap_or(Path::new("."));
    let captures = capture(&experiment, &plan, folder).map_err(machine)?;
    let mut hosts = HostNamespaces::raise(&experiment, &plan, own.as_mut()).map_err(Failure::Machine)?;
    let page = Page::open(page).map_err(machine)?;
    let bounds = Bounds::of(&experiment, plan.dilation);
    let mut switch = Switch::open(&hosts, &plan).map_err(machine)?;
    let mut fabric = Fabric::capturing(&experiment, captures);
    let clock = Clock::starting_in(Duration::ZERO, plan.dilation);
    if plan.bounded {
        let mut before = Fabric::new(&experiment);
        switch.carry(&mut before, clock, &mut |_, _, _| {}, |_| hosts.acquaint()).map_err(machine)?;
    }
    let clock = Clock::starting_in(Duration::ZERO, plan.dilation);
    let mut text = String::new();
    let mut show = |now: Instant, fabric: &Fabric, health: &Health| {
        text.clear();
        describe(now, fabric, health, &bounds, &mut text).expect("a text takes what is written");
        page.write(&text);
    };
    show(Instant::ZERO, &fabric, &Health::default());
    greet(&experiment);
    let stood = switch.carry(&mut fabric, clock, &mut show, |gone| {
        // The command starts in the original network; its programs enter hosts by name.
        let _ = home.enter();
        shell::run(&request.command, &hosts.networks, &page, &|| gone.check_carrier())
    });
    let (code, mut health) =
        stood.map_err(|error| Failure::Machine(format!("the shell cannot start: {error}")))?;
    fabric
        .flush_captures()
        .map_err(|error| Failure::Machine(format!("a capture cannot be written: {error}")))?;
    health.refused += hosts.lost();
    health.changed = hosts.changed();
    Ok(json!({
        "code": code,
        "ports": fabric.ports().map(|port| json!({
            "name": port.name, "sent": port.sent, "marked": port.marked, "dropped": port.dropped,
            "most_bytes": port.most.0,
        })).collect::<Vec<_>>(),
        "health": health.describe(&bounds),
        "differences": plan.differences,
    }))
}

fn greet(experiment: &shallows_scenario::Experiment) {
    let last = experiment.network.hosts - 1;
    let [a, b, c, d] = frame::address(shallows_core::packet::HostId(last));
    eprintln!(
        "hosts h0 to h{last} are ready, with addresses 10.0.0.1 to {a}.{b}.{c}.{d}: `h0 COMMAND` runs a command on \
         host h0, `queues` shows the ports once, and `live` shows the ports continuously. The hosts are removed when \
         the shell ends."
    );
}

/// Writes the status text of the page, which people and `runs/standing.py` read. The first line has the network time and the lateness of
/// frames. For each reason for which the run is invalid, a line follows that begins with `!`. A table of the ports that have carried
/// packets is last.
fn describe(
    now: Instant,
    fabric: &Fabric,
    health: &Health,
    bounds: &Bounds,
    text: &mut String,
) -> std::fmt::Result {
    writeln!(text, "{:.6} s: {}", now.as_secs_f64(), health.in_words(bounds))?;
    for complaint in health.complaints(bounds) {
        writeln!(text, "! {complaint}")?;
    }
    writeln!(text, "{:<20} {:>12} {:>12} {:>10} {:>10}", "port", "backlog B", "sent", "marked", "dropped")?;
    for port in fabric.ports() {
        let (backlog, sent, marked, dropped) = (port.backlog.0, port.sent, port.marked, port.dropped);
        writeln!(text, "{:<20} {backlog:>12} {sent:>12} {marked:>10} {dropped:>10}", port.name)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dilation::Dilation;

    #[test]
    fn a_page_shows_the_ports_that_have_carried_something() {
        let text = "name = \"star\"\n[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100Mbps\"\n[stop]\nat = \"1s\"\n\
                    [switch]\nbuffer = {kind = \"static-partition\", per_port = \"30KB\"}\n[[workload]]\nkind = \"long-lived\"\n\
                    senders = \"0..1\"\nreceivers = \"1..2\"\n";
        let experiment =
            shallows_scenario::parse(text, "star.toml", &|_| unreachable!("it names no file"), &[], None)
                .unwrap();
        let mut fabric = Fabric::new(&experiment);
        let bounds = Bounds::of(&experiment, Dilation::NONE);
        let shown = |fabric: &Fabric, health: &Health| {
            let mut text = String::new();
            describe(Instant::ZERO + Duration::from_millis(1_500), fabric, health, &bounds, &mut text)
                .unwrap();
            text
        };
        assert_eq!(
            shown(&fabric, &Health::default()).lines().collect::<Vec<_>>(),
            [
                "1.500000 s: frames came to their hosts late by 0 us in the median, 0 us at the 99th percentile (bound 120), \
                 0 us at worst",
                "port                    backlog B         sent     marked    dropped",
            ],
            "nothing has been sent"
        );
        let mut frame = vec![0; 14 + 1_500];
        frame[12..14].copy_from_slice(&[0x08, 0x00]);
        frame[14..26].copy_from_slice(&[0x45, 0x02, 0x05, 0xdc, 0, 0, 0x40, 0, 64, 6, 0, 0]);
        frame[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        frame[46..48].copy_from_slice(&[0x50, 0x10]);
        fabric.enter(shallows_core::Instant::ZERO, &frame);
        fabric.advance(shallows_core::Instant::ZERO + Duration::from_millis(1));
        let incomplete = Some("the interface of host 1 was removed or set down".to_owned());
        let mut health = Health { incomplete, ..Health::default() };
        health.lateness.record(Duration::from_micros(700));
        let page = shown(&fabric, &health);
        assert_eq!(
            page.lines().skip(1).take(2).collect::<Vec<_>>(),
            [
                "! the run is incomplete: the interface of host 1 was removed or set down",
                "! the 99th percentile of lateness must be at most 120 us, got 701 us"
            ]
        );
        let sent: Vec<Vec<&str>> =
            page.lines().skip(4).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(sent, [["host0->switch0", "0", "1", "0", "0"], ["switch0->host1", "0", "1", "0", "0"]]);
    }
}
