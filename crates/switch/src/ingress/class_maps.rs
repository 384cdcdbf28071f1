//! Maps from the DSCP of a packet to a traffic class, and from the class to a priority group, as in SONiC.

/// Class maps of a chip. The maps from a class or a PFC priority to a queue belong to the egress port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassMaps {
    /// Traffic class of each DSCP (`DSCP_TO_TC_MAP`), below 64.
    pub class_of_dscp: [u8; 64],
    /// Priority group of each traffic class (`TC_TO_PRIORITY_GROUP_MAP`): its number at the port by which a packet arrived.
    pub group_of_class: [u8; 64],
}

impl Default for ClassMaps {
    /// Returns SONiC's maps `AZURE`: DSCP 3 and 4 map to the lossless classes 3 and 4, which have groups of their own.
    fn default() -> Self {
        let mut class_of_dscp = [1; 64];
        for (dscp, class) in [(3, 3), (4, 4), (5, 2), (8, 0), (46, 5), (48, 6)] {
            class_of_dscp[dscp] = class;
        }
        let mut group_of_class = [0; 64];
        for group in [3, 4, 7] {
            group_of_class[usize::from(group)] = group;
        }
        Self { class_of_dscp, group_of_class }
    }
}

impl ClassMaps {
    /// Returns the traffic class of a packet with this DSCP. Ignores the upper two bits of `dscp`.
    #[inline]
    pub fn class(&self, dscp: u8) -> u8 {
        self.class_of_dscp[usize::from(dscp % 64)]
    }

    /// Returns the priority group of a packet with this DSCP.
    #[inline]
    pub fn group(&self, dscp: u8) -> u8 {
        self.group_of_class[usize::from(self.class(dscp) % 64)]
    }

    /// Returns whether the traffic class of every DSCP equals the DSCP.
    pub fn keep_dscp(&self) -> bool {
        (0..).zip(&self.class_of_dscp).all(|(dscp, &class): (u8, _)| dscp == class)
    }

    /// Returns the queue of each DSCP, as [`crate::discipline::ComposedConfig::queue_of_class`] requires it. `queue_of_class` is
    /// `TC_TO_QUEUE_MAP`; classes beyond its end join queue 0.
    pub fn queues(&self, queue_of_class: &[u8]) -> Vec<u8> {
        let queue = |&class: &u8| queue_of_class.get(usize::from(class)).copied().unwrap_or(0);
        self.class_of_dscp.iter().map(queue).collect()
    }
}
