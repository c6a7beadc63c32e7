//! Whether the clock of day can be believed. What removes things by their age must not act on a
//! clock that has just jumped.

use std::time::Duration;

use gancho_domain::Time;
use tokio::time::Instant;

pub(crate) struct Steady {
    seen: Option<(Time, Instant)>,
    jumped_at: Option<Instant>,
}

/// Ordinary corrections are smaller than this.
const JUMP: Duration = Duration::from_secs(30);
/// After a jump, so long is left to whoever looks after the machine.
const DOUBT: Duration = Duration::from_mins(30);

impl Steady {
    pub const fn new() -> Self {
        Self { seen: None, jumped_at: None }
    }

    /// Whether the clock has gone evenly of late. To be asked regularly.
    pub fn is_steady(&mut self, wall: Time, mono: Instant) -> bool {
        if let Some((last_wall, last_mono)) = self.seen.replace((wall, mono)) {
            let expected = last_wall + mono.duration_since(last_mono);
            if wall.since(expected).max(expected.since(wall)) > JUMP {
                tracing::warn!(%wall, %expected, "the clock jumped; nothing is removed by age for a while");
                self.jumped_at = Some(mono);
            }
        }
        self.jumped_at.is_none_or(|at| mono.duration_since(at) > DOUBT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_is_doubted_for_a_while() {
        let (wall, mono) = (Time::from_secs(1_000_000), Instant::now());
        let mut steady = Steady::new();
        let mut at = |jump: u64, minutes: u64| {
            let passed = Duration::from_mins(minutes);
            steady.is_steady(wall + passed + Duration::from_secs(jump), mono + passed)
        };
        assert!(at(0, 0));
        assert!(at(5, 1), "a small correction");
        assert!(!at(3_600, 2));
        assert!(!at(3_600, 30));
        assert!(at(3_600, 33));
        assert!(!at(0, 34), "back again is a jump as well");
    }
}
