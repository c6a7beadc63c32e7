//! Settings from `gancho.toml`.

use std::path::{Path, PathBuf};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    environment::Environment,
    error::{Origin, SettingError, ValueError},
    flags::Flags,
    keys::KEYS,
    layers::Layers,
    raw_value::RawValue,
};

pub const NAME: &str = "gancho.toml";

pub struct Source {
    pub path: PathBuf,
    text: String,
}

/// The tables of the file: `[plans.…]` and `[profiles.…]`.
#[derive(Default)]
pub struct Tables<'a>(Vec<Table<'a>>);

pub struct Table<'a> {
    /// `plans` or `profiles`.
    pub kind: &'static str,
    pub name: String,
    pub origin: Origin,
    pub value: Spanned<DeValue<'a>>,
    path: PathBuf,
    /// The offset of each line, to convert an offset into a line number.
    lines: Vec<usize>,
}

impl<'a> Tables<'a> {
    pub fn of(&self, kind: &str) -> impl Iterator<Item = &Table<'a>> {
        self.0.iter().filter(move |table| table.kind == kind)
    }
}

impl Table<'_> {
    /// Reports an error of serde at its line.
    pub fn error(&self, error: &toml::de::Error) -> SettingError {
        let line = error.span().map(|span| line(&self.lines, span.start));
        let origin = match line {
            Some(line) if line > 1 => Origin::File { path: self.path.clone(), line },
            _ => self.origin.clone(),
        };
        ValueError::new(error.message().trim(), "")
            .at(format!("{}.{}", self.kind, self.name), origin)
    }
}

/// Finds the configured file, or `gancho.toml` in the current directory, or in the data directory.
pub fn find(
    flags: &Flags,
    environment: &Environment,
    problems: &mut Vec<SettingError>,
) -> Option<Source> {
    let named =
        flags.config.clone().map(|path| (path, Origin::Flag("--config".to_owned()))).or_else(
            || {
                let origin = Origin::Variable("GANCHO_CONFIG".to_owned());
                environment.get("GANCHO_CONFIG").map(|path| (path.into(), origin))
            },
        );
    if let Some((path, origin)) = named {
        return open(&path, Some(origin), problems);
    }
    let folder = flags.data_dir.as_deref().or_else(|| environment.get("GANCHO_DATA_DIR"));
    let default = KEYS.iter().find(|key| key.name == "data_dir").map_or("", |key| key.default);
    [PathBuf::from(NAME), Path::new(folder.unwrap_or(default)).join(NAME)]
        .iter()
        .find_map(|path| open(path, None, problems))
}

/// A file that was configured explicitly must exist.
pub fn open(
    path: &Path,
    named: Option<Origin>,
    problems: &mut Vec<SettingError>,
) -> Option<Source> {
    match std::fs::read_to_string(path) {
        Ok(text) => Some(Source { path: path.to_owned(), text }),
        Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => {
            let origin = named.unwrap_or(Origin::Default);
            let what = format!("cannot read {}: {error}", path.display());
            problems.push(ValueError::new(what, "check the path").at("config", origin));
            None
        }
    }
}

/// Adds the values of the file to the layers, and returns its tables.
pub fn read<'a>(
    source: Option<&'a Source>,
    layers: &mut Layers,
    problems: &mut Vec<SettingError>,
) -> Tables<'a> {
    let mut tables = Tables::default();
    let Some(Source { path, text }) = source else {
        return tables;
    };
    let lines: Vec<usize> =
        std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let at = |place: usize| Origin::File { path: path.clone(), line: line(&lines, place) };

    let (root, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let origin = at(error.span().map_or(0, |span| span.start));
        problems.push(ValueError::new(error.message().trim(), "").at("TOML", origin));
    }
    for (name, value) in root.into_inner() {
        let origin = at(name.span().start);
        let name = name.into_inner();
        let kind = ["plans", "profiles"].into_iter().find(|kind| *kind == name);
        match (kind, value.into_inner()) {
            (Some(kind), DeValue::Table(entries)) => {
                for (name, value) in entries {
                    let origin = at(name.span().start);
                    let name = name.into_inner().into_owned();
                    let (path, lines) = (path.clone(), lines.clone());
                    tables.0.push(Table { kind, name, origin, value, path, lines });
                }
            }
            (Some(kind), _) => problems.push(
                ValueError::new("expected a table", format!("write [{kind}.NAME]"))
                    .at(kind, origin),
            ),
            (None, value) => match written(&value) {
                Some(written) => layers.put(&name, origin, written, problems),
                None if KEYS.iter().any(|key| key.name == name) => {
                    problems.push(
                        ValueError::new("expected a value, not a table", "").at(name, origin),
                    );
                }
                // For an unknown table, the error is about its name.
                None => layers.put(&name, origin, RawValue::Many(Vec::new()), problems),
            },
        }
    }
    tables
}

fn written(value: &DeValue<'_>) -> Option<RawValue> {
    match value {
        DeValue::Array(all) => {
            let texts: Option<Vec<String>> = all.iter().map(|one| text_of(one.get_ref())).collect();
            texts.map(RawValue::Many)
        }
        other => text_of(other).map(RawValue::One),
    }
}

fn text_of(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.clone().into_owned()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(number) => Some(number.to_string()),
        DeValue::Boolean(flag) => Some(flag.to_string()),
        DeValue::Datetime(time) => Some(time.to_string()),
        DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

fn line(lines: &[usize], place: usize) -> usize {
    lines.partition_point(|start| *start <= place)
}
