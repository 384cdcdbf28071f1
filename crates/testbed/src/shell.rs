//! A network that stands, for whatever programs its user starts on its hosts.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use shallows_core::Duration;

use crate::carry::Switch;
use crate::fabric::Fabric;
use crate::frame;
use crate::health::Bounds;
use crate::hosts::Hosts;
use crate::run::{Failure, Scenario, capture, prepare};
use crate::sys::clock::Clock;
use crate::sys::namespace::Namespace;
use crate::sys::shell::{self, Page};

/// What is to stand, and what is to be done with it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Its network and transport; nothing of its workloads is played.
    pub scenario: Scenario,
    /// What is run, with its arguments; a shell if that is nothing.
    pub command: Vec<String>,
    /// Where the files of packets go that its scenario asks for; without a place, none is kept.
    pub captures: Option<PathBuf>,
}

/// Have a network stand for as long as a command runs.
///
/// # Errors
///
/// What stands in the way.
pub fn stand(request: &Request) -> Result<Value, Failure> {
    let machine = |error: std::io::Error| Failure::Machine(error.to_string());
    let home = Namespace::current().map_err(machine)?;
    let (mut experiment, plan, mut own) = prepare(&request.scenario)?;
    // Nobody knows for how long it stands, so nothing is recorded that grows.
    experiment.sample_queues = None;
    experiment.port_traces.clear();
    experiment.datagram_sources.clear();
    experiment.probes.clear();
    if request.captures.is_none() {
        experiment.captures.clear();
    }
    let folder = request.captures.as_deref().unwrap_or(Path::new("."));
    let captures = capture(&experiment, &plan, folder).map_err(machine)?;
    let hosts = Hosts::raise(&experiment, &plan, own.as_mut()).map_err(Failure::Machine)?;
    let page = Page::new().map_err(machine)?;
    let mut switch = Switch::open(&hosts, &plan).map_err(machine)?;
    let mut fabric = Fabric::capturing(&experiment, captures);
    let clock = Clock::starting_in(Duration::ZERO, plan.dilation);
    if plan.bounded {
        let mut before = Fabric::new(&experiment);
        switch.carry(&mut before, clock, &mut |_| {}, |_| hosts.acquaint()).map_err(machine)?;
    }
    let clock = Clock::starting_in(Duration::ZERO, plan.dilation);
    let mut show = |fabric: &Fabric| page.write(&describe(fabric));
    show(&fabric);
    greet(&experiment);
    let stood = switch.carry(&mut fabric, clock, &mut show, |gone| {
        // The user's programs are where they would be without a testbed, until they ask for a host.
        let _ = home.enter();
        let code = shell::run(&request.command, &hosts.networks, &page)?;
        Ok((code, gone.check().err().map(|error| error.to_string())))
    });
    let ((code, incomplete), mut health) =
        stood.map_err(|error| Failure::Machine(format!("the shell could not be run: {error}")))?;
    fabric
        .flush_captures()
        .map_err(|error| Failure::Machine(format!("a capture could not be written: {error}")))?;
    health.refused += hosts.refused();
    health.incomplete = incomplete;
    Ok(json!({
        "code": code,
        "ports": fabric.ports().map(|port| json!({
            "name": port.name, "sent": port.sent, "marked": port.marked, "dropped": port.dropped,
            "most_bytes": port.most.0,
        })).collect::<Vec<_>>(),
        "health": health.describe(&Bounds::of(&experiment, plan.dilation)),
        "differences": plan.differences,
    }))
}

fn greet(experiment: &shallows_scenario::Experiment) {
    let last = experiment.network.hosts - 1;
    let [a, b, c, d] = frame::address(shallows_core::packet::HostId(last));
    eprintln!(
        "hosts h0 to h{last} stand, with addresses 10.0.0.1 to {a}.{b}.{c}.{d}: `h0 COMMAND` runs it there; `queues` shows the \
         ports, `live` goes on showing them. All of it goes when this ends."
    );
}

/// What a reader of the page sees: the ports that have carried something.
fn describe(fabric: &Fabric) -> String {
    let mut text =
        format!("{:<20} {:>12} {:>12} {:>10} {:>10}\n", "port", "backlog B", "sent", "marked", "dropped");
    for port in fabric.ports() {
        text += &format!(
            "{:<20} {:>12} {:>12} {:>10} {:>10}\n",
            port.name, port.backlog.0, port.sent, port.marked, port.dropped
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_shows_the_ports_that_have_carried_something() {
        let text = "name = \"star\"\n[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100Mbps\"\n[stop]\nat = \"1s\"\n\
                    [switch]\nbuffer = {kind = \"static-partition\", per_port = \"30KB\"}\n[[workload]]\nkind = \"long-lived\"\n\
                    senders = \"0..1\"\nreceivers = \"1..2\"\n";
        let experiment =
            shallows_scenario::parse(text, "star.toml", &|_| unreachable!("it names no file"), &[], None);
        let mut fabric = Fabric::new(&experiment.unwrap());
        assert_eq!(describe(&fabric).lines().count(), 1, "nothing has been sent");
        let mut frame = vec![0; 14 + 1_500];
        frame[12..14].copy_from_slice(&[0x08, 0x00]);
        frame[14..26].copy_from_slice(&[0x45, 0x02, 0x05, 0xdc, 0, 0, 0x40, 0, 64, 6, 0, 0]);
        frame[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        frame[46..48].copy_from_slice(&[0x50, 0x10]);
        fabric.enter(shallows_core::Instant::ZERO, &frame);
        fabric.advance(shallows_core::Instant::ZERO + Duration::from_millis(1));
        let page = describe(&fabric);
        let sent: Vec<Vec<&str>> =
            page.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(sent, [["host0->switch0", "0", "1", "0", "0"], ["switch0->host1", "0", "1", "0", "0"]]);
    }
}
