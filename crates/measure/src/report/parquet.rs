//! Tables as Parquet files. Columns are encoded on several threads; the file does not depend on the number of threads.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::{ColumnCloseResult, get_column_writer, get_typed_column_writer};
use parquet::data_type::{AsBytes, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::types::{ColumnDescriptor, ColumnPath, Type};
use shallows_core::parallel;

/// Values of one column, in the order of the rows. They are computed when the column is encoded.
pub(super) enum Column<'a> {
    Integers(Values<'a, i64>),
    /// Whole numbers; `None` becomes null.
    OptionalIntegers(Values<'a, Option<i64>>),
    Floats(Values<'a, f64>),
    OptionalFloats(Values<'a, Option<f64>>),
    Text(Values<'a, ByteArray>),
}

type Values<'a, T> = Box<dyn Iterator<Item = T> + Send + 'a>;

/// Encoded column.
struct Encoded {
    schema: Arc<Type>,
    pages: Bytes,
    close: ColumnCloseResult,
}

/// Number of values that are computed and encoded together.
const BATCH: usize = 1_024;

/// Percentage of distinct values in the first batch from which on a column of numbers has no dictionary. Below it, the column probably has
/// at most some ten thousand distinct values, such as the hosts of a large network.
const NEARLY_ALL: usize = 98;

impl<'a> Column<'a> {
    pub(super) fn integers(values: impl Iterator<Item = i64> + Send + 'a) -> Self {
        Self::Integers(Box::new(values))
    }

    pub(super) fn optional_integers(values: impl Iterator<Item = Option<i64>> + Send + 'a) -> Self {
        Self::OptionalIntegers(Box::new(values))
    }

    pub(super) fn floats(values: impl Iterator<Item = f64> + Send + 'a) -> Self {
        Self::Floats(Box::new(values))
    }

    pub(super) fn optional_floats(values: impl Iterator<Item = Option<f64>> + Send + 'a) -> Self {
        Self::OptionalFloats(Box::new(values))
    }

    pub(super) fn text<T: AsRef<str>>(values: impl Iterator<Item = T> + Send + 'a) -> Self {
        Self::Text(Box::new(values.map(|text| ByteArray::from(text.as_ref()))))
    }

    fn schema(&self, name: &str) -> Result<Type, ParquetError> {
        let (physical, repetition, logical) = match self {
            Self::Integers(_) => (Physical::INT64, Repetition::REQUIRED, None),
            Self::OptionalIntegers(_) => (Physical::INT64, Repetition::OPTIONAL, None),
            Self::Floats(_) => (Physical::DOUBLE, Repetition::REQUIRED, None),
            Self::OptionalFloats(_) => (Physical::DOUBLE, Repetition::OPTIONAL, None),
            Self::Text(_) => (Physical::BYTE_ARRAY, Repetition::REQUIRED, Some(LogicalType::String)),
        };
        Type::primitive_type_builder(name, physical)
            .with_repetition(repetition)
            .with_logical_type(logical)
            .build()
    }

    fn encode(self, name: &str) -> Result<Encoded, ParquetError> {
        let schema = self.schema(name)?;
        match self {
            Self::Integers(values) => encode::<Int64Type>(schema, values.map(Some)),
            Self::OptionalIntegers(values) => encode::<Int64Type>(schema, values),
            Self::Floats(values) => encode::<DoubleType>(schema, values.map(Some)),
            Self::OptionalFloats(values) => encode::<DoubleType>(schema, values),
            Self::Text(values) => encode::<ByteArrayType>(schema, values.map(Some)),
        }
    }
}

/// Encodes a column with this schema.
fn encode<T: DataType>(
    schema: Type,
    mut values: impl Iterator<Item = Option<T::T>>,
) -> Result<Encoded, ParquetError> {
    let schema = Arc::new(schema);
    let optional = schema.is_optional();
    let path = ColumnPath::from(schema.name());
    let descriptor = Arc::new(ColumnDescriptor::new(Arc::clone(&schema), i16::from(optional), 0, path));
    // The value of each row that is not null, and the definition level of each row: 1 for a value, 0 for null.
    let (mut present, mut levels) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
    let mut read = |present: &mut Vec<T::T>, levels: &mut Vec<i16>| {
        present.clear();
        levels.clear();
        for value in values.by_ref().take(BATCH) {
            levels.push(i16::from(value.is_some()));
            present.extend(value);
        }
        !levels.is_empty()
    };
    let mut more = read(&mut present, &mut levels);
    let properties = properties().set_dictionary_enabled(wants_dictionary::<T>(&present)).build();
    let mut sink = TrackedWrite::new(Vec::new());
    let pages = Box::new(SerializedPageWriter::new(&mut sink));
    let mut writer = get_typed_column_writer::<T>(get_column_writer(descriptor, Arc::new(properties), pages));
    while more {
        writer.write_batch(&present, optional.then_some(&levels), None)?;
        more = read(&mut present, &mut levels);
    }
    let close = writer.close()?;
    Ok(Encoded { schema, pages: sink.into_inner()?.into(), close })
}

/// Returns whether a column that begins with these `values` is written with a dictionary, which costs time if values do not repeat. Texts
/// always have one, because most are names of ports.
fn wants_dictionary<T: DataType>(values: &[T::T]) -> bool {
    if T::get_physical_type() == Physical::BYTE_ARRAY {
        return true;
    }
    let distinct: BTreeSet<&[u8]> = values.iter().map(AsBytes::as_bytes).collect();
    100 * distinct.len() < NEARLY_ALL * values.len()
}

fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder().set_compression(Compression::SNAPPY).set_created_by("shallows".into())
}

/// Writes a table as a Parquet file. Encodes its columns on up to `threads` threads. The same columns give the same bytes.
pub(super) fn write(
    threads: usize,
    columns: Vec<(&str, Column<'_>)>,
    out: impl Write + Send,
) -> io::Result<()> {
    write_columns(threads, columns, out).map_err(|error| match error {
        ParquetError::External(inner) => io::Error::other(inner),
        other => io::Error::other(other),
    })
}

fn write_columns(
    threads: usize,
    columns: Vec<(&str, Column<'_>)>,
    out: impl Write + Send,
) -> Result<(), ParquetError> {
    let columns = parallel::map(threads, columns, |(name, column)| column.encode(name));
    let columns = columns.into_iter().collect::<Result<Vec<_>, _>>()?;
    let fields = columns.iter().map(|column| Arc::clone(&column.schema)).collect();
    let schema = Type::group_type_builder("schema").with_fields(fields).build()?;
    let mut file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties().build()))?;
    let mut group = file.next_row_group()?;
    for Encoded { pages, close, .. } in columns {
        group.append_column(&pages, close)?;
    }
    group.close()?;
    file.close()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use parquet::basic::Encoding;
    use parquet::file::metadata::ColumnChunkMetaData;
    use parquet::file::reader::{FileReader as _, SerializedFileReader};

    use super::*;

    fn table(threads: usize, columns: Vec<(&str, Column<'_>)>) -> Bytes {
        let mut file = Vec::new();
        write(threads, columns, &mut file).expect("memory takes everything");
        file.into()
    }

    #[test]
    fn a_table_does_not_depend_on_the_number_of_threads() {
        let columns = |rows: i64| {
            vec![
                ("row", Column::integers(0..rows)),
                ("third", Column::optional_integers((0..rows).map(|row| (row % 3 == 0).then_some(row)))),
                ("half", Column::floats((0..rows).map(|row| row as f64 / 2.0))),
                ("name", Column::text((0..rows).map(|row| format!("port{row}")))),
            ]
        };
        for rows in [0, 1, BATCH as i64, 3 * BATCH as i64 + 1] {
            let file = table(1, columns(rows));
            for threads in [2, 3, 7] {
                assert!(table(threads, columns(rows)) == file, "{rows} rows on {threads} threads");
            }
        }
    }

    #[test]
    fn texts_and_columns_whose_values_repeat_have_a_dictionary() {
        let rows = 0..4 * BATCH as i64;
        let columns = vec![
            ("distinct", Column::integers(rows.clone())),
            ("hardly any repeat", Column::floats(rows.clone().map(|row| (row % 1_010) as f64))),
            ("some repeat", Column::optional_floats(rows.clone().map(|row| Some((row % 990) as f64)))),
            ("twice", Column::integers(rows.clone().map(|row| row / 2))),
            ("text", Column::text(rows.map(|row| row.to_string()))),
        ];
        let file = SerializedFileReader::new(table(1, columns)).expect("it is a table");
        let has_dictionary =
            |column: &ColumnChunkMetaData| column.encodings().any(|each| each == Encoding::RLE_DICTIONARY);
        let found: Vec<bool> = file.metadata().row_group(0).columns().iter().map(has_dictionary).collect();
        assert_eq!(found, [false, false, true, true, true]);
    }

    #[test]
    fn columns_of_different_lengths_are_an_error() {
        let columns = vec![("one", Column::integers(0..1)), ("two", Column::integers(0..2))];
        assert!(write(1, columns, Vec::new()).is_err());
    }
}
