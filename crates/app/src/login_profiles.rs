//! The user's own file with servers and keys, one named profile each, in the configuration directory of the
//! user (`$XDG_CONFIG_HOME/gancho/profiles.toml`, or `~/.config/gancho/profiles.toml`), with mode 0600.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};
use serde::{Deserialize, Serialize};

use crate::private_file;

/// The profile that is used if none is named.
pub const DEFAULT: &str = "default";
/// Not a profile: the gateway of this machine's settings.
pub const LOCAL: &str = "local";
const FILE: &str = "gancho/profiles.toml";

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoginProfile {
    pub server: String,
    pub key: String,
    /// The tenant to act for with the operator's token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// A certificate authority to trust in addition to the system's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoginProfiles {
    #[serde(default)]
    profiles: BTreeMap<String, LoginProfile>,
    #[serde(skip)]
    path: PathBuf,
}

impl LoginProfiles {
    /// Reads the file. Without one, there are no profiles.
    pub fn load() -> anyhow::Result<Self> {
        let Some(path) = path() else { return Ok(Self::default()) };
        let Some(text) = private_file::read(&path)? else {
            return Ok(Self { path, ..Self::default() });
        };
        // The parser's error would repeat the line, which may contain a key.
        let read: Result<Self, _> = toml::from_str(&text);
        let all = read.map_err(|error| {
            let at = error.span().map_or(0, |span| text[..span.start].matches('\n').count() + 1);
            anyhow!("line {at} of {} is not valid. hint: correct it, or delete the file and run `gancho login` again", path.display())
        })?;
        Ok(Self { path, ..all })
    }

    pub fn get(&self, name: &str) -> Option<&LoginProfile> {
        self.profiles.get(name)
    }

    pub fn all(&self) -> impl Iterator<Item = (&String, &LoginProfile)> {
        self.profiles.iter()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn put(&mut self, name: &str, profile: LoginProfile) -> anyhow::Result<()> {
        self.profiles.insert(name.to_owned(), profile);
        self.save()
    }

    /// Removes a profile. Returns whether there was one.
    pub fn remove(&mut self, name: &str) -> anyhow::Result<bool> {
        let had = self.profiles.remove(name).is_some();
        if had {
            self.save()?;
        }
        Ok(had)
    }

    fn save(&self) -> anyhow::Result<()> {
        let folder =
            self.path.parent().context("there is no home directory. hint: set XDG_CONFIG_HOME")?;
        private_file::folder(folder)?;
        private_file::replace(&self.path, &toml::to_string(self)?)
    }
}

#[expect(clippy::disallowed_methods, reason = "where the user's own configuration is")]
fn path() -> Option<PathBuf> {
    let variable =
        |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || variable("HOME").map(|home| home.join(".config"));
    Some(variable("XDG_CONFIG_HOME").or_else(home)?.join(FILE))
}
