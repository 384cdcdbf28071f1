//! Tables as Parquet files, written column by column.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

/// Values of one column.
pub(super) enum Column {
    Integers(Vec<i64>),
    /// Whole numbers; `None` becomes null.
    OptionalIntegers(Vec<Option<i64>>),
    Floats(Vec<f64>),
    OptionalFloats(Vec<Option<f64>>),
    Text(Vec<String>),
}

impl Column {
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

    fn write<W: Write + Send>(
        &self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        let mut column = group.next_column()?.expect("as many columns as the schema has");
        match self {
            Self::Integers(values) => column.typed::<Int64Type>().write_batch(values, None, None)?,
            Self::Floats(values) => column.typed::<DoubleType>().write_batch(values, None, None)?,
            Self::OptionalIntegers(values) => {
                let (present, levels) = split(values);
                column.typed::<Int64Type>().write_batch(&present, Some(&levels), None)?
            }
            Self::OptionalFloats(values) => {
                let (present, levels) = split(values);
                column.typed::<DoubleType>().write_batch(&present, Some(&levels), None)?
            }
            Self::Text(values) => {
                let values: Vec<ByteArray> =
                    values.iter().map(|text| ByteArray::from(text.as_str())).collect();
                column.typed::<ByteArrayType>().write_batch(&values, None, None)?
            }
        };
        column.close()
    }
}

/// Returns the values that are not null, and for each row its definition level: 1 for a value, 0 for null.
fn split<T: Copy>(values: &[Option<T>]) -> (Vec<T>, Vec<i16>) {
    (
        values.iter().flatten().copied().collect(),
        values.iter().map(|value| i16::from(value.is_some())).collect(),
    )
}

/// Writes a table as a Parquet file. The same columns give the same bytes.
pub(super) fn write(columns: &[(&str, Column)], out: impl Write + Send) -> io::Result<()> {
    write_columns(columns, out).map_err(|error| match error {
        ParquetError::External(inner) => io::Error::other(inner),
        other => io::Error::other(other),
    })
}

fn write_columns(columns: &[(&str, Column)], out: impl Write + Send) -> Result<(), ParquetError> {
    let fields = columns.iter().map(|(name, column)| column.schema(name).map(Arc::new));
    let schema = Type::group_type_builder("schema").with_fields(fields.collect::<Result<_, _>>()?).build()?;
    let properties =
        WriterProperties::builder().set_compression(Compression::SNAPPY).set_created_by("shallows".into());
    let mut file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties.build()))?;
    let mut group = file.next_row_group()?;
    for (_, column) in columns {
        column.write(&mut group)?;
    }
    group.close()?;
    file.close()?;
    Ok(())
}
