//! Wire profiles of the operator's own: `[profiles.NAME]`, in the fields of `gancho_wire::Profile`.

use gancho_wire::Profile;
use serde::Deserialize;
use toml::{
    Spanned,
    de::{DeValue, ValueDeserializer},
};

use super::{
    error::{SettingError, ValueError},
    file::{Table, Tables},
};

pub fn read(tables: &Tables<'_>, problems: &mut Vec<SettingError>) -> Vec<Profile> {
    let built_in = Profile::built_in();
    let mut profiles = Vec::new();
    for table in tables.of("profiles") {
        let profile = match of_table(table) {
            Ok(profile) => profile,
            Err(error) => {
                problems.push(table.error(&error));
                continue;
            }
        };
        let key = format!("profiles.{}", table.name);
        let mut all: Vec<ValueError> = profile
            .errors()
            .into_iter()
            .map(|error| ValueError::new(error.to_string(), error.hint()))
            .collect();
        if built_in.iter().any(|known| known.name == profile.name) {
            all.push(ValueError::new("a built-in profile has this name", "choose another name"));
        }
        problems.extend(all.into_iter().map(|wrong| wrong.at(key.clone(), table.origin.clone())));
        profiles.push(profile);
    }
    profiles
}

/// The table's name is the profile's.
fn of_table(table: &Table<'_>) -> Result<Profile, toml::de::Error> {
    let mut value = table.value.clone();
    if let DeValue::Table(fields) = value.get_mut() {
        let name = DeValue::String(table.name.clone().into());
        fields.insert(Spanned::new(0..0, "name".into()), Spanned::new(0..0, name));
    }
    Profile::deserialize(ValueDeserializer::from(value))
}
