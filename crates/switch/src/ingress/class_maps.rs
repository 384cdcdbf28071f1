//! Maps from the DSCP of a packet to a traffic class, and from the class to a priority group and a queue, as in SONiC.

/// Class maps of a chip, or of one of its ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassMaps {
    /// Traffic class of each DSCP (`DSCP_TO_TC_MAP`).
    pub class_of_dscp: [u8; 64],
    /// Priority group of each traffic class (`TC_TO_PRIORITY_GROUP_MAP`).
    pub group_of_class: [u8; 8],
    /// Queue of each traffic class (`TC_TO_QUEUE_MAP`).
    pub queue_of_class: [u8; 8],
    /// Queue of each priority in a PFC frame (`MAP_PFC_PRIORITY_TO_QUEUE`).
    pub queue_of_priority: [u8; 8],
}

impl Default for ClassMaps {
    /// Returns SONiC's maps `AZURE`: DSCP 3 and 4 map to the lossless classes 3 and 4, which have groups of their own. Each queue has the
    /// number of its class.
    fn default() -> Self {
        let mut class_of_dscp = [1; 64];
        for (dscp, class) in [(3, 3), (4, 4), (5, 2), (8, 0), (46, 5), (48, 6)] {
            class_of_dscp[dscp] = class;
        }
        let own = [0, 1, 2, 3, 4, 5, 6, 7];
        let group_of_class = [0, 0, 0, 3, 4, 0, 0, 7];
        Self { class_of_dscp, group_of_class, queue_of_class: own, queue_of_priority: own }
    }
}

impl ClassMaps {
    /// Returns the priority group of a packet with this DSCP. Ignores the upper two bits of `dscp`.
    pub fn group(&self, dscp: u8) -> u8 {
        self.group_of_class[self.class(dscp)]
    }

    /// Returns the queue of a packet with this DSCP.
    pub fn queue(&self, dscp: u8) -> u8 {
        self.queue_of_class[self.class(dscp)]
    }

    /// Returns the queue of each DSCP, as [`crate::discipline::ComposedConfig::queue_of_class`] requires it.
    pub fn queues(&self) -> Vec<u8> {
        (0..64).map(|dscp| self.queue(dscp)).collect()
    }

    fn class(&self, dscp: u8) -> usize {
        usize::from(self.class_of_dscp[usize::from(dscp % 64)])
    }
}
