//! Conversion between network-wide numbers of nodes or links and their indices (*places*) in one partition.

use std::sync::Arc;

/// Map from the numbers of nodes or links in the whole network to their indices (*places*) in one partition.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// For each node or link of the whole network: its partition, and its place in that partition. Shared by all partitions.
    all: Arc<[(u32, u32)]>,
    partition: u32,
    /// Numbers of the nodes or links in this partition, ascending.
    numbers: Arc<[u32]>,
}

impl Places {
    /// Returns one map for each of `partitions` partitions. Nodes or links have numbers below `count`, and a partition stores them in
    /// ascending order.
    pub(crate) fn of(count: u32, partitions: u32, partition_of: impl Fn(u32) -> u32) -> Vec<Self> {
        let mut numbers = vec![Vec::new(); partitions as usize];
        let mut place = |number| {
            let partition = partition_of(number);
            let here: &mut Vec<u32> = &mut numbers[partition as usize];
            here.push(number);
            (partition, here.len() as u32 - 1)
        };
        let all: Arc<[(u32, u32)]> = (0..count).map(&mut place).collect();
        let partition = |(partition, numbers): (usize, Vec<u32>)| Self {
            all: Arc::clone(&all),
            partition: partition as u32,
            numbers: numbers.into(),
        };
        numbers.into_iter().enumerate().map(partition).collect()
    }

    /// Returns whether the node or link with this number is in this partition.
    pub(crate) fn has(&self, number: u32) -> bool {
        self.all[number as usize].0 == self.partition
    }

    /// Returns the index of the node or link with this number, which must be in this partition.
    #[inline]
    pub(crate) fn at(&self, number: u32) -> usize {
        self.all[number as usize].1 as usize
    }

    /// Returns how many nodes or links are in this partition.
    pub(crate) fn count(&self) -> u32 {
        self.numbers.len() as u32
    }

    /// Returns the numbers of the nodes or links in this partition, ascending.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.numbers.iter().copied()
    }
}
