//! Where things of the whole network, which have numbers, are kept in one part of it.

/// Places by number.
#[derive(Debug)]
pub(crate) struct Places(Box<[u32]>);

/// Of what is in another part.
const ELSEWHERE: u32 = u32::MAX;

impl Places {
    /// Of the first `count` numbers those that are `here` are kept one after another.
    pub(crate) fn of(count: u32, here: impl Fn(u32) -> bool) -> Self {
        let mut next = 0;
        let place = |number| {
            if !here(number) {
                return ELSEWHERE;
            }
            next += 1;
            next - 1
        };
        Self((0..count).map(place).collect())
    }

    /// Whether what has this number is here.
    pub(crate) fn has(&self, number: u32) -> bool {
        self.0[number as usize] != ELSEWHERE
    }

    /// Where it is, which is here.
    #[inline]
    pub(crate) fn at(&self, number: u32) -> usize {
        self.0[number as usize] as usize
    }

    /// How many there are here.
    pub(crate) fn count(&self) -> u32 {
        self.numbers().count() as u32
    }

    /// The numbers of what is here, in order.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.0.len() as u32).filter(|&number| self.has(number))
    }
}
