//! A delivery in a list: its state, and why it waits or how it ended.

use serde::Deserialize;

use crate::{
    display_time::DisplayTime,
    escape::Text,
    failure,
    sentence::{Html, Sentence},
    status_mark::StatusMark,
    texts::Texts,
};

/// Maximum attempts that are drawn as tiles.
const MAX_TILES: u32 = 16;

#[derive(Debug, Clone, Deserialize)]
pub struct DeliveryRow {
    pub id: String,
    /// Only in a list of all tenants.
    pub tenant: Option<Text>,
    pub lane: Text,
    pub webhook_id: Option<String>,
    pub event_id: Option<String>,
    pub event_type: Option<Text>,
    pub partner: Option<Text>,
    pub receipt_id: Option<String>,
    pub outbox_id: Option<String>,
    pub external_id: Option<Text>,
    pub status: String,
    pub attempts: u32,
    pub response_status: Option<u16>,
    pub last_error: Option<Text>,
    pub last_error_code: Option<Text>,
    pub waiting_for: Option<WaitingFor>,
    pub delivered_at: Option<DisplayTime>,
    pub is_test: bool,
    pub created_at: DisplayTime,
}

#[derive(Debug, Clone, Deserialize)]
pub struct WaitingFor {
    pub reason: Reason,
    pub until: Option<DisplayTime>,
}

/// What holds a delivery back. Later versions of the API may have more reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    Attempt,
    Retry,
    Schedule,
    LaneResume,
    TenantResume,
    WebhookResume,
    CircuitBreaker,
    RateLimit,
    InFlightLimit,
    EarlierDelivery,
    #[serde(other)]
    Backlog,
}

impl Reason {
    pub const fn is_pause(self) -> bool {
        matches!(self, Self::LaneResume | Self::TenantResume | Self::WebhookResume)
    }
}

impl DeliveryRow {
    pub fn is_final(&self) -> bool {
        matches!(self.status.as_str(), "delivered" | "failed")
    }

    pub fn is_delivered(&self) -> bool {
        self.status == "delivered"
    }

    pub fn mark(&self) -> StatusMark {
        let reason = self.waiting_for.as_ref().map(|waiting| waiting.reason);
        match (self.status.as_str(), reason) {
            ("delivered", _) => StatusMark::Delivered,
            ("failed", _) => StatusMark::Failed,
            (_, Some(Reason::Attempt)) => StatusMark::InFlight,
            (_, Some(reason)) if reason.is_pause() => StatusMark::Paused,
            ("retrying", _) => StatusMark::Retrying,
            _ => StatusMark::Pending,
        }
    }

    pub fn is_canceled(&self) -> bool {
        self.last_error_code.as_ref().is_some_and(|code| code.as_str() == "CANCELED")
    }

    /// Returns the word for its state. Canceled deliveries and tests are not dead letters.
    pub fn word(&self, t: &Texts) -> Sentence {
        match self.mark() {
            StatusMark::Failed if self.is_canceled() => t.say("status.canceled"),
            StatusMark::Failed if self.is_test => t.say("status.test_failed"),
            mark => mark.word(t),
        }
    }

    /// Returns what the delivery is about: the type of its event, its partner, or the e-mail.
    pub fn title(&self) -> Text {
        let of_event = self.event_type.clone().or_else(|| self.partner.clone());
        of_event.unwrap_or_else(|| self.outbox_id.as_deref().unwrap_or(&self.id).into())
    }

    /// Returns the state of each attempt: `true` is delivered, `false` failed. The last is `None` if one is
    /// to come.
    pub fn tiles(&self) -> Vec<Option<bool>> {
        let made = self.attempts.min(MAX_TILES);
        let is_last = |index| index + 1 == made;
        let mut tiles: Vec<_> =
            (0..made).map(|index| Some(is_last(index) && self.is_delivered())).collect();
        if !self.is_final() {
            tiles.push(None);
        }
        tiles
    }

    pub fn tries(&self, t: &Texts) -> Sentence {
        t.count("row.attempts", u64::from(self.attempts))
    }

    pub fn has_good_response(&self) -> bool {
        self.response_status.is_some_and(|status| (200..300).contains(&status))
    }

    /// Returns why it waits, or how it ended, in a few words.
    pub fn why(&self, t: &Texts) -> Html {
        let Some(waiting) = &self.waiting_for else { return self.end(t) };
        let next = u64::from(self.attempts) + 1;
        let sentence = match (waiting.reason, &waiting.until) {
            (Reason::Attempt, _) => t.say("why.short.attempt").with("n", t.number(next)),
            (Reason::Retry, Some(until)) => {
                t.say("why.short.retry").with("n", t.number(next)).html("span", t.until(until))
            }
            (Reason::Schedule, Some(until)) => {
                t.say("why.short.schedule").html("time", t.time(until))
            }
            (Reason::LaneResume | Reason::TenantResume, _) if t.is_portal => {
                t.say("why.short.held")
            }
            (Reason::LaneResume, _) => t.say("why.short.lane"),
            (Reason::TenantResume, _) => t.say("why.short.tenant"),
            (Reason::WebhookResume, _) => t.say("why.short.endpoint"),
            (Reason::CircuitBreaker, Some(until)) => {
                t.say("why.short.breaker").html("time", t.time(until))
            }
            (Reason::CircuitBreaker, None) => t.say("why.short.probe"),
            (Reason::RateLimit, _) => t.say("why.short.rate"),
            (Reason::InFlightLimit, _) => t.say("why.short.slots"),
            (Reason::EarlierDelivery, _) => t.say("why.short.order"),
            _ => t.say("why.short.turn"),
        };
        sentence.into()
    }

    /// Returns the whole reason if the list may truncate it.
    pub fn shown_error(&self) -> Option<&Text> {
        self.last_error.as_ref().filter(|_| self.waiting_for.is_none() && !self.is_delivered())
    }

    fn end(&self, t: &Texts) -> Html {
        match (&self.last_error, self.is_delivered()) {
            (_, true) if self.attempts > 1 => {
                t.say("why.short.delivered").with("n", t.number(u64::from(self.attempts))).into()
            }
            (_, true) | (None, _) => Html::default(),
            (Some(reason), false) => failure::short(t, self.last_error_code.as_ref(), reason),
        }
    }
}
