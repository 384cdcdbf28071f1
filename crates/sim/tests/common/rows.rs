//! Reads back the tables that a run has written.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::sync::atomic::{AtomicU32, Ordering};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use shallows_sim::Report;

/// Returns the rows of a table. Each row maps the names of columns to values.
pub(crate) fn rows(report: &Report, table: &str) -> Vec<BTreeMap<String, Field>> {
    // Tests run in parallel, so each needs its own file.
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("shallows-rows-{}-{number}", std::process::id()));
    report.write_table(table, File::create(&path).expect("a temporary file")).expect("it can be written");
    let reader = SerializedFileReader::new(File::open(&path).expect("it is there")).expect("a table");
    let row = |row: parquet::errors::Result<parquet::record::Row>| {
        row.expect("a row").get_column_iter().map(|(name, field)| (name.clone(), field.clone())).collect()
    };
    let rows = reader.get_row_iter(None).expect("rows").map(row).collect();
    fs::remove_file(&path).expect("nobody else removes it");
    rows
}

pub(crate) fn long(field: &Field) -> Option<i64> {
    match field {
        Field::Long(value) => Some(*value),
        Field::Null => None,
        other => panic!("{other} is no whole number"),
    }
}

pub(crate) fn double(field: &Field) -> Option<f64> {
    match field {
        Field::Double(value) => Some(*value),
        Field::Null => None,
        other => panic!("{other} is no number"),
    }
}
