//! Flow lists: CSV whose header line begins with `start_ns,source,destination,bytes`.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use shallows_core::packet::HostId;
use shallows_core::{Bytes, Instant};

use super::chain::{Links, Wait};
use super::interface::Flow;
use crate::quantity::MAX_TIME;
use crate::spec::CLASSES;
use crate::topology::Network;

/// Columns of every list, in this order.
const HEADER: &str = "start_ns,source,destination,bytes";
/// Optional columns, in any order.
const OPTIONAL: [&str; 6] = ["class", "port", "after", "count", "on_received", "on_acked"];

/// Flows of a file, and their dependencies.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FlowList {
    /// Flows; those that do not wait are in order of their times.
    pub(crate) flows: Vec<Flow>,
    pub(crate) links: Links,
    /// The optional columns that it has.
    pub(crate) columns: Vec<&'static str>,
}

/// The flows of a list. An error names the line.
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
                    "line {number}: it starts before a line above it; sort the lines by time"
                ));
            }
            last = flow.at;
        }
        flows.push(Flow { workload, ..flow });
    }
    if flows.is_empty() {
        return Err("it lists no flow".to_owned());
    }
    reader.links.signals = reader.signals.len() as u32;
    if let Some((flow, givers)) = reader.links.stuck(flows.len() as u32) {
        let number = rows(text).nth(flow as usize).map_or(0, |(number, _)| number);
        return Err(format!("line {number}: {}", reader.explain(flow, givers)));
    }
    Ok(FlowList { flows, links: reader.links, columns: reader.columns })
}

/// The lines below the header that are not empty, each with its number in the file.
fn rows(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().skip(1).map(|(index, line)| (index + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty())
}

/// The optional columns of a header line.
fn columns(header: &str) -> Result<Vec<&'static str>, String> {
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    let allowed = || {
        format!(
            "line 1: the header is \"{HEADER}\", then any of {}",
            OPTIONAL.map(|name| format!("\"{name}\"")).join(", ")
        )
    };
    if !names.starts_with(&HEADER.split(',').collect::<Vec<_>>()) {
        return Err(format!("{}; found \"{}\"", allowed(), shorten(header)));
    }
    let mut columns = Vec::new();
    for name in &names[4..] {
        let known = OPTIONAL.into_iter().find(|known| known == name);
        let known = known.ok_or_else(|| format!("{}; found \"{}\"", allowed(), shorten(name)))?;
        if columns.contains(&known) {
            return Err(format!("line 1: two columns are called \"{known}\""));
        }
        columns.push(known);
    }
    Ok(columns)
}

/// State while lines are read.
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
            return Err(format!("\"{}\" has {found} fields; the header has {expected}", shorten(line)));
        }
        fields.iter_mut().zip(line.split(',')).for_each(|(field, text)| *field = text.trim());
        let at = start(fields[0])?;
        let (source, destination) = (self.host("source", fields[1])?, self.host("destination", fields[2])?);
        let bytes = number("bytes", fields[3], 1 << 50)?;
        if source == destination {
            return Err(format!("host {} sends to itself", source.0));
        }
        if bytes == 0 {
            return Err("a flow of 0 bytes".to_owned());
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
                    count = Some(NonZeroU32::new(number).ok_or("a count of 0; at least 1")?);
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
            (None, Some(_)) => return Err("a count, but no signal to wait for in \"after\"".to_owned()),
        }
        Ok(flow)
    }

    /// A host by its number or its name.
    fn host(&self, column: &str, text: &str) -> Result<HostId, String> {
        let last = self.numbers.len() as u64 - 1;
        self.numbers.get(text).copied().map_or_else(
            || {
                number(column, text, last)
                    .map(|host| HostId(host as u32))
                    .map_err(|error| format!("{error}, nor a host's name"))
            },
            Ok,
        )
    }

    /// The signal that a flow waits for.
    fn signal(&mut self, name: &'a str) -> Result<u32, String> {
        if name.contains(char::is_whitespace) {
            return Err(format!("it waits for \"{}\"; a flow waits for one signal", shorten(name)));
        }
        Ok(self.number_of(name))
    }

    fn number_of(&mut self, signal: &'a str) -> u32 {
        let next = self.signals.len() as u32;
        *self.signals.entry(signal).or_insert(next)
    }

    /// Why a flow waits for ever for a signal that so many give.
    fn explain(&self, flow: u32, givers: u32) -> String {
        let Wait { signal, count } = self.links.wait_of(flow).expect("it waits");
        let name = self.signals.iter().find(|(_, number)| **number == signal).map_or("", |(name, _)| name);
        if givers < count.get() {
            return format!(
                "it waits until \"{}\" is given {count} times; it is given {givers} times",
                shorten(name)
            );
        }
        format!("it waits for \"{}\", which is given by flows that wait for it in their turn", shorten(name))
    }
}

fn number(column: &str, text: &str, most: u64) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(value) if value <= most => Ok(value),
        _ => Err(format!("{column} \"{}\" is not a whole number from 0 to {most}", shorten(text))),
    }
}

/// Nanoseconds, with up to three decimal places.
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
            "start_ns \"{}\" is not a number from 0 to {most} with up to three decimal places",
            shorten(text)
        )
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
            ("0,1,2", "line 2: \"0,1,2\" has 3 fields; the header has 4"),
            ("0,1,8,9", "line 2: destination \"8\" is not a whole number from 0 to 7, nor a host's name"),
            (
                "-1,1,2,9",
                "line 2: start_ns \"-1\" is not a number from 0 to 86400000000000 with up to three decimal places",
            ),
            (
                "1.0001,1,2,9",
                "line 2: start_ns \"1.0001\" is not a number from 0 to 86400000000000 with up to three decimal places",
            ),
            ("0,1,1,9", "line 2: host 1 sends to itself"),
            ("0,1,2,0", "line 2: a flow of 0 bytes"),
            ("5,1,2,9\n4,1,2,9", "line 3: it starts before a line above it; sort the lines by time"),
            ("", "it lists no flow"),
        ] {
            assert_eq!(parsed(&format!("{HEADER}\n{lines}")).unwrap_err(), message);
        }
        for (lines, message) in [
            ("0,1,2,9,x,,,64", "line 2: class \"64\" is not a whole number from 0 to 63"),
            ("0,1,2,9,x y,,,0", "line 2: it waits for \"x y\"; a flow waits for one signal"),
            ("0,1,2,9,x,0,,0", "line 2: a count of 0; at least 1"),
            ("0,1,2,9,,2,,0", "line 2: a count, but no signal to wait for in \"after\""),
            (
                "0,1,2,9,,,x,0\n0,1,2,9,x,2,,0",
                "line 3: it waits until \"x\" is given 2 times; it is given 1 times",
            ),
            (
                "0,1,2,9,y,,x,0\n0,1,2,9,x,,y,0",
                "line 2: it waits for \"y\", which is given by flows that wait for it in their turn",
            ),
        ] {
            let text = format!("{HEADER},after,count,on_received,class\n{lines}");
            assert_eq!(parsed(&text).unwrap_err(), message);
        }
    }

    #[test]
    fn a_header_says_which_columns_there_may_be() {
        let allowed = "line 1: the header is \"start_ns,source,destination,bytes\", then any of \"class\", \"port\", \
                       \"after\", \"count\", \"on_received\", \"on_acked\"";
        assert_eq!(parsed("0,1,2,9").unwrap_err(), format!("{allowed}; found \"0,1,2,9\""));
        assert_eq!(parsed(&format!("{HEADER},prio")).unwrap_err(), format!("{allowed}; found \"prio\""));
        let twice = parsed(&format!("{HEADER},class,class")).unwrap_err();
        assert_eq!(twice, "line 1: two columns are called \"class\"");
    }
}
