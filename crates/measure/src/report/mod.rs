//! Results of a run: the summary and the tables of flows, counters and samples.

mod columns;
mod ideal;
mod numbering;
mod parquet;
mod places;
mod problems;
mod queries;
mod record;
mod statistics;
mod summary;
mod tables;

pub use self::columns::{Cell, Columns};
pub use self::problems::Problem;
pub use self::queries::QueryOutcome;
pub use self::record::{FlowOutcome, Measured, Report};
