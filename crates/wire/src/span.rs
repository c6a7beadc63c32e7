//! Durations in configuration: `30s`, `5m`, `2h`, `1h30m`.

use std::time::Duration;

use gancho_domain::span;
use serde::{Deserialize, Deserializer, de::Error};

pub(crate) fn one<'de, D: Deserializer<'de>>(input: D) -> Result<Duration, D::Error> {
    parse(&String::deserialize(input)?).map_err(D::Error::custom)
}

pub(crate) fn many<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<Duration>, D::Error> {
    let texts = Vec::<String>::deserialize(input)?;
    texts.iter().map(|text| parse(text).map_err(D::Error::custom)).collect()
}

fn parse(text: &str) -> Result<Duration, String> {
    span::parse(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        for (text, seconds) in [("30s", 30), ("5m", 300), ("2h", 7200), ("1h30m", 5400)] {
            assert_eq!(parse(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
    }

    #[test]
    fn refuses_the_rest_with_a_hint() {
        for text in ["", "30", "-5s", "soon", "1 hour", "PT5M", "9999999999999999999h"] {
            assert!(parse(text).unwrap_err().contains("500ms, 5s, 2h or 1h30m"), "{text}");
        }
    }
}
