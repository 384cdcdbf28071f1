//! Checks that traffic falls into the measured part of the run, which begins after the warm-up.

use shallows_core::Instant;

use crate::check::Checker;
use crate::experiment::Experiment;
use crate::resolved::Resolved;
use crate::workload::Generator;
use crate::workload::build::CheckedTraffic;

/// Rejects a run that ends before its first traffic is sent.
pub(crate) fn check(spec: &Resolved, traffic: &CheckedTraffic, checker: &mut Checker<'_>) {
    let flows = traffic.generators.iter().map(Generator::begin);
    let datagrams = traffic.datagram_sources.iter().map(|source| source.start);
    let requests = traffic.probes.iter().map(|probe| probe.start);
    let first = flows.chain(datagrams).chain(requests).min();
    // Start times are complete only if no workload was rejected.
    let Some((first, end)) = first.zip(spec.stop.at).filter(|_| checker.problems.is_empty()) else { return };
    checker.require(first.0 < end.0.0, "stop.at", || {
        format!("must be after the start of the first workload, {first}, got {end}; use a later end of the run, or \
                 an earlier start")
    });
}

impl Experiment {
    /// Returns, for each workload that sends flows, its index in the scenario. Results identify workloads by this index.
    pub fn workload_places(&self) -> Vec<usize> {
        let workloads = self.resolved.workload.iter().enumerate();
        workloads.filter(|(_, workload)| workload.sends_flows()).map(|(place, _)| place).collect()
    }

    /// Returns the key of each workload that sends flows, such as `workload[0]`, for errors and warnings.
    pub fn workload_keys(&self) -> Vec<String> {
        self.workload_places().into_iter().map(|place| format!("workload[{place}]")).collect()
    }

    /// Returns warnings about workloads and listed flows that begin at or after the end of the run.
    pub(crate) fn never_sent(&self) -> Vec<String> {
        let Some(end) = self.stop.at else { return Vec::new() };
        let late = |(key, generator): (String, &Generator)| {
            let listed = generator.listed();
            let late = listed.iter().filter(|&&at| at >= end).count();
            if generator.begin() >= end {
                return Some(format!(
                    "{key} sends nothing: the workload begins at {}, but the run ends at {end}",
                    generator.begin()
                ));
            }
            let all = listed.len();
            (late > 0).then(|| {
                format!(
                    "{late} of {all} flows of {key} are not sent, because they begin at or after the end of the run, \
                     {end}"
                )
            })
        };
        self.workload_keys().into_iter().zip(&self.generators).filter_map(late).collect()
    }

    /// Returns warnings about workloads whose flows all begin before the end of the warm-up.
    pub(crate) fn never_counted(&self) -> Vec<String> {
        let early = |(key, generator): (String, &Generator)| {
            let last = generator.last().filter(|last| last.0 < self.warm_up.0)?;
            Some(format!(
                "no flow of {key} is measured: the last flow begins at {last}, before the warm-up ends at \
                 measure.warm_up = {}",
                self.warm_up
            ))
        };
        self.workload_keys().into_iter().zip(&self.generators).filter_map(early).collect()
    }
}

impl Generator {
    /// Returns the time of the workload's first flow. If that time is random, returns the earliest possible time.
    fn begin(&self) -> Instant {
        match self {
            Self::Poisson(workload) => workload.begin(),
            Self::Pairwise(workload) => workload.begin(),
            Self::Incast(workload) => workload.begin(),
            Self::Queries(workload) => workload.begin(),
            Self::Schedule(_) | Self::Chain(_) => self.listed().into_iter().min().unwrap_or_default(),
        }
    }

    /// Returns the start times of the listed flows that do not wait for other flows.
    fn listed(&self) -> Vec<Instant> {
        match self {
            Self::Schedule(workload) => workload.times(),
            Self::Chain(workload) => workload.times(),
            Self::Poisson(_) | Self::Pairwise(_) | Self::Incast(_) | Self::Queries(_) => Vec::new(),
        }
    }

    /// Returns the latest possible time of the workload's last flow; `None` if this time is unbounded, random or depends on events during
    /// the run.
    fn last(&self) -> Option<Instant> {
        match self {
            Self::Incast(workload) => Some(workload.last()),
            Self::Schedule(workload) => workload.last(),
            Self::Poisson(_) | Self::Pairwise(_) | Self::Chain(_) | Self::Queries(_) => None,
        }
    }
}
