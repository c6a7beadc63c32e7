//! What tenants may use, by plan: `[plans.NAME]`. A built-in name changes that plan.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::de::ValueDeserializer;

use super::{error::SettingError, file::Tables};

/// What is left out has no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanTable {
    pub endpoints: Option<u32>,
    /// Events a month.
    pub events: Option<u64>,
}

pub fn read(tables: &Tables<'_>, problems: &mut Vec<SettingError>) -> BTreeMap<String, PlanTable> {
    let mut plans = BTreeMap::new();
    for table in tables.of("plans") {
        match PlanTable::deserialize(ValueDeserializer::from(table.value.clone())) {
            Ok(plan) => drop(plans.insert(table.name.clone(), plan)),
            Err(error) => problems.push(table.error(&error)),
        }
    }
    plans
}
