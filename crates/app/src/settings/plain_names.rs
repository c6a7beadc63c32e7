//! Variables without our prefix: `PORT`, `DATABASE_URL` and the like, as services of this kind are set up
//! elsewhere. Other programs own such names too, so they are the weakest of all: whatever else sets the
//! same setting wins, and it is said where the two differ.

use super::{
    environment::Environment,
    error::{Origin, SettingError},
    layers::{Layers, RawValue},
};

/// A variable, the setting that it stands for, and how its value is written there.
struct PlainName {
    variable: &'static str,
    setting: &'static str,
    write: fn(&str) -> String,
}

const NAMES: [PlainName; 5] = [
    PlainName {
        variable: "PORT",
        setting: "ingest_listen",
        // Where the default listens: to be reached from elsewhere takes a decision.
        write: |port| format!("127.0.0.1:{}", port.trim()),
    },
    PlainName { variable: "DATABASE_URL", setting: "database_url", write: str::to_owned },
    PlainName { variable: "DISPATCH_URL", setting: "dispatch_url", write: str::to_owned },
    PlainName { variable: "RETRY_MAX", setting: "dispatch_max_attempts", write: str::to_owned },
    PlainName {
        variable: "RETRY_BASE_SECONDS",
        setting: "dispatch_base_delay",
        write: |seconds| format!("{}s", seconds.trim()),
    },
];

/// There is no archive in R2 yet.
const R2_BUCKET: &str = "DLQ_R2_BUCKET";

/// Before everything else, so that everything else covers them.
pub fn add_to(environment: &Environment, layers: &mut Layers, problems: &mut Vec<SettingError>) {
    for name in &NAMES {
        if let Some(written) = name.written(environment) {
            let origin = Origin::Variable(name.variable.to_owned());
            layers.put(name.setting, origin, written, problems);
        }
    }
}

/// Which of them are set and do not count, once all layers are there.
pub fn warnings(environment: &Environment, layers: &Layers) -> Vec<String> {
    let covered = NAMES.iter().filter_map(|name| {
        let written = name.written(environment)?;
        let (origin, counts) = layers.written(name.setting)?;
        (written != *counts).then(|| {
            format!(
                "ignored the environment variable {}: {} is set by {origin}",
                name.variable, name.setting
            )
        })
    });
    let bucket = environment.get(R2_BUCKET).map(|_| {
        format!(
            "ignored the environment variable {R2_BUCKET}: archiving to R2 is not supported; dead letters \
             are archived to archive_dir"
        )
    });
    covered.chain(bucket).collect()
}

impl PlainName {
    fn written(&self, environment: &Environment) -> Option<RawValue> {
        environment.get(self.variable).map(|value| RawValue::One((self.write)(value)))
    }
}

/// The variable that stands for a setting, for the reference.
pub fn variable_of(setting: &str) -> Option<&'static str> {
    NAMES.iter().find(|name| name.setting == setting).map(|name| name.variable)
}
