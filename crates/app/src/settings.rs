//! The operator's settings: `gancho.toml`, overridden by `GANCHO_…` variables, overridden by flags. A few
//! variables without the prefix, such as `PORT`, apply if none of these sets a value.
//!
//! In reading order: `keys` is the table of settings, from which the reference and the struct are
//! generated; `layers` collects `raw_value`s and their origins from `plain_names`, `file`, `environment` and
//! `flags`; `value`, `amount` and `secret` parse them; `check` validates combinations and ranges;
//! `address_policy` derives the rules for addresses; `portal` parses the brand; `plans`, `profiles` and `companies` are the three that
//! are not single values; `error` reports what is wrong; `show` and `reference` print settings.
//!
//! All errors are reported at once, each with the key, its origin and a hint, so that an operator corrects
//! a file once. No error repeats a secret.

pub mod address_policy;
mod amount;
mod check;
pub mod companies;
mod environment;
mod error;
mod file;
mod flags;
mod keys;
mod layers;
mod plain_names;
mod plans;
pub mod portal;
mod profiles;
mod raw_value;
pub mod reference;
mod secret;
pub mod show;
#[cfg(test)]
mod tests;
mod value;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use gancho_wire::Profile;

pub use companies::Company;
pub use error::{Origin, SettingError, SettingsError};
pub use flags::Flags;
pub use keys::Settings;
pub use plans::PlanTable;
pub use secret::{DatabaseUrl, Secret};
pub use value::{EmailVia, LogFormat, Role};

use environment::Environment;
use file::Source;
use layers::Layers;

/// All that was decided, and what should be said about it.
#[derive(Debug)]
pub struct LoadedSettings {
    pub settings: Settings,
    /// Profiles of the operator's own, checked.
    pub profiles: Vec<Profile>,
    /// Plans of the operator's own, or built-in ones changed.
    pub plans: BTreeMap<String, PlanTable>,
    /// Tenants that are set up by the environment.
    pub companies: Vec<Company>,
    /// Where each setting was written.
    pub origins: BTreeMap<&'static str, Origin>,
    pub file: Option<PathBuf>,
    /// Not wrong, but probably not what was meant.
    pub warnings: Vec<String>,
}

impl Settings {
    /// The configured e-mail transport, or SMTP if a server is set.
    pub fn email_transport(&self) -> EmailVia {
        let implied = if self.smtp_url.is_some() { EmailVia::Smtp } else { EmailVia::Off };
        self.email_via.unwrap_or(implied)
    }
}

/// Reads everything, or says everything that is wrong.
pub fn load(flags: &Flags) -> Result<LoadedSettings, SettingsError> {
    load_from(flags, &Environment::of_process())
}

/// The profiles that a configuration file defines. The values of its other settings are not looked at.
pub fn profiles_in(path: &Path) -> Result<Vec<Profile>, SettingsError> {
    let mut problems = Vec::new();
    let source = file::open(path, Some(Origin::Flag("--config".to_owned())), &mut problems);
    let tables = file::read(source.as_ref(), &mut Layers::default(), &mut problems);
    let profiles = profiles::read(&tables, &mut problems);
    if problems.is_empty() { Ok(profiles) } else { Err(SettingsError(problems)) }
}

/// The log format alone, for errors in other settings. `None` if it is invalid.
pub fn log_format(flags: &Flags) -> Option<LogFormat> {
    let (environment, mut ignored) = (Environment::of_process(), Vec::new());
    let source = file::find(flags, &environment, &mut ignored);
    let mut layers = Layers::default();
    file::read(source.as_ref(), &mut layers, &mut ignored);
    environment.add_to(&mut layers, &mut ignored);
    flags.add_to(&mut layers, &mut ignored);
    let mut problems = Vec::new();
    layers.value("log_format", "auto", &mut problems).filter(|_| problems.is_empty())
}

/// The defaults with a few set by the program itself: no file and no variable is looked at.
pub fn built_in(values: &[(&str, &str)]) -> Result<LoadedSettings, SettingsError> {
    let set = values.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let flags = Flags { set, ..Flags::default() };
    put_together(&flags, &Environment::default(), None, Vec::new())
}

fn load_from(flags: &Flags, environment: &Environment) -> Result<LoadedSettings, SettingsError> {
    let mut problems = Vec::new();
    let source = file::find(flags, environment, &mut problems);
    put_together(flags, environment, source.as_ref(), problems)
}

fn put_together(
    flags: &Flags,
    environment: &Environment,
    source: Option<&Source>,
    mut problems: Vec<SettingError>,
) -> Result<LoadedSettings, SettingsError> {
    let mut layers = Layers::default();
    plain_names::add_to(environment, &mut layers, &mut problems);
    let tables = file::read(source, &mut layers, &mut problems);
    let mut warnings = environment.add_to(&mut layers, &mut problems);
    flags.add_to(&mut layers, &mut problems);
    warnings.extend(plain_names::warnings(environment, &layers));

    let settings = Settings::read(&layers, &mut problems);
    let profiles = profiles::read(&tables, &mut problems);
    let plans = plans::read(&tables, &mut problems);
    let companies = companies::read(environment, settings.as_ref(), &mut problems);
    if let Some(settings) = &settings {
        check::run(settings, &layers, &mut problems);
    }
    match settings {
        Some(settings) if problems.is_empty() => Ok(LoadedSettings {
            settings,
            profiles,
            plans,
            companies,
            origins: layers.origins(),
            file: source.map(|source| source.path.clone()),
            warnings,
        }),
        _ => Err(SettingsError(problems)),
    }
}
