//! Environment variables without the `GANCHO_` prefix, such as `PORT` and `DATABASE_URL`, which hosting
//! platforms set. Other programs use these names too, so they have the lowest precedence: any other origin
//! overrides them, with a warning if the values differ.

use super::{
    environment::Environment,
    error::{Origin, SettingError},
    layers::Layers,
    raw_value::RawValue,
};

/// A variable, its setting, and the conversion of its value.
struct PlainName {
    variable: &'static str,
    setting: &'static str,
    write: fn(&str) -> String,
}

const NAMES: [PlainName; 8] = [
    PlainName {
        variable: "PORT",
        setting: "ingest_listen",
        // On the loopback interface, as by default: listening elsewhere must be an explicit decision.
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
    PlainName {
        variable: "DLQ_R2_BUCKET",
        setting: "archive_url",
        write: |bucket| format!("s3://{}", bucket.trim()),
    },
    // The standard's own names.
    PlainName {
        variable: "OTEL_EXPORTER_OTLP_ENDPOINT",
        setting: "otlp_endpoint",
        write: str::to_owned,
    },
    PlainName {
        variable: "OTEL_EXPORTER_OTLP_HEADERS",
        setting: "otlp_headers",
        write: str::to_owned,
    },
];

/// Called first, so that everything else overrides them.
pub fn add_to(environment: &Environment, layers: &mut Layers, problems: &mut Vec<SettingError>) {
    for name in &NAMES {
        if let Some(written) = name.written(environment) {
            let origin = Origin::Variable(name.variable.to_owned());
            layers.put(name.setting, origin, written, problems);
        }
    }
}

/// Warnings for variables that are overridden. Called after all layers were added.
pub fn warnings(environment: &Environment, layers: &Layers) -> Vec<String> {
    let overridden = NAMES.iter().filter_map(|name| {
        let written = name.written(environment)?;
        let (origin, counts) = layers.written(name.setting)?;
        (written != *counts).then(|| {
            format!(
                "ignored the environment variable {}: {} is set by {origin}",
                name.variable, name.setting
            )
        })
    });
    overridden.collect()
}

impl PlainName {
    fn written(&self, environment: &Environment) -> Option<RawValue> {
        environment.get(self.variable).map(|value| RawValue::One((self.write)(value)))
    }
}

/// The variable of a setting, for the reference.
pub fn variable_of(setting: &str) -> Option<&'static str> {
    NAMES.iter().find(|name| name.setting == setting).map(|name| name.variable)
}
