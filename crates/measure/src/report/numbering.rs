//! Consecutive numbers for queries. Each partition of a network names its queries independently, so the names are not consecutive.

use std::collections::BTreeMap;

use shallows_scenario::QueryRecord;

use crate::flow::FlowRecord;

/// Sorts the queries of each workload by start time. Replaces the query name in each flow's record by the query's index.
pub(super) fn number_queries(queries: &mut [Vec<QueryRecord>], flows: &mut [FlowRecord]) {
    let mut places: Vec<BTreeMap<u32, u32>> = Vec::with_capacity(queries.len());
    for queries in queries {
        queries.sort_by_key(|query| (query.start, query.name));
        places.push(queries.iter().map(|query| query.name).zip(0..).collect());
    }
    for flow in flows {
        if let Some(leg) = &mut flow.leg {
            leg.query = places[usize::from(flow.workload)][&leg.query];
        }
    }
}
