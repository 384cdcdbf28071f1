//! Columns of a table, read back from its Parquet file, with a selection of rows.
//!
//! Only the operations that the display of a run needs are available: groups of rows, sums, and sorted values. Other analyses can read the
//! file with a dataframe library.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::Arc;

use parquet::basic::Type as Physical;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};

/// Some columns of a table, and the selected rows.
#[derive(Clone)]
pub struct Columns {
    columns: Arc<BTreeMap<String, Column>>,
    rows: Vec<u32>,
}

/// Value of a column in one row.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub enum Cell {
    /// Null.
    Missing,
    /// A whole number.
    Integer(i64),
    /// A floating-point number.
    Float(f64),
    /// A string.
    Text(String),
}

/// Values of a column; each may be null.
enum Column {
    Integers(Nullable<i64>),
    Floats(Nullable<f64>),
    /// For each row, the index of its text in the sorted list of distinct texts; then the list itself.
    Texts(Nullable<u32>, Vec<String>),
}

struct Nullable<T> {
    values: Vec<T>,
    /// Whether each value is present; empty if no value is null.
    present: Vec<bool>,
}

impl Columns {
    /// Reads the columns in `wanted` that the table has, and selects all rows.
    ///
    /// # Errors
    ///
    /// If the file is not Parquet, or a column has a type that [`super::Report`] does not write.
    pub fn read(file: File, wanted: &[&str]) -> io::Result<Self> {
        read(file, wanted).map_err(|error| match error {
            ParquetError::External(inner) => io::Error::other(inner),
            other => io::Error::other(other),
        })
    }

    /// Returns the names of the columns in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.keys().map(String::as_str)
    }

    /// Returns the number of selected rows.
    pub fn height(&self) -> usize {
        self.rows.len()
    }

    /// Selects the rows whose number in this column is greater than `above` and at most `up_to`. Nulls are excluded.
    ///
    /// # Errors
    ///
    /// If there is no such column of numbers.
    pub fn between(&self, column: &str, above: f64, up_to: f64) -> Result<Self, String> {
        let column = self.column(column)?;
        let mut rows = Vec::new();
        for &row in &self.rows {
            if column.number(row)?.is_some_and(|value| above < value && value <= up_to) {
                rows.push(row);
            }
        }
        Ok(Self { columns: Arc::clone(&self.columns), rows })
    }

    /// Groups the selected rows by their value in a column. Groups are in the order of values, with null first.
    ///
    /// # Errors
    ///
    /// If there is no such column.
    pub fn groups(&self, column: &str) -> Result<Vec<(Cell, Self)>, String> {
        let column = self.column(column)?;
        let mut rows = self.rows.clone();
        rows.sort_by(|&one, &other| column.compare(one, other));
        let alike = rows.chunk_by(|&one, &other| column.compare(one, other) == Ordering::Equal);
        let group = |rows: &[u32]| {
            (column.value(rows[0]), Self { columns: Arc::clone(&self.columns), rows: rows.to_vec() })
        };
        Ok(alike.map(group).collect())
    }

    /// Returns the sum of a column of whole numbers; nulls are skipped.
    ///
    /// # Errors
    ///
    /// If there is no such column of whole numbers, or its sum has more than 63 bits.
    pub fn sum(&self, name: &str) -> Result<i64, String> {
        let Column::Integers(column) = self.column(name)? else {
            return Err(format!("the column {name} must have whole numbers"));
        };
        let mut values = self.rows.iter().filter_map(|&row| column.at(row));
        values.try_fold(0, i64::checked_add).ok_or_else(|| format!("the sum of {name} is too large"))
    }

    /// Returns the numbers of a column in ascending order, without nulls.
    ///
    /// # Errors
    ///
    /// If there is no such column of numbers.
    pub fn ordered(&self, column: &str) -> Result<Vec<f64>, String> {
        let column = self.column(column)?;
        let values = self.rows.iter().map(|&row| column.number(row)).filter_map(Result::transpose);
        let mut values: Vec<f64> = values.collect::<Result<_, _>>()?;
        values.sort_by(f64::total_cmp);
        Ok(values)
    }

    /// Returns the value of each selected row in a column.
    ///
    /// # Errors
    ///
    /// If there is no such column.
    pub fn values(&self, column: &str) -> Result<impl Iterator<Item = Cell>, String> {
        let column = self.column(column)?;
        Ok(self.rows.iter().map(|&row| column.value(row)))
    }

    fn column(&self, name: &str) -> Result<&Column, String> {
        self.columns.get(name).ok_or_else(|| format!("the table has no column {name:?}"))
    }
}

impl Column {
    fn value(&self, row: u32) -> Cell {
        let found = match self {
            Self::Integers(column) => column.at(row).map(Cell::Integer),
            Self::Floats(column) => column.at(row).map(Cell::Float),
            Self::Texts(column, known) => {
                column.at(row).map(|place| Cell::Text(known[place as usize].clone()))
            }
        };
        found.unwrap_or(Cell::Missing)
    }

    fn number(&self, row: u32) -> Result<Option<f64>, String> {
        match self {
            Self::Integers(column) => Ok(column.at(row).map(|value| value as f64)),
            Self::Floats(column) => Ok(column.at(row)),
            Self::Texts(..) => Err("the column must have numbers, got strings".to_owned()),
        }
    }

    fn compare(&self, one: u32, other: u32) -> Ordering {
        match self {
            Self::Integers(column) => column.at(one).cmp(&column.at(other)),
            Self::Floats(column) => column.at(one).partial_cmp(&column.at(other)).unwrap_or(Ordering::Equal),
            Self::Texts(column, _) => column.at(one).cmp(&column.at(other)),
        }
    }
}

impl<T: Copy> Nullable<T> {
    fn at(&self, row: u32) -> Option<T> {
        let row = row as usize;
        self.present.get(row).is_none_or(|present| *present).then(|| self.values[row])
    }
}

fn read(file: File, wanted: &[&str]) -> Result<Columns, ParquetError> {
    let file = SerializedFileReader::new(file)?;
    let schema = file.metadata().file_metadata().schema_descr();
    let height = file.metadata().file_metadata().num_rows();
    let height = u32::try_from(height).map_err(|_| {
        ParquetError::General(format!("the table has {height} rows; the maximum is 2^32 - 1"))
    })?;
    let mut columns = BTreeMap::new();
    for (place, column) in schema.columns().iter().enumerate() {
        if wanted.contains(&column.name()) {
            let found = read_column(&file, place, column.physical_type())?;
            columns.insert(column.name().to_owned(), found);
        }
    }
    Ok(Columns { columns: Arc::new(columns), rows: (0..height).collect() })
}

fn read_column(
    file: &SerializedFileReader<File>,
    place: usize,
    physical: Physical,
) -> Result<Column, ParquetError> {
    let mut readers = Vec::new();
    for group in 0..file.num_row_groups() {
        readers.push(file.get_row_group(group)?.get_column_reader(place)?);
    }
    match physical {
        Physical::INT64 => Ok(Column::Integers(whole(readers, |reader| match reader {
            ColumnReader::Int64ColumnReader(reader) => Some(reader),
            _ => None,
        })?)),
        Physical::DOUBLE => Ok(Column::Floats(whole(readers, |reader| match reader {
            ColumnReader::DoubleColumnReader(reader) => Some(reader),
            _ => None,
        })?)),
        Physical::BYTE_ARRAY => numbered(whole(readers, |reader| match reader {
            ColumnReader::ByteArrayColumnReader(reader) => Some(reader),
            _ => None,
        })?),
        other => Err(ParquetError::General(format!("columns of type {other} are not supported"))),
    }
}

/// Reads all values of a column from all row groups.
fn whole<T: DataType>(
    readers: Vec<ColumnReader>,
    typed: fn(ColumnReader) -> Option<ColumnReaderImpl<T>>,
) -> Result<Nullable<T::T>, ParquetError>
where
    T::T: Clone + Default,
{
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    for mut reader in readers.into_iter().filter_map(typed) {
        while reader.read_records(usize::MAX, Some(&mut levels), None, &mut values)?.0 > 0 {}
    }
    // A column that is never null has no definition levels.
    if levels.iter().all(|level| *level > 0) {
        return Ok(Nullable { values, present: Vec::new() });
    }
    let present: Vec<bool> = levels.iter().map(|level| *level > 0).collect();
    let mut found = values.into_iter();
    let spread = present.iter().map(|there| if *there { found.next() } else { None }.unwrap_or_default());
    Ok(Nullable { values: spread.collect(), present })
}

/// Converts texts to their indices in the sorted list of distinct texts.
fn numbered(texts: Nullable<ByteArray>) -> Result<Column, ParquetError> {
    let mut known: BTreeMap<&str, u32> = BTreeMap::new();
    let all: Vec<&str> = texts.values.iter().map(ByteArray::as_utf8).collect::<Result<_, _>>()?;
    for text in &all {
        known.entry(text).or_default();
    }
    for (place, number) in known.values_mut().enumerate() {
        *number = place as u32;
    }
    let values = all.iter().map(|text| known[text]).collect();
    let names = known.keys().map(|text| (*text).to_owned()).collect();
    Ok(Column::Texts(Nullable { values, present: texts.present }, names))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::{env, fs, process, thread};

    use super::super::parquet::{self, Column as Written};
    use super::*;

    /// Columns of four flows, of workloads 1, 0, 1 and 1; the last flow is unfinished.
    fn flows(wanted: &[&str]) -> Columns {
        let columns = vec![
            ("workload", Written::integers([1, 0, 1, 1].into_iter())),
            ("size", Written::optional_integers([Some(5), Some(7), Some(10), None].into_iter())),
            ("arrival", Written::floats([0.5, 1.0, 1.5, 2.0].into_iter())),
            ("time", Written::optional_floats([Some(3.0), Some(1.0), Some(2.0), None].into_iter())),
            ("group", Written::text(["slow", "fast", "fast", "slow"].iter())),
        ];
        let mut file = Vec::new();
        parquet::write(1, columns, &mut file).unwrap();
        Columns::read(stored(&file), wanted).unwrap()
    }

    /// Creates a file with these contents for one test. The name of the file is removed at once, so the kernel deletes the file when it is
    /// closed.
    fn stored(contents: &[u8]) -> File {
        let name = format!("shallows-{}-{:?}", process::id(), thread::current().id());
        let path = env::temp_dir().join(name);
        File::create(&path).unwrap().write_all(contents).unwrap();
        let file = File::open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        file
    }

    fn values(columns: &Columns, name: &str) -> Vec<Cell> {
        columns.values(name).unwrap().collect()
    }

    #[test]
    fn columns_come_back_as_they_were_written_with_their_nulls() {
        let read = flows(&["workload", "size", "arrival", "time", "group", "class"]);
        assert_eq!(read.names().collect::<Vec<_>>(), ["arrival", "group", "size", "time", "workload"]);
        assert_eq!(read.height(), 4);
        assert_eq!(values(&read, "workload"), [1, 0, 1, 1].map(Cell::Integer));
        assert_eq!(
            values(&read, "size"),
            [Cell::Integer(5), Cell::Integer(7), Cell::Integer(10), Cell::Missing]
        );
        assert_eq!(values(&read, "arrival"), [0.5, 1.0, 1.5, 2.0].map(Cell::Float));
        assert_eq!(
            values(&read, "time"),
            [Cell::Float(3.0), Cell::Float(1.0), Cell::Float(2.0), Cell::Missing]
        );
        assert_eq!(
            values(&read, "group"),
            ["slow", "fast", "fast", "slow"].map(|group| Cell::Text(group.to_owned()))
        );
    }

    #[test]
    fn long_columns_come_back_as_they_were_written_with_their_nulls() {
        // More rows than are encoded together. The nulls have another period than the batches.
        let rows = 0..5_000i64;
        let integer = |row: i64| (row * row % 7 != 2).then_some(row);
        let float = |row: i64| (row * row % 11 != 3).then_some((row % 10) as f64);
        let columns = vec![
            ("integer", Written::optional_integers(rows.clone().map(integer))),
            ("float", Written::optional_floats(rows.clone().map(float))),
            ("text", Written::text(rows.clone().map(|row| row.to_string()))),
        ];
        let mut file = Vec::new();
        parquet::write(2, columns, &mut file).unwrap();
        let read = Columns::read(stored(&file), &["integer", "float", "text"]).unwrap();
        let cells = |cell: &dyn Fn(i64) -> Cell| rows.clone().map(cell).collect::<Vec<_>>();
        let integers = cells(&|row| integer(row).map_or(Cell::Missing, Cell::Integer));
        assert!(values(&read, "integer") == integers);
        assert!(values(&read, "float") == cells(&|row| float(row).map_or(Cell::Missing, Cell::Float)));
        assert!(values(&read, "text") == cells(&|row| Cell::Text(row.to_string())));
    }

    #[test]
    fn only_the_wanted_columns_are_read() {
        let read = flows(&["time"]);
        assert_eq!(read.names().collect::<Vec<_>>(), ["time"]);
        assert_eq!(read.sum("size"), Err("the table has no column \"size\"".to_owned()));
    }

    #[test]
    fn groups_are_in_the_order_of_their_values_and_keep_the_order_of_rows() {
        let read = flows(&["workload", "size", "group"]);
        let groups = read.groups("group").unwrap();
        let names: Vec<_> = groups.iter().map(|(name, _)| name.clone()).collect();
        assert_eq!(names, ["fast", "slow"].map(|name| Cell::Text(name.to_owned())));
        assert_eq!(values(&groups[0].1, "size"), [7, 10].map(Cell::Integer));
        let (workload, rows) = &read.groups("workload").unwrap()[1];
        assert_eq!((workload, rows.height()), (&Cell::Integer(1), 3));
        // Null forms its own group, before all others.
        assert_eq!(read.groups("size").unwrap()[0].0, Cell::Missing);
    }

    #[test]
    fn rows_between_two_bounds_are_above_the_first_and_at_most_the_second() {
        let read = flows(&["size", "time", "group"]);
        assert_eq!(values(&read.between("size", 5.0, 10.0).unwrap(), "size"), [7, 10].map(Cell::Integer));
        let known = read.between("time", f64::NEG_INFINITY, f64::INFINITY).unwrap();
        assert_eq!(known.height(), 3);
        assert!(read.between("group", 0.0, 1.0).is_err());
    }

    #[test]
    fn sums_and_ordered_values_are_of_the_chosen_rows_and_skip_nulls() {
        let read = flows(&["size", "time", "group"]);
        assert_eq!((read.sum("size"), read.ordered("time")), (Ok(22), Ok(vec![1.0, 2.0, 3.0])));
        let large = read.between("size", 5.0, 10.0).unwrap();
        assert_eq!((large.sum("size"), large.ordered("time")), (Ok(17), Ok(vec![1.0, 2.0])));
        assert_eq!(large.ordered("size"), Ok(vec![7.0, 10.0]));
        assert!(read.sum("time").is_err());
        assert!(read.ordered("group").is_err());
    }

    #[test]
    fn a_file_that_is_no_table_is_an_error() {
        assert!(Columns::read(stored(b"PAR1, or so"), &["size"]).is_err());
    }
}
