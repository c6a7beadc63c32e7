//! The configurable behavior of the built-in receiver.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Deserialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Responds 200 at once.
    #[default]
    Ok,
    /// Responds 500.
    Fail,
    /// Responds 200 after a while.
    Slow,
}

impl Mode {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Fail => "fail",
            Self::Slow => "slow",
        }
    }
}

#[derive(Default)]
pub struct Control(Mutex<State>);

#[derive(Default, Clone, Copy)]
struct State {
    mode: Mode,
    /// How many more requests get this mode. `None`: until it is changed.
    left: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ControlRequest {
    mode: Mode,
    count: Option<u32>,
}

impl Control {
    pub fn set(&self, mode: Mode, count: Option<u32>) {
        *self.now() = State { mode, left: count };
    }

    pub fn set_from_json(&self, body: &[u8]) -> Result<(), String> {
        let change: ControlRequest = serde_json::from_slice(body).map_err(|error| {
            format!(
                "{error}; send {{\"mode\": \"ok\"}}, \"fail\" or \"slow\", and optionally \"count\""
            )
        })?;
        self.set(change.mode, change.count);
        Ok(())
    }

    pub fn as_json(&self) -> serde_json::Value {
        let now = *self.now();
        serde_json::json!({ "mode": now.mode.name(), "count": now.left })
    }

    /// Returns the mode for the next request.
    pub fn take(&self) -> Mode {
        let mut now = self.now();
        let mode = match now.left {
            Some(0) => Mode::Ok,
            _ => now.mode,
        };
        match &mut now.left {
            Some(0) => *now = State::default(),
            Some(left) => *left -= 1,
            None => {}
        }
        mode
    }

    fn now(&self) -> MutexGuard<'_, State> {
        // Two plain values cannot be left half-written.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn for_a_number_of_requests_or_until_changed() {
        let control = Control::default();
        assert_eq!(control.take(), Mode::Ok);
        control.set_from_json(br#"{"mode": "fail", "count": 2}"#).unwrap();
        assert_eq!(
            [control.take(), control.take(), control.take()],
            [Mode::Fail, Mode::Fail, Mode::Ok]
        );
        control.set(Mode::Slow, None);
        assert_eq!([control.take(), control.take()], [Mode::Slow, Mode::Slow]);
        assert!(control.set_from_json(br#"{"mode": "angry"}"#).is_err());
        assert!(control.set_from_json(b"").is_err());
        assert_eq!(control.as_json(), serde_json::json!({ "mode": "slow", "count": null }));
    }
}
