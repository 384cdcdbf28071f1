//! Builds the port of a link from the configuration in an experiment.

use shallows_core::random::Stream;
use shallows_scenario::Experiment;
use shallows_switch::buffer::SharedBuffer;
use shallows_switch::{Port, port};

/// Builds the port of the link with this number, and adds the port's queues to `buffer`, the memory of its node.
pub(crate) fn port<T: Copy + Default>(
    experiment: &Experiment,
    number: u32,
    buffer: &mut SharedBuffer,
) -> Port<T> {
    let network = &experiment.network;
    let link = &network.links[number as usize];
    let config = network.port(link);
    let first = buffer.add_queue(link.pool, link.reserved);
    for _ in 1..config.discipline.queues() {
        buffer.add_sibling(link.pool, link.reserved);
    }
    let stream =
        |purpose, place| Stream::new(experiment.seed, purpose, u64::from(number) << 8 | place as u64);
    if let Some(lossless) = &network.lossless
        && !lossless.maps.keep_dscp()
    {
        let discipline = config.discipline.with_queues(|queue_of_class| lossless.maps.queues(queue_of_class));
        return Port::new(link.rate, first, &port::Config { discipline, ..config.clone() }, stream);
    }
    Port::new(link.rate, first, config, stream)
}
