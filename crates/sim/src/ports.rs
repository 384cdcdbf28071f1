//! What every driver of an experiment has of its switches: ports, and the memory behind them.

use shallows_core::random::Stream;
use shallows_scenario::Experiment;
use shallows_switch::Port;
use shallows_switch::buffer::SharedBuffer;

/// The memory of each node, and the port of each link, in the order of the network; nothing has passed them yet.
pub fn ports<T: Copy + Default>(experiment: &Experiment) -> (Vec<SharedBuffer>, Vec<Port<T>>) {
    let network = &experiment.network;
    let mut buffers: Vec<SharedBuffer> =
        network.nodes.iter().map(|node| SharedBuffer::new(&node.buffer)).collect();
    let mut ports = Vec::with_capacity(network.links.len());
    for (index, link) in network.links.iter().enumerate() {
        let config = network.port(link);
        let buffer = &mut buffers[link.from.0 as usize];
        let first = buffer.add_queue(link.pool, link.private);
        for _ in 1..config.discipline.queues() {
            buffer.add_sibling(link.pool, link.private);
        }
        let stream =
            |purpose, place| Stream::new(experiment.seed, purpose, (index as u64) << 8 | place as u64);
        ports.push(Port::new(link.rate, first, config, stream));
    }
    (buffers, ports)
}
