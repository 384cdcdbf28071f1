//! The rules of TCP by plain calls: one file per RFC, the section at each test.

mod rfc2018;
mod rfc3168;
mod rfc5681;
mod rfc6298;
mod rfc6675;
mod rfc8257;
mod script;
