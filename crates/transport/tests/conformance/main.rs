//! Rules of TCP, tested by direct calls: one file per RFC and for ns-2, with the section at each test.
//! evidence/conformance.md lists them.

mod both_ways;
mod cwr;
mod linux;
mod ns2;
mod ns2_sack;
mod pulser;
mod rfc2018;
mod rfc2883;
mod rfc3042;
mod rfc3168;
mod rfc3708;
mod rfc5681;
mod rfc5682;
mod rfc6298;
mod rfc6582;
mod rfc6675;
mod rfc6937;
mod rfc8257;
mod rfc8985;
mod rfc9293;
mod rfc9406;
mod rfc9438;
mod script;
mod table;
