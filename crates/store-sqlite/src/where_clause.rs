//! Builds a filter in SQL: conditions joined by AND, each with its value bound.

use rusqlite::ToSql;

#[derive(Default)]
pub(crate) struct Conditions {
    wheres: Vec<String>,
    values: Vec<Box<dyn ToSql>>,
}

impl Conditions {
    /// Adds a condition in which `$` is replaced by the value.
    pub fn add(&mut self, sql: &str, value: impl ToSql + 'static) {
        self.values.push(Box::new(value));
        self.wheres.push(sql.replace('$', &format!("?{}", self.values.len())));
    }

    pub fn add_plain(&mut self, sql: &str) {
        self.wheres.push(sql.to_owned());
    }

    /// Drops the conditions, but keeps their values bound.
    pub fn without_conditions(self) -> Self {
        Self { wheres: Vec::new(), values: self.values }
    }

    pub fn sql(&self) -> String {
        if self.wheres.is_empty() { "true".to_owned() } else { self.wheres.join(" AND ") }
    }

    pub fn values(&self) -> Vec<&dyn ToSql> {
        self.values.iter().map(AsRef::as_ref).collect()
    }
}
