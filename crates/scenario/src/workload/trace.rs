//! Flow lists: CSV with a header line `start_ns,source,destination,bytes`.

use shallows_core::packet::HostId;
use shallows_core::{Bytes, Instant};

use super::Flow;
use crate::quantity::MAX_TIME;

/// The header line.
pub(crate) const HEADER: &str = "start_ns,source,destination,bytes";

/// The flows of a trace in order of their times. An error names the line.
pub(crate) fn parse(text: &str, hosts: u32, workload: u16) -> Result<Vec<Flow>, String> {
    let mut lines = text.lines().enumerate().map(|(number, line)| (number + 1, line.trim()));
    match lines.next() {
        Some((_, HEADER)) => {}
        other => {
            let found = other.map_or("nothing", |(_, line)| line);
            return Err(format!("line 1: found \"{}\"; the first line is \"{HEADER}\"", shorten(found)));
        }
    }
    let mut flows: Vec<Flow> = Vec::new();
    for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
        let flow = parse_line(line, hosts).map_err(|message| format!("line {number}: {message}"))?;
        if flows.last().is_some_and(|last| last.at > flow.at) {
            return Err(format!("line {number}: it starts before the line above it; sort the lines by time"));
        }
        flows.push(Flow { workload, ..flow });
    }
    if flows.is_empty() { Err("it lists no flow".to_owned()) } else { Ok(flows) }
}

fn parse_line(line: &str, hosts: u32) -> Result<Flow, String> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let [start, source, destination, bytes] = fields[..] else {
        return Err(format!("\"{}\" has {} fields; expected {HEADER}", shorten(line), fields.len()));
    };
    let number = |name: &str, text: &str, most: u64| match text.parse::<u64>() {
        Ok(value) if value <= most => Ok(value),
        _ => Err(format!("{name} \"{}\" is not a whole number from 0 to {most}", shorten(text))),
    };
    let last = u64::from(hosts) - 1;
    let start = number("start_ns", start, MAX_TIME.0 / 1_000)?;
    let host = |name, text| number(name, text, last).map(|host| HostId(host as u32));
    let (source, destination) = (host("source", source)?, host("destination", destination)?);
    let bytes = number("bytes", bytes, 1 << 50)?;
    if source == destination {
        return Err(format!("host {} sends to itself", source.0));
    }
    if bytes == 0 {
        return Err("a flow of 0 bytes".to_owned());
    }
    Ok(Flow {
        at: Instant(start * 1_000),
        source,
        destination,
        size: Some(Bytes(bytes)),
        workload: 0,
        class: 0,
        leg: None,
    })
}

/// As much of a text as a message can hold.
fn shorten(text: &str) -> String {
    if text.chars().count() <= 60 {
        text.to_owned()
    } else {
        format!("{}…", text.chars().take(60).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_lists_flows_in_order_of_time() {
        let flows =
            parse("start_ns,source,destination,bytes\n0,1,0,1500\n\n 2000, 0, 1, 9 \n", 2, 3).unwrap();
        let expected = |at, source, destination, bytes| Flow {
            at: Instant(at),
            source: HostId(source),
            destination: HostId(destination),
            size: Some(Bytes(bytes)),
            workload: 3,
            class: 0,
            leg: None,
        };
        assert_eq!(flows, [expected(0, 1, 0, 1_500), expected(2_000_000, 0, 1, 9)]);
    }

    #[test]
    fn a_bad_line_is_named_with_what_is_wrong() {
        for (lines, message) in [
            ("0,1,2", "line 2: \"0,1,2\" has 3 fields; expected start_ns,source,destination,bytes"),
            ("0,1,8,9", "line 2: destination \"8\" is not a whole number from 0 to 7"),
            ("-1,1,2,9", "line 2: start_ns \"-1\" is not a whole number from 0 to 86400000000000"),
            ("0,1,1,9", "line 2: host 1 sends to itself"),
            ("0,1,2,0", "line 2: a flow of 0 bytes"),
            ("5,1,2,9\n4,1,2,9", "line 3: it starts before the line above it; sort the lines by time"),
            ("", "it lists no flow"),
        ] {
            assert_eq!(parse(&format!("{HEADER}\n{lines}"), 8, 0).unwrap_err(), message);
        }
        assert_eq!(
            parse("0,1,2,9", 8, 0).unwrap_err(),
            "line 1: found \"0,1,2,9\"; the first line is \"start_ns,source,destination,bytes\""
        );
    }
}
