//! Checks the tables `[[measure.captures]]`: the captured ports and the names of the files.

use crate::check::Checker;
use crate::experiment::Capture;
use crate::ports::matching;
use crate::spec;
use crate::topology::Network;

/// Length of the Ethernet, IP and TCP headers with the longest TCP options (RFC 9293 §3.1). Programs cannot parse packets that are cut off
/// within these headers.
const LONGEST_HEADERS: u64 = 14 + 20 + 60;
/// Size of the largest packet that libpcap and Wireshark accept.
const LONGEST_PACKET: u64 = 1 << 18;

/// Checks and returns the captures that the scenario requests.
pub(crate) fn build(
    captures: &[spec::Capture],
    network: &Network,
    checker: &mut Checker<'_>,
) -> Vec<Capture> {
    let mut made: Vec<Capture> = Vec::new();
    for (entry, capture) in captures.iter().enumerate() {
        let key = format!("measure.captures[{entry}]");
        check_name(&capture.name, &made, &format!("{key}.name"), checker);
        let bytes = capture.snap.0.0;
        let holds = (LONGEST_HEADERS..=LONGEST_PACKET).contains(&bytes);
        checker.require(holds, &format!("{key}.snap"), || {
            format!(
                "must be from {LONGEST_HEADERS}B (all headers) to {LONGEST_PACKET}B, got {}",
                capture.snap
            )
        });
        let links = links(capture, &key, network, checker);
        made.push(Capture { name: capture.name.clone(), links, snap: bytes as u32 });
    }
    made
}

fn links(capture: &spec::Capture, key: &str, network: &Network, checker: &mut Checker<'_>) -> Vec<u32> {
    checker.require(!capture.ports.is_empty() || capture.hosts.is_some(), key, || {
        "must have ports, such as [\"to-host\"], or hosts, such as \"0..2\"".to_owned()
    });
    let mut chosen = vec![false; network.links.len()];
    if !capture.ports.is_empty() {
        chosen = matching(&capture.ports, &format!("{key}.ports"), network, |_| true, checker);
    }
    if let Some(hosts) = &capture.hosts
        && let Some(hosts) = checker.accept(&format!("{key}.hosts"), hosts.resolve(network))
    {
        for (link, chosen) in network.links.iter().zip(&mut chosen) {
            let at =
                |node: crate::topology::NodeId| hosts.binary_search_by_key(&node.0, |host| host.0).is_ok();
            *chosen |= at(link.from) || at(link.to);
        }
    }
    (0..network.links.len() as u32).filter(|&link| chosen[link as usize]).collect()
}

/// Checks the name of a capture, which becomes a file name.
fn check_name(name: &str, others: &[Capture], key: &str, checker: &mut Checker<'_>) {
    let of_letters = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let sound = of_letters && (1..=80).contains(&name.len()) && !name.starts_with('.');
    checker.require(sound, key, || {
        format!("must be a file name of 1 to 80 ASCII letters, digits, \"-\", \"_\" and \".\" that does not start \
                 with \".\", got {name:?}")
    });
    checker.require(others.iter().all(|other| !other.name.eq_ignore_ascii_case(name)), key, || {
        format!("each capture must have a unique name (letter case is ignored), got {name:?} twice")
    });
}
