//! Flow lists: CSV files whose header line begins with `start_ns,source,destination,bytes`.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use shallows_core::packet::HostId;
use shallows_core::{Bytes, Instant};

use super::chain::{Links, Wait};
use super::interface::Flow;
use crate::quantity::MAX_TIME;
use crate::spec::CLASSES;
use crate::topology::Network;

/// Required columns, in this order.
const HEADER: &str = "start_ns,source,destination,bytes";
/// Optional columns, in any order.
const OPTIONAL: [&str; 6] = ["class", "port", "after", "count", "on_received", "on_acked"];

/// Contents of a file with a flow list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FlowList {
    /// Flows, in the order of the lines in the file. Among these, the flows that do not wait for other flows are sorted by start time.
    pub(crate) flows: Vec<Flow>,
    pub(crate) links: Links,
    /// Optional columns that the file contains.
    pub(crate) columns: Vec<&'static str>,
}

/// Parses a flow list. An error contains the number of the line.
pub(crate) fn parse(text: &str, network: &Network, workload: u16) -> Result<FlowList, String> {
    let hosts = (0..network.hosts).map(|host| network.host_name(host)).collect::<Vec<_>>();
    parse_among(text, &hosts, workload)
}

fn parse_among(text: &str, hosts: &[&str], workload: u16) -> Result<FlowList, String> {
    let columns = columns(text.lines().next().unwrap_or_default().trim())?;
    let numbers = hosts.iter().zip(0..).map(|(&name, number)| (name, HostId(number))).collect();
    let mut reader = Reader { columns, numbers, signals: BTreeMap::new(), links: Links::default() };
    let mut flows: Vec<Flow> = Vec::new();
    let mut last = Instant::ZERO;
    for (number, line) in rows(text) {
        let place = flows.len() as u32;
        let flow = reader.flow(line, place);
        let flow = flow.map_err(|message| format!("line {number}: {message}"))?;
        if reader.links.wait_of(place).is_none() {
            if last > flow.at {
                return Err(format!(
                    "line {number}: the start must not be before the start of an earlier line; sort the lines by \
                     start_ns"
                ));
            }
            last = flow.at;
        }
        flows.push(Flow { workload, ..flow });
    }
    if flows.is_empty() {
        return Err("the file must list at least one flow".to_owned());
    }
    reader.links.signals = reader.signals.len() as u32;
    if let Some((flow, givers)) = reader.links.stuck(flows.len() as u32) {
        let number = rows(text).nth(flow as usize).map_or(0, |(number, _)| number);
        return Err(format!("line {number}: {}", reader.explain(flow, givers)));
    }
    Ok(FlowList { flows, links: reader.links, columns: reader.columns })
}

/// Returns the non-empty lines below the header, each with its line number in the file.
fn rows(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().skip(1).map(|(index, line)| (index + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty())
}

/// Returns the optional columns of a header line.
fn columns(header: &str) -> Result<Vec<&'static str>, String> {
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    let allowed = || {
        format!(
            "line 1: the header must be \"{HEADER}\", followed by any of {}",
            OPTIONAL.map(|name| format!("\"{name}\"")).join(", ")
        )
    };
    if !names.starts_with(&HEADER.split(',').collect::<Vec<_>>()) {
        return Err(format!("{}, got \"{}\"", allowed(), shorten(header)));
    }
    let mut columns = Vec::new();
    for name in &names[4..] {
        let known = OPTIONAL.into_iter().find(|known| known == name);
        let known = known.ok_or_else(|| format!("{}, got \"{}\"", allowed(), shorten(name)))?;
        if columns.contains(&known) {
            return Err(format!("line 1: each column must have a unique name, got \"{known}\" twice"));
        }
        columns.push(known);
    }
    Ok(columns)
}

/// State while the lines of a file are read.
struct Reader<'a> {
    columns: Vec<&'static str>,
    /// Numbers of hosts, by name.
    numbers: BTreeMap<&'a str, HostId>,
    /// Numbers of signals, by name.
    signals: BTreeMap<&'a str, u32>,
    links: Links,
}

impl<'a> Reader<'a> {
    fn flow(&mut self, line: &'a str, place: u32) -> Result<Flow, String> {
        let mut fields = [""; 4 + OPTIONAL.len()];
        let expected = 4 + self.columns.len();
        let found = line.split(',').count();
        if found != expected {
            return Err(format!(
                "must have {expected} fields like the header, got {found} in \"{}\"",
                shorten(line)
            ));
        }
        fields.iter_mut().zip(line.split(',')).for_each(|(field, text)| *field = text.trim());
        let at = start(fields[0])?;
        let (source, destination) = (self.host("source", fields[1])?, self.host("destination", fields[2])?);
        let bytes = number("bytes", fields[3], 1 << 50)?;
        if source == destination {
            return Err(format!("source and destination must differ, got host {} for both", source.0));
        }
        if bytes == 0 {
            return Err("bytes must be above 0, got 0".to_owned());
        }
        let mut flow = Flow { at, size: Some(Bytes(bytes)), ..Flow::between(source, destination) };
        let (mut after, mut count) = (None, None);
        for (index, text) in fields[4..expected].iter().enumerate() {
            match self.columns[index] {
                _ if text.is_empty() => {}
                column @ "class" => flow.class = number(column, text, u64::from(CLASSES) - 1)? as u8,
                column @ "port" => flow.port = Some(number(column, text, u64::from(u16::MAX))? as u16),
                column @ "count" => {
                    let number = number(column, text, u64::from(u32::MAX))? as u32;
                    count = Some(NonZeroU32::new(number).ok_or("count must be at least 1, got 0")?);
                }
                "after" => after = Some(self.signal(text)?),
                "on_acked" => text.split_whitespace().for_each(|name| {
                    let signal = self.number_of(name);
                    self.links.acked.push(place, [signal]);
                }),
                _ => text.split_whitespace().for_each(|name| {
                    let signal = self.number_of(name);
                    self.links.received.push(place, [signal]);
                }),
            }
        }
        match (after, count) {
            (None, None) => {}
            (Some(signal), count) => {
                self.links.wait(place, Wait { signal, count: count.unwrap_or(NonZeroU32::MIN) });
            }
            (None, Some(_)) => return Err("count needs a signal in the column \"after\"".to_owned()),
        }
        Ok(flow)
    }

    /// Parses a host's number or name.
    fn host(&self, column: &str, text: &str) -> Result<HostId, String> {
        let last = self.numbers.len() as u64 - 1;
        self.numbers.get(text).copied().map_or_else(
            || {
                number(column, text, last)
                    .map(|host| HostId(host as u32))
                    .map_err(|error| format!("{error}; the name of a host is also allowed"))
            },
            Ok,
        )
    }

    /// Returns the number of the signal with this name. A new name gets the next number.
    fn signal(&mut self, name: &'a str) -> Result<u32, String> {
        if name.contains(char::is_whitespace) {
            return Err(format!("\"after\" must name one signal, got \"{}\"", shorten(name)));
        }
        Ok(self.number_of(name))
    }

    fn number_of(&mut self, signal: &'a str) -> u32 {
        let next = self.signals.len() as u32;
        *self.signals.entry(signal).or_insert(next)
    }

    /// Returns the error for a flow that waits for ever. `givers` is the number of times that the flow's signal is emitted.
    fn explain(&self, flow: u32, givers: u32) -> String {
        let Wait { signal, count } = self.links.wait_of(flow).expect("it waits");
        let name = self.signals.iter().find(|(_, number)| **number == signal).map_or("", |(name, _)| name);
        if givers < count.get() {
            return format!(
                "this flow never starts, because it waits for the signal \"{}\" {count} times; all flows together \
                 give the signal {givers} times",
                shorten(name)
            );
        }
        format!(
            "flows must not wait for each other in a circle; this flow never starts, because it waits for the signal \
             \"{}\"",
            shorten(name)
        )
    }
}

fn number(column: &str, text: &str, most: u64) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(value) if value <= most => Ok(value),
        _ => Err(format!("{column} must be a whole number from 0 to {most}, got \"{}\"", shorten(text))),
    }
}

/// Parses a time in nanoseconds with up to three decimal places.
fn start(text: &str) -> Result<Instant, String> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let most = MAX_TIME.0 / 1_000;
    let all_digits = decimals.len() <= 3 && decimals.bytes().all(|digit| digit.is_ascii_digit());
    let picoseconds = whole
        .parse::<u64>()
        .ok()
        .filter(|&whole| whole <= most && all_digits)
        .map(|whole| whole * 1_000 + format!("{decimals:0<3}").parse::<u64>().expect("three digits"));
    picoseconds.map(Instant).ok_or_else(|| {
        format!(
            "start_ns must be a number from 0 to {most} with at most three decimal places, got \"{}\"",
            shorten(text)
        )
    })
}

/// Returns the text, truncated if it is too long for an error message.
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

    const HOSTS: [&str; 8] = ["h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7"];

    fn parsed(text: &str) -> Result<FlowList, String> {
        parse_among(text, &HOSTS, 3)
    }

    fn flow(at: u64, source: u32, destination: u32, bytes: u64) -> Flow {
        let flow = Flow::between(HostId(source), HostId(destination));
        Flow { at: Instant(at), size: Some(Bytes(bytes)), workload: 3, ..flow }
    }

    #[test]
    fn a_trace_lists_flows_in_order_of_time() {
        let list = parsed("start_ns,source,destination,bytes\n0,1,h0,1500\n\n 2000.5, 0, 1, 9 \n").unwrap();
        assert_eq!(list.flows, [flow(0, 1, 0, 1_500), flow(2_000_500, 0, 1, 9)]);
        assert_eq!(list.links, Links::default());
    }

    #[test]
    fn columns_are_known_by_their_names_and_may_be_empty() {
        let text = "start_ns,source,destination,bytes,on_received,count,after,class,port,on_acked\n\
                    0,0,1,9,a b,,,,100,\n\
                    5,1,2,9,,2,a,46,,a\n\
                    1,2,3,9,,,b,,,a\n";
        let list = parsed(text).unwrap();
        let first = Flow { port: Some(100), ..flow(0, 0, 1, 9) };
        assert_eq!(list.flows, [first, Flow { class: 46, ..flow(5_000, 1, 2, 9) }, flow(1_000, 2, 3, 9)]);
        let count = |count| NonZeroU32::new(count).unwrap();
        let mut expected = Links { signals: 2, ..Links::default() };
        expected.wait(1, Wait { signal: 0, count: count(2) });
        expected.wait(2, Wait { signal: 1, count: count(1) });
        expected.received.push(0, [0, 1]);
        expected.acked.push(1, [0]);
        expected.acked.push(2, [0]);
        assert_eq!(list.links, expected);
    }

    #[test]
    fn a_bad_line_is_named_with_what_is_wrong() {
        for (lines, message) in [
            ("0,1,2", "line 2: must have 4 fields like the header, got 3 in \"0,1,2\""),
            (
                "0,1,8,9",
                "line 2: destination must be a whole number from 0 to 7, got \"8\"; the name of a host is also \
                 allowed",
            ),
            (
                "-1,1,2,9",
                "line 2: start_ns must be a number from 0 to 86400000000000 with at most three decimal places, got \"-1\"",
            ),
            (
                "1.0001,1,2,9",
                "line 2: start_ns must be a number from 0 to 86400000000000 with at most three decimal places, got \
                 \"1.0001\"",
            ),
            ("0,1,1,9", "line 2: source and destination must differ, got host 1 for both"),
            ("0,1,2,0", "line 2: bytes must be above 0, got 0"),
            (
                "5,1,2,9\n4,1,2,9",
                "line 3: the start must not be before the start of an earlier line; sort the lines \
                                  by start_ns",
            ),
            ("", "the file must list at least one flow"),
        ] {
            assert_eq!(parsed(&format!("{HEADER}\n{lines}")).unwrap_err(), message);
        }
        for (lines, message) in [
            ("0,1,2,9,x,,,64", "line 2: class must be a whole number from 0 to 63, got \"64\""),
            ("0,1,2,9,x y,,,0", "line 2: \"after\" must name one signal, got \"x y\""),
            ("0,1,2,9,x,0,,0", "line 2: count must be at least 1, got 0"),
            ("0,1,2,9,,2,,0", "line 2: count needs a signal in the column \"after\""),
            (
                "0,1,2,9,,,x,0\n0,1,2,9,x,2,,0",
                "line 3: this flow never starts, because it waits for the signal \"x\" 2 times; all flows together \
                 give the signal 1 times",
            ),
            (
                "0,1,2,9,y,,x,0\n0,1,2,9,x,,y,0",
                "line 2: flows must not wait for each other in a circle; this flow never starts, because it waits \
                 for the signal \"y\"",
            ),
        ] {
            let text = format!("{HEADER},after,count,on_received,class\n{lines}");
            assert_eq!(parsed(&text).unwrap_err(), message);
        }
    }

    #[test]
    fn a_header_says_which_columns_there_may_be() {
        let allowed = "line 1: the header must be \"start_ns,source,destination,bytes\", followed by any of \"class\", \"port\", \
                       \"after\", \"count\", \"on_received\", \"on_acked\"";
        assert_eq!(parsed("0,1,2,9").unwrap_err(), format!("{allowed}, got \"0,1,2,9\""));
        assert_eq!(parsed(&format!("{HEADER},prio")).unwrap_err(), format!("{allowed}, got \"prio\""));
        let twice = parsed(&format!("{HEADER},class,class")).unwrap_err();
        assert_eq!(twice, "line 1: each column must have a unique name, got \"class\" twice");
    }
}
