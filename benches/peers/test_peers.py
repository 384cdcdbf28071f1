"""Tests of the flow list and the comparison. Run: python3 -m unittest discover -s benches/peers."""

from __future__ import annotations

import tempfile
import unittest
from dataclasses import replace
from itertools import islice
from pathlib import Path

import flows
import measure
import ns3_datacenter
from measure import Run

RUN = Run(
    wall_s=2.0,
    process_s=2.5,
    packet_hops=1_000,
    delivered_bytes=4_000,
    peak_rss_mb=10.0,
    drops=0,
    unfinished=0,
    mean_fct_us={"small": 10.0, "medium": 100.0, "large": 1_000.0},
)


class FlowList(unittest.TestCase):
    def test_the_mean_size_is_that_of_the_distribution(self) -> None:
        # Trapezoids by hand: .15*5000 + .05*15000 + .1*25000 + .1*40000 + .13*65000 + .07*140000 + .1*600000
        # + .1*1.5e6 + .1*3.5e6 + .07*7.5e6 + .03*20e6 = 1,711,250.
        self.assertAlmostEqual(flows.mean_size(), 1_711_250)

    def test_sizes_are_linear_between_the_points(self) -> None:
        # Half-way between (80,000, 0.53) and (200,000, 0.6).
        self.assertEqual(flows.size_at(0.565), 140_000)
        self.assertEqual(flows.size_at(0.15), 10_000)
        self.assertEqual(flows.size_at(1.0), 30_000_000)
        self.assertEqual(flows.size_at(0.0), 1)

    def test_the_uplinks_carry_the_load(self) -> None:
        # Payload that crosses the spines, over 64 uplinks of 100 Gb/s. The standard deviation of sizes is 2.3
        # means, so the standard error over 35,000 crossing flows is 2.5 / sqrt(35,000) = 1.3 %. The tolerance
        # is three standard errors.
        rows = list(islice(flows.flows(0.6, seed=1), 40_000))
        crossing = sum(row.bytes for row in rows if row.source // 16 != row.destination // 16)
        load = crossing * 8 / (rows[-1].start_ns / 1e9) / (64 * 100e9)
        self.assertAlmostEqual(load, 0.6, delta=0.6 * 0.04)

    def test_flows_have_two_ends_in_the_fabric_and_start_in_order(self) -> None:
        rows = list(islice(flows.flows(0.6, seed=2), 5_000))
        for row in rows:
            self.assertNotEqual(row.source, row.destination)
            self.assertTrue(0 <= row.source < 128 and 0 <= row.destination < 128)
        self.assertEqual({row.destination for row in rows}, set(range(128)))
        self.assertEqual(rows, sorted(rows, key=lambda row: row.start_ns))

    def test_the_bottleneck_is_loaded_with_whole_packets_from_left_to_right(self) -> None:
        rows = list(islice(flows.bottleneck(0.7, seed=1), 40_000))
        for row in rows:
            self.assertTrue(0 <= row.source < 8 <= row.destination < 16)
            self.assertEqual(row.bytes % 1460, 0)
        # Standard error as above, over all flows: 2.5 / sqrt(40,000) = 1.3 %.
        load = sum(row.bytes for row in rows) / 1460 * 1500 * 8 / (rows[-1].start_ns / 1e9) / 100e6
        self.assertAlmostEqual(load, 0.7, delta=0.7 * 0.04)

    def test_a_seed_gives_one_list_and_a_short_list_is_its_prefix(self) -> None:
        self.assertEqual(
            list(islice(flows.flows(0.6, seed=3), 10)), list(islice(flows.flows(0.6, seed=3), 20))[:10]
        )
        self.assertNotEqual(
            list(islice(flows.flows(0.6, seed=3), 10)), list(islice(flows.flows(0.6, seed=4), 10))
        )


class QueuePairs(unittest.TestCase):
    def test_links_of_the_star_carry_the_load(self) -> None:
        # Standard error as above: 2.5 / sqrt(40,000) = 1.3 %.
        rows = ns3_datacenter.star_flows(40_000, seed=1)
        load = sum(row.bytes for row in rows) * 8 / (rows[-1].start_ns / 1e9) / (16 * 100e9)
        self.assertAlmostEqual(load, 0.5, delta=0.5 * 0.04)

    def test_each_packet_has_an_acknowledgement_on_both_links_of_its_path(self) -> None:
        rows = [flows.Flow(0, 0, 1, size) for size in (1, 1_000, 1_001)]
        self.assertEqual(ns3_datacenter.packet_hops(rows), (1 + 1 + 2) * 4)

    def test_both_simulators_read_the_same_files(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            config = ns3_datacenter.write(Path(folder), "hpcc", [flows.Flow(1_000_000, 3, 5, 1_500)])
            self.assertIn("CC_MODE 3\n", config.read_text())
            flow = (Path(folder) / "flow.txt").read_text()
            topology = (Path(folder) / "topology.txt").read_text().splitlines()
        self.assertEqual(flow, "1\n3 5 3 10000 1500 0.001000000\n")
        self.assertEqual(topology[:3], ["17 1 1 16", "16", "16 0 100Gbps 1us 0"])


class Comparison(unittest.TestCase):
    def test_both_ratios_are_measured_by_wall_time(self) -> None:
        # A tenth of the time and twice the hops: 20 times the hops/s, 10 times the bytes/s.
        faster = replace(RUN, wall_s=0.2, packet_hops=2_000)
        by_hops, by_bytes = measure.speed_ratios([faster], [RUN])
        self.assertAlmostEqual(by_hops, 20)
        self.assertAlmostEqual(by_bytes, 10)

    def test_one_slow_repeat_does_not_move_the_median(self) -> None:
        slow = replace(RUN, wall_s=100.0)
        self.assertEqual(measure.figures([RUN, slow, RUN]), measure.figures([RUN]))

    def test_bins_include_their_upper_ends(self) -> None:
        means = measure.mean_fct_by_size(
            [(100_000, 1.0), (100_001, 2.0), (10_000_000, 4.0), (10_000_001, 8.0)]
        )
        self.assertEqual(means, {"small": 1.0, "medium": 3.0, "large": 8.0})

    def test_fcts_are_averaged_over_repeats(self) -> None:
        other = replace(RUN, mean_fct_us={"small": 20.0, "medium": 100.0, "large": 1_000.0})
        ratios = measure.fct_ratios([RUN, other], [RUN, RUN])
        self.assertEqual(ratios, {"small": 1.5, "medium": 1.0, "large": 1.0})

    def test_runs_that_cannot_be_compared_are_named(self) -> None:
        self.assertEqual(measure.problems("star", [RUN], [replace(RUN, packet_hops=1_029)]), [])
        cases = {
            "dropped 3 packets": replace(RUN, drops=3),
            "left 2 flows unfinished": replace(RUN, unfinished=2),
            "times the packet-hops": replace(RUN, packet_hops=900),
        }
        for part, run in cases.items():
            (problem,) = measure.problems("star", [run], [RUN])
            self.assertIn(part, problem)


if __name__ == "__main__":
    unittest.main()
