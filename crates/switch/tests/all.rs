//! Tests of whole switches, in one program: each further program takes seconds to compile and link.

mod common;

mod accounts;
mod cells;
mod headroom;
mod ingress;
mod pfc;
mod port_laws;
mod shared_memory;
mod simulators;
mod sonic;
mod steady_state;
