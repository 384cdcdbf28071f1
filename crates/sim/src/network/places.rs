//! Where things of the whole network, which have numbers, are kept in one part of it.

use std::sync::Arc;

/// Places by number, of what is in one part.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// Of everything, which all parts share: the part that it is in, and its place there.
    all: Arc<[(u32, u32)]>,
    part: u32,
    /// Of what is here, in order.
    numbers: Arc<[u32]>,
}

impl Places {
    /// In each of so many `parts`: of the first `count` numbers those of a part are kept there one after another.
    pub(crate) fn of(count: u32, parts: u32, part_of: impl Fn(u32) -> u32) -> Vec<Self> {
        let mut numbers = vec![Vec::new(); parts as usize];
        let mut place = |number| {
            let part = part_of(number);
            let here: &mut Vec<u32> = &mut numbers[part as usize];
            here.push(number);
            (part, here.len() as u32 - 1)
        };
        let all: Arc<[(u32, u32)]> = (0..count).map(&mut place).collect();
        let part = |(part, numbers): (usize, Vec<u32>)| Self {
            all: Arc::clone(&all),
            part: part as u32,
            numbers: numbers.into(),
        };
        numbers.into_iter().enumerate().map(part).collect()
    }

    /// Whether what has this number is here.
    pub(crate) fn has(&self, number: u32) -> bool {
        self.all[number as usize].0 == self.part
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
