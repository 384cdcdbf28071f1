//! Numbers of queries, which partitions of a network name without agreement.

use std::collections::BTreeMap;

use shallows_scenario::QueryRecord;

use crate::flow::FlowRecord;

/// Put queries in the order in which they were asked, and give the `flows` of each its place instead of its name.
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
