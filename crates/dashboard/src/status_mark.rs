//! The states of things: always a color, a shape and a word together.

use crate::{sentence::Sentence, texts::Texts};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusMark {
    Delivered,
    InFlight,
    Retrying,
    Pending,
    Failed,
    Paused,
    Disabled,
    Warning,
}

impl StatusMark {
    /// The states of deliveries.
    pub const OF_DELIVERIES: [Self; 6] = [
        Self::Delivered,
        Self::InFlight,
        Self::Retrying,
        Self::Pending,
        Self::Failed,
        Self::Paused,
    ];

    /// Returns the class in the style sheet, which sets the color.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Delivered => "is-delivered",
            Self::InFlight => "is-inflight",
            Self::Retrying | Self::Warning => "is-retrying",
            Self::Pending => "is-pending",
            Self::Failed => "is-failed",
            Self::Paused => "is-paused",
            Self::Disabled => "is-disabled",
        }
    }

    pub const fn icon(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::InFlight => "inflight",
            Self::Retrying => "retrying",
            Self::Pending => "pending",
            Self::Failed => "failed",
            Self::Paused => "paused",
            Self::Disabled => "disabled",
            Self::Warning => "warn",
        }
    }

    /// Whether the shape consists of lines instead of being filled.
    pub const fn is_line(self) -> bool {
        !matches!(self, Self::Delivered | Self::Failed | Self::Paused)
    }

    /// Returns the word for a delivery in this state.
    pub fn word(self, t: &Texts) -> Sentence {
        match self {
            Self::Delivered => t.say("status.delivered"),
            Self::InFlight => t.say("status.in_flight"),
            Self::Retrying => t.say("status.retrying"),
            Self::Pending => t.say("status.pending"),
            Self::Failed => t.say("status.dead_letter"),
            Self::Paused => t.say("status.paused"),
            Self::Disabled => t.say("status.disabled"),
            Self::Warning => t.say("status.warning"),
        }
    }
}
