//! Tests of queue pairs over a network in memory, in one program: each further program takes seconds to compile and link.

mod flight;
mod pair;

mod adaptive;
mod controls;
mod go_back_n;
mod goodput;
mod irn;
mod notification;
mod random;
mod reads;
mod responder;
mod sends;
mod table;
mod transfers;
mod windows;
