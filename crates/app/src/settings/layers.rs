//! Raw values and their origins. A later layer overrides an earlier one, which is then not checked.

use std::collections::BTreeMap;

use gancho_domain::nearest;

use super::{
    error::{Origin, SettingError, ValueError},
    keys::KEYS,
    raw_value::RawValue,
    value::Setting,
};

#[derive(Debug, Default)]
pub struct Layers(BTreeMap<&'static str, (Origin, RawValue)>);

impl Layers {
    /// Overrides the previous value of that name. Reports an unknown name.
    pub fn put(
        &mut self,
        name: &str,
        origin: Origin,
        written: RawValue,
        problems: &mut Vec<SettingError>,
    ) {
        match KEYS.iter().find(|key| key.name == name) {
            Some(key) => {
                self.0.insert(key.name, (origin, written));
            }
            None => problems.push(unknown(name).at(name, origin)),
        }
    }

    /// The last value that was set, and its origin. `None` if the default applies.
    pub fn written(&self, name: &str) -> Option<&(Origin, RawValue)> {
        self.0.get(name)
    }

    pub fn origin(&self, name: &str) -> Origin {
        self.0.get(name).map_or(Origin::Default, |(origin, _)| origin.clone())
    }

    pub fn origins(&self) -> BTreeMap<&'static str, Origin> {
        KEYS.iter().map(|key| (key.name, self.origin(key.name))).collect()
    }

    /// The effective value: the last one that was set, or the default. An invalid value is reported and
    /// replaced by the default, so that later checks still run.
    pub fn value<T: Setting>(
        &self,
        name: &'static str,
        default: &str,
        problems: &mut Vec<SettingError>,
    ) -> Option<T> {
        let default = RawValue::One(default.to_owned());
        let written = self.0.get(name).map_or(&default, |(_, written)| written);
        match T::read(written) {
            Ok(value) => Some(value),
            Err(wrong) => {
                problems.push(wrong.at(name, self.origin(name)));
                T::read(&default).ok()
            }
        }
    }
}

fn unknown(name: &str) -> ValueError {
    let tables = ["plans", "profiles"];
    let known = KEYS.iter().map(|key| key.name).chain(tables);
    let hint = match nearest(name, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`gancho config --reference` lists every setting".to_owned(),
    };
    ValueError::new("unknown setting", hint)
}
