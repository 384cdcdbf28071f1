//! Settings of a port's queues: one value for all queues, or a list with one value per queue.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// One value for all queues, or a list with one value per queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PerQueue<T> {
    All(T),
    Each(Vec<T>),
}

impl<T: Copy> PerQueue<T> {
    /// Returns the value of each of `queues` queues, or `None` if the setting is a list of a different length.
    pub(crate) fn spread(&self, queues: usize) -> Option<Vec<T>> {
        match self {
            Self::All(value) => Some(vec![*value; queues]),
            Self::Each(values) => (values.len() == queues).then(|| values.clone()),
        }
    }

    /// Returns the values as the scenario gives them: one, or one per queue.
    pub(crate) fn values(&self) -> &[T] {
        match self {
            Self::All(value) => std::slice::from_ref(value),
            Self::Each(values) => values,
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for PerQueue<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> de::Visitor<'de> for Visitor<T> {
            type Value = PerQueue<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("one value for all queues, or a list with one value for each queue")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                T::deserialize(de::value::StrDeserializer::new(text)).map(PerQueue::All)
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
                T::deserialize(de::value::I64Deserializer::new(number)).map(PerQueue::All)
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
                T::deserialize(de::value::F64Deserializer::new(number)).map(PerQueue::All)
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = list.next_element()? {
                    values.push(value);
                }
                Ok(PerQueue::Each(values))
            }
        }
        deserializer.deserialize_any(Visitor(std::marker::PhantomData))
    }
}

impl<T: Serialize> Serialize for PerQueue<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All(value) => value.serialize(serializer),
            Self::Each(values) => values.serialize(serializer),
        }
    }
}

impl<T: JsonSchema> JsonSchema for PerQueue<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("PerQueue{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "one value for all queues, or a list with one value for each queue",
            "anyOf": [generator.subschema_for::<T>(), generator.subschema_for::<Vec<T>>()]
        })
    }
}
