//! Maps from numbers to numbers.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Map from numbers to numbers, written as a table such as `{ 26 = 3 }`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NumberMap(pub(crate) BTreeMap<u8, u8>);

impl NumberMap {
    /// Returns whether the map has no entries.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for NumberMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key.to_string(), value)))
    }
}

impl<'de> Deserialize<'de> for NumberMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = |(key, value): (String, u8)| match key.parse() {
            // "026" would be a second name of 26.
            Ok(number) if key == u8::to_string(&number) => Ok((number, value)),
            _ => Err(de::Error::custom(format!(
                "must be a table from numbers to numbers, such as {{ 26 = 3 }}, got the key \"{key}\""
            ))),
        };
        let entries = BTreeMap::<String, u8>::deserialize(deserializer)?;
        entries.into_iter().map(number).collect::<Result<_, _>>().map(Self)
    }
}

impl JsonSchema for NumberMap {
    fn schema_name() -> Cow<'static, str> {
        "NumberMap".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "a table from numbers to numbers, such as { 26 = 3 }",
            "type": "object",
            "propertyNames": { "pattern": "^(0|[1-9][0-9]{0,2})$" },
            "additionalProperties": { "type": "integer", "minimum": 0, "maximum": 255 }
        })
    }
}
