//! Builds a filter in SQL: only the conditions that are set, each with its parameter.

use tokio_postgres::types::ToSql;

type Value = Box<dyn ToSql + Send + Sync>;

#[derive(Default)]
pub(crate) struct Conditions {
    wheres: Vec<String>,
    values: Vec<Value>,
}

impl Conditions {
    /// Adds a condition, in which `?` stands for the value.
    pub(crate) fn add(&mut self, condition: &str, value: impl ToSql + Send + Sync + 'static) {
        let place = self.value(value);
        self.wheres.push(condition.replace('?', &place));
    }

    pub(crate) fn add_if<T: ToSql + Send + Sync + 'static>(
        &mut self,
        condition: &str,
        value: Option<T>,
    ) {
        if let Some(value) = value {
            self.add(condition, value);
        }
    }

    /// Adds a condition without a value.
    pub(crate) fn add_plain(&mut self, condition: &str) {
        self.wheres.push(condition.to_owned());
    }

    /// Binds a value outside of the conditions, and returns its placeholder.
    pub(crate) fn value(&mut self, value: impl ToSql + Send + Sync + 'static) -> String {
        self.values.push(Box::new(value));
        format!("${}", self.values.len())
    }

    /// Drops the conditions, but keeps their values bound.
    pub(crate) fn without_conditions(self) -> Self {
        Self { wheres: Vec::new(), values: self.values }
    }

    pub(crate) fn sql(&self) -> String {
        if self.wheres.is_empty() {
            return "true".to_owned();
        }
        self.wheres.join(" and ")
    }

    pub(crate) fn values(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.values.iter().map(|value| value.as_ref() as &(dyn ToSql + Sync)).collect()
    }
}
