//! Means and percentiles of completion times, overall and by size bin.

use serde_json::{Map, Value, json};

/// Returns the count, mean, percentiles and maximum of `values` as JSON. All but the count are null if there are no values.
///
/// Percentile *p* of *n* values is the ⌈p·n⌉-th smallest (nearest rank), so it is always one of the values.
pub(super) fn describe(mut values: Vec<f64>) -> Value {
    values.sort_unstable_by(f64::total_cmp);
    describe_sorted(&values)
}

/// Describes values in ascending order. Because of this order, the mean does not depend on the order in which flows complete.
pub(super) fn describe_sorted(values: &[f64]) -> Value {
    if values.is_empty() {
        return json!({"count": 0, "mean": null, "p50": null, "p95": null, "p99": null, "max": null});
    }
    let n = values.len();
    let percentile = |p: usize| nearest_rank(values, 10 * p);
    json!({
        "count": n,
        "mean": values.iter().sum::<f64>() / n as f64,
        "p50": percentile(50),
        "p95": percentile(95),
        "p99": percentile(99),
        "max": values[n - 1],
    })
}

/// Returns the ⌈p·n⌉-th smallest of *n* sorted values; `per_mille` is *p* in thousandths.
pub(super) fn nearest_rank(sorted: &[f64], per_mille: usize) -> f64 {
    sorted[(per_mille * sorted.len()).div_ceil(1_000) - 1]
}

/// Returns statistics of `(size, value)` pairs over all sizes and by size bin, as JSON. Bin *i* has the sizes in `(edges[i-1], edges[i]]`.
///
/// Three bins are called small, medium and large. If there are more or fewer, bins are named after their edges in bytes.
pub(super) fn describe_by_bin(mut values: Vec<(u64, f64)>, edges: &[u64]) -> Value {
    values.sort_unstable_by(|(_, one), (_, other)| one.total_cmp(other));
    let mut bins = vec![Vec::new(); edges.len() + 1];
    for &(size, value) in &values {
        bins[bin_of(size, edges)].push(value);
    }
    let all: Vec<f64> = values.into_iter().map(|(_, value)| value).collect();
    let mut table = Map::new();
    table.insert("all".into(), describe_sorted(&all));
    for (bin, values) in bins.iter().enumerate() {
        table.insert(bin_name(bin, edges), describe_sorted(values));
    }
    table.into()
}

fn bin_of(size: u64, edges: &[u64]) -> usize {
    edges.partition_point(|&edge| edge < size)
}

fn bin_name(bin: usize, edges: &[u64]) -> String {
    if edges.len() == 2 {
        return ["small", "medium", "large"][bin].into();
    }
    let lower = if bin == 0 { 0 } else { edges[bin - 1] };
    edges.get(bin).map_or_else(|| format!("above_{lower}"), |upper| format!("{lower}_to_{upper}"))
}

/// Returns `part / whole`, or 0 if `whole` is 0.
pub(super) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_rank() {
        // The 100th, 190th and 198th of 1..=200.
        let table = describe((1..=200).rev().map(f64::from).collect());
        assert_eq!(
            table,
            json!({"count": 200, "mean": 100.5, "p50": 100.0, "p95": 190.0, "p99": 198.0, "max": 200.0})
        );
        assert_eq!(describe(vec![7.0])["p99"], 7.0);
        assert_eq!(describe(vec![])["p99"], Value::Null);
    }

    #[test]
    fn bins_are_open_below_and_closed_above() {
        let sizes = [(1, 1.0), (100_000, 2.0), (100_001, 3.0), (10_000_000, 4.0), (10_000_001, 5.0)];
        let table = describe_by_bin(sizes.to_vec(), &[100_000, 10_000_000]);
        assert_eq!(
            [&table["all"], &table["small"], &table["medium"], &table["large"]].map(|t| t["count"].clone()),
            [5, 2, 2, 1]
        );
        assert_eq!(table["medium"]["mean"], 3.5);
    }

    #[test]
    fn statistics_by_bin_do_not_depend_on_the_order_of_the_values() {
        let values: Vec<(u64, f64)> =
            [(2, 5.0), (9, 1.0), (1, 7.0), (8, 2.0), (3, 6.0), (7, 4.0), (4, 3.0)].to_vec();
        let described = |bin: &[f64]| describe(bin.to_vec());
        let expected = json!({
            "all": described(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]),
            "0_to_5": described(&[3.0, 5.0, 6.0, 7.0]),
            "above_5": described(&[1.0, 2.0, 4.0]),
        });
        assert_eq!(describe_by_bin(values, &[5]), expected);
        assert_eq!(expected["all"]["p50"], 4.0);
        assert_eq!(expected["above_5"]["max"], 4.0);
    }
}
