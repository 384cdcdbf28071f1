//! Tests of the distributions, for example against the means and shares that their sources state.

use proptest::prelude::*;
use shallows_core::random::Stream;

use super::*;

fn production() -> [(&'static str, &'static str, u64); 8] {
    [
        ("web-search", include_str!("../../../data/web-search.cdf"), 1),
        ("cache", include_str!("../../../data/cache.cdf"), 1),
        ("data-mining", include_str!("../../../data/data-mining.cdf"), 1),
        ("hadoop", include_str!("../../../data/hadoop.cdf"), 1),
        ("web-search-packets", include_str!("../../../data/web-search-packets.cdf"), 1_460),
        ("cache-packets", include_str!("../../../data/cache-packets.cdf"), 1_460),
        ("data-mining-packets", include_str!("../../../data/data-mining-packets.cdf"), 1_460),
        ("hadoop-packets", include_str!("../../../data/hadoop-packets.cdf"), 1_460),
    ]
}

#[test]
fn the_production_distributions_have_their_published_means_and_shares() {
    // Mean in bytes, share below 100 KiB and share above 10 MiB, as computed from the papers' files and printed with these digits.
    let published = [
        (1_711_250.0, 0.543, 0.0293),
        (935_452.5, 0.602, 0.0086),
        (12_658_199.0, 0.824, 0.0477),
        (4_135_297.0, 0.706, 0.0298),
        (1_665_831.0, 0.545, 0.0288),
        (910_690.0, 0.605, 0.0085),
        (7_470_236.0, 0.824, 0.0469),
        (4_135_297.0, 0.706, 0.0298),
    ];
    for ((name, text, unit), (mean, small, large)) in production().into_iter().zip(published) {
        let cdf = Cdf::parse(text).unwrap();
        let unit = unit as f64;
        assert!((cdf.mean() * unit - mean).abs() < 1.0, "{name}: mean {}", cdf.mean() * unit);
        let below = cdf.share_up_to(102_400.0 / unit);
        assert!((below - small).abs() < 0.0006, "{name}: {below} below 100 KiB");
        let above = 1.0 - cdf.share_up_to(10_485_760.0 / unit);
        assert!((above - large).abs() < 0.00006, "{name}: {above} above 10 MiB");
    }
}

#[test]
fn rounding_up_adds_half_a_byte_to_the_mean() {
    // The points are whole bytes, so the fraction of a byte is uniform within each interval between them. The minimum of one byte changes
    // nothing, because a size in (0, 1] rounds up to one byte anyway. The first share of `cache` is 0, so no size has a probability of its
    // own.
    let cdf = Cdf::parse(production()[1].1).unwrap();
    let sizes = Sizes::new(&cdf, Bytes(1), Bytes(1)).unwrap();
    assert!((sizes.mean() - 935_453.0).abs() < 1e-6, "{}", sizes.mean());
}

#[test]
fn draws_interpolate_linearly_and_round_up() {
    let sizes = Sizes::new(&Cdf::parse("10 0.5\n20 1").unwrap(), Bytes(1), Bytes(1)).unwrap();
    // At or below the share of the first point, the size is the first value. At 0.76 it is 10 + 10 · 0.26/0.5 = 15.2, hence 16.
    for (u, bytes) in [(0.0, 10), (0.5, 10), (0.76, 16), (1.0, 20)] {
        assert_eq!(sizes.quantile(u), Bytes(bytes), "{u}");
    }
}

#[test]
fn the_mean_of_stretches_between_fractions_is_exact() {
    // Sizes from 1.5 to 3.5: a quarter become 2, half become 3, and a quarter become 4. In segments of two bytes, a size of 2 needs one
    // segment and the others need two.
    let sizes = Sizes::new(&Cdf::parse("1.5 0\n3.5 1").unwrap(), Bytes(1), Bytes(1)).unwrap();
    assert_eq!(sizes.mean(), 3.0);
    assert_eq!(sizes.mean_segments(Bytes(2)), 0.25 + 0.75 * 2.0);
    // Between 1.25 and 1.75 all sizes become 2.
    let sizes = Sizes::new(&Cdf::parse("1.25 0\n1.75 1").unwrap(), Bytes(1), Bytes(1)).unwrap();
    assert_eq!(sizes.mean(), 2.0);
}

#[test]
fn a_jump_in_the_distribution_is_a_size_that_many_flows_have() {
    // The lines `6 0` and `6 0.15` mean that 15 of 100 flows have 6 packets.
    let sizes = Sizes::new(&Cdf::parse("6 0\n6 0.15\n13 1").unwrap(), Bytes(1_460), Bytes(1)).unwrap();
    assert_eq!(sizes.quantile(0.0), Bytes(6 * 1_460));
    assert_eq!(sizes.quantile(0.15), Bytes(6 * 1_460));
    assert_eq!(sizes.quantile(0.151), Bytes(7 * 1_460));
}

#[test]
fn percentages_and_shares_read_alike() {
    assert_eq!(Cdf::parse("1 0\n5 50 # half\n\n9 100").unwrap(), Cdf::parse("1 0\n5 0.5\n9 1").unwrap());
}

#[test]
fn the_middle_column_of_a_file_for_ns_2_is_skipped() {
    // ns-2's `loadCDF` skips the second number of a line: it reads "%lf %*f %lf".
    assert_eq!(Cdf::parse("1 1 0\n5 1 0.5\n9 1 1").unwrap(), Cdf::parse("1 0\n5 0.5\n9 1").unwrap());
}

#[test]
fn a_file_that_is_no_distribution_is_refused_with_its_line() {
    for (text, message) in [
        ("", "the file must have at least one value"),
        ("1 0\n5 0.9\n\n", "line 2: the last share must be 1 or 100, got 0.9"),
        ("1 0\n5 0.5\n4 1", "line 3: value and share must not be less than in the line before, got 4 1"),
        (
            "1 0\n5 0.5\n6 0.4\n7 1",
            "line 3: value and share must not be less than in the line before, got 6 0.4",
        ),
        ("1 0\nfive 1", "line 2: must have a value and a share, got \"five 1\""),
        ("1 0\n5 1 7 1", "line 2: must have a value and a share, got \"5 1 7 1\""),
        ("1 0\n5 x 1", "line 2: must have a value and a share, got \"5 x 1\""),
        (
            "-1 0\n5 1",
            "line 1: the value must be from 0 to 1125899906842624 and the share from 0 to 100, got -1 0",
        ),
        (
            "1 0\nNaN 1",
            "line 2: the value must be from 0 to 1125899906842624 and the share from 0 to 100, got NaN 1",
        ),
    ] {
        assert_eq!(Cdf::parse(text).unwrap_err(), message, "{text:?}");
    }
}

#[test]
fn the_exact_means_agree_with_a_million_draws_spread_evenly() {
    // The quantiles at (i + 1/2)/n form a midpoint rule, whose error is less than the length of the last interval divided by n. In data
    // mining, 2 % of flows are between 1e8 and 1e9, so a tolerance of 1e-4 of the mean is generous.
    let n = 1_000_000;
    let mss = Bytes(8_960);
    for (name, text, unit) in production() {
        let sizes = Sizes::new(&Cdf::parse(text).unwrap(), Bytes(unit), Bytes(2)).unwrap();
        let (mut bytes, mut segments) = (0u64, 0u64);
        for i in 0..n {
            let size = sizes.quantile((f64::from(i) + 0.5) / f64::from(n));
            bytes += size.0;
            segments += size.0.div_ceil(mss.0);
        }
        let (bytes, segments) = (bytes as f64 / f64::from(n), segments as f64 / f64::from(n));
        assert!((sizes.mean() / bytes - 1.0).abs() < 1e-4, "{name}: {} against {bytes}", sizes.mean());
        let exact = sizes.mean_segments(mss);
        assert!((exact / segments - 1.0).abs() < 1e-4, "{name}: {exact} against {segments} segments");
    }
}

#[test]
fn drawn_sizes_have_the_exact_mean() {
    let sizes = Sizes::new(&Cdf::parse(production()[0].1).unwrap(), Bytes(1), Bytes(1)).unwrap();
    let mut stream = Stream::new(1, "sizes", 0);
    let n = 400_000;
    let sum: f64 = (0..n).map(|_| sizes.quantile(stream.uniform()).0 as f64).sum();
    // The standard deviation of web search is 4.1 MB, so the standard error is 6.5 KB; four standard errors are 1.6 %.
    assert!((sum / f64::from(n) / sizes.mean() - 1.0).abs() < 0.016, "{}", sum / f64::from(n));
}

proptest! {
    #[test]
    fn sums_of_ceilings_agree_with_adding_them_up(first in 1u128..50, more in 0u128..60, a in 1u128..40, d in 1u128..40) {
        let last = first + more;
        let expected: u128 = (first..=last).map(|n| (n * a).div_ceil(d)).sum();
        prop_assert_eq!(sum_of_ceilings(first, last, a, d), expected);
    }

    #[test]
    fn means_of_small_uniform_distributions_agree_with_counting(from in 1u64..200, more in 0u64..300, mss in 1u64..100) {
        let spec = Spec::Uniform(crate::spec::Uniform {
            from: crate::quantity::Size(Bytes(from)),
            to: crate::quantity::Size(Bytes(from + more)),
        });
        let sizes = Sizes::build(&spec, |_| None).unwrap().unwrap();
        let count = (more + 1) as f64;
        let segments = (from..=from + more).map(|size| size.div_ceil(mss) as f64).sum::<f64>() / count;
        prop_assert!((sizes.mean() - (2 * from + more) as f64 / 2.0).abs() < 1e-6);
        prop_assert!((sizes.mean_segments(Bytes(mss)) - segments).abs() < 1e-6);
    }
}
