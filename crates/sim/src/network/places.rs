//! Where things of the whole network, which have numbers, are kept in one partition of it.

use std::sync::Arc;

/// Places by number, of what is in one partition.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// Partition of each entity of the network, and its place there. All partitions share it.
    all: Arc<[(u32, u32)]>,
    partition: u32,
    /// Numbers of the entities here, in order.
    numbers: Arc<[u32]>,
}

impl Places {
    /// In each of so many `partitions`: of the first `count` numbers those of a partition are kept there one after another.
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

    /// Whether what has this number is here.
    pub(crate) fn has(&self, number: u32) -> bool {
        self.all[number as usize].0 == self.partition
    }

    /// Where it is, which is here.
    #[inline]
    pub(crate) fn at(&self, number: u32) -> usize {
        self.all[number as usize].1 as usize
    }

    /// How many there are here.
    pub(crate) fn count(&self) -> u32 {
        self.numbers.len() as u32
    }

    /// The numbers of what is here, in order.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.numbers.iter().copied()
    }
}
