//! Tests of scenarios, in one program, because each further program takes seconds to compile and link.

mod common;

mod bcc;
mod by_hand;
mod defaults;
mod edges;
mod errors;
mod errors_measure;
mod errors_tcp;
mod errors_topology;
mod errors_values;
mod errors_workload;
mod fat_tree;
mod graph;
mod groups;
mod headroom;
mod own_tcp;
mod parse;
mod pausing;
mod ports;
mod presets;
mod queries;
mod renamed;
mod robust;
mod roce;
mod roce_dcqcn;
mod roce_depth;
mod roce_groups;
mod roce_operations;
mod roce_pacing;
mod roce_reads;
mod schema;
mod timing;
mod topology;
