//! What every driver of an experiment has of its switches: ports, and the memory behind them.

use shallows_core::random::Stream;
use shallows_scenario::Experiment;
use shallows_switch::Port;
use shallows_switch::buffer::SharedBuffer;

/// The memory of each node, and the port of each link, in the order of the network; nothing has passed them yet.
pub fn ports<T: Copy + Default>(experiment: &Experiment) -> (Vec<SharedBuffer>, Vec<Port<T>>) {
    let network = &experiment.network;
    let mut buffers: Vec<SharedBuffer> = network.buffers.iter().map(SharedBuffer::new).collect();
    let link = |(number, link): (usize, &shallows_scenario::Link)| {
        port(experiment, number as u32, &mut buffers[link.from.0 as usize])
    };
    let ports = network.links.iter().enumerate().map(link).collect();
    (buffers, ports)
}

/// The port of the link with this number, whose queues join the memory of its node.
pub(crate) fn port<T: Copy + Default>(
    experiment: &Experiment,
    number: u32,
    buffer: &mut SharedBuffer,
) -> Port<T> {
    let network = &experiment.network;
    let link = &network.links[number as usize];
    let config = network.port(link);
    let first = buffer.add_queue(link.pool, link.private);
    for _ in 1..config.discipline.queues() {
        buffer.add_sibling(link.pool, link.private);
    }
    let stream =
        |purpose, place| Stream::new(experiment.seed, purpose, u64::from(number) << 8 | place as u64);
    Port::new(link.rate, first, config, stream)
}
