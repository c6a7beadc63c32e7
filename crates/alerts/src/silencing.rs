//! Decides which changes are sent: not silenced ones. An alert that fires during a silence is sent when the
//! silence ends. A resolved alert is reported, silenced or not, if and only if its firing was reported.

use gancho_domain::Time;

use crate::{Alert, AlertBook, Change, Silence};

/// Returns each change and whether it stays unsent, after the changes of alerts whose silence has ended.
///
/// `silences` is `None` if they cannot be read. In that case every change is sent, because too much is better
/// than too little; but alerts that fired earlier stay unsent, because they may still be silenced.
pub(crate) fn mark_silenced(
    changes: &[Change],
    books: [&mut AlertBook; 2],
    silences: Option<&[Silence]>,
    now: Time,
) -> Vec<(Change, bool)> {
    let is_silenced = |alert: &Alert| {
        silences.unwrap_or_default().iter().any(|silence| silence.covers(alert, now))
    };
    let mut marked: Vec<(Change, bool)> = changes
        .iter()
        .map(|change| {
            let alert = change.alert();
            let is_silent = is_silenced(alert);
            match change {
                // If its firing was reported, someone waits for the incident to be closed.
                Change::Resolved(_) => (change.clone(), !alert.is_announced()),
                // The first message about an alert says that it fired.
                Change::Reminder(_) if !is_silent && !alert.is_announced() => {
                    (Change::Fired(alert.clone()), false)
                }
                Change::Fired(_) | Change::Reminder(_) => (change.clone(), is_silent),
            }
        })
        .collect();
    for book in books {
        for (change, is_silent) in &marked {
            if !is_silent {
                book.announce(change.alert(), now);
            }
        }
        if silences.is_none() {
            continue;
        }
        for alert in book.unannounced() {
            if !is_silenced(&alert) {
                book.announce(&alert, now);
                marked.push((Change::Fired(alert), false));
            }
        }
    }
    marked
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Condition, Rule, SilenceId};

    const AFTER: Duration = Duration::from_secs(60);
    const RULE: Rule = Rule::WritesRefused;

    fn at(seconds: i64) -> Time {
        Time::from_secs(1_000_000 + seconds)
    }

    fn silence(until: Time) -> Silence {
        let (comment, by) = (String::new(), String::new());
        let id = SilenceId::from_bytes([1; 16]);
        Silence { id, rule: Some(RULE), subject: None, until, comment, by }
    }

    /// A gateway with a rule that fires at once, and silences. Its steps return what is sent.
    #[derive(Default)]
    struct Stage {
        book: AlertBook,
        silences: Vec<Silence>,
    }

    impl Stage {
        fn step(&mut self, holds: bool, now: Time) -> Vec<&'static str> {
            let silences = self.silences.clone();
            self.step_with(holds, now, Some(&silences))
        }

        fn step_with(
            &mut self,
            holds: bool,
            now: Time,
            silences: Option<&[Silence]>,
        ) -> Vec<&'static str> {
            let (subject, detail) = (String::new(), String::new());
            let condition = Condition { rule: RULE, subject, value: 1.0, threshold: 0.0, detail };
            let holding = holds.then_some(condition).into_iter().collect();
            let changes = self.book.step(holding, AFTER, now);
            let books = [&mut self.book, &mut AlertBook::default()];
            let marked = mark_silenced(&changes, books, silences, now);
            // Another node may continue at any time.
            let stored = serde_json::to_string(&self.book.alerts()).unwrap();
            self.book = AlertBook::of(serde_json::from_str(&stored).unwrap());
            let sent = marked.iter().filter(|(_, is_silent)| !is_silent);
            sent.map(|(change, _)| match change {
                Change::Fired(_) => "fired",
                Change::Reminder(_) => "reminder",
                Change::Resolved(_) => "resolved",
            })
            .collect()
        }
    }

    #[test]
    fn what_fires_during_a_silence_is_sent_when_it_ends() {
        let mut stage = Stage { silences: vec![silence(at(100))], ..Stage::default() };
        assert!(stage.step(true, at(0)).is_empty());
        assert!(stage.step(true, at(99)).is_empty());
        assert_eq!(stage.step(true, at(100)), ["fired"]);
        assert!(stage.step(true, at(115)).is_empty(), "once");
        assert_eq!(stage.step(true, at(100 + 6 * 3_600)), ["reminder"]);
        assert!(stage.step(false, at(30_000)).is_empty());
        assert_eq!(stage.step(false, at(30_060)), ["resolved"]);
    }

    #[test]
    fn a_silence_that_is_removed_ends_at_once_even_after_hours() {
        let mut stage = Stage { silences: vec![silence(at(1_000_000))], ..Stage::default() };
        assert!(stage.step(true, at(0)).is_empty());
        stage.silences.clear();
        assert_eq!(stage.step(true, at(6 * 3_600)), ["fired"], "not a reminder");
    }

    #[test]
    fn what_was_not_reported_as_firing_is_not_reported_as_resolved() {
        let mut stage = Stage { silences: vec![silence(at(100))], ..Stage::default() };
        assert!(stage.step(true, at(0)).is_empty());
        assert!(stage.step(false, at(50)).is_empty());
        assert!(stage.step(false, at(105)).is_empty(), "it does not hold any more");
        assert!(stage.step(false, at(110)).is_empty());
        assert!(stage.book.alerts().is_empty(), "it is resolved");
    }

    #[test]
    fn what_was_reported_as_firing_is_reported_as_resolved_in_a_silence_too() {
        let mut stage = Stage::default();
        assert_eq!(stage.step(true, at(0)), ["fired"]);
        stage.silences = vec![silence(at(1_000_000))];
        assert!(stage.step(true, at(6 * 3_600)).is_empty(), "no reminder");
        assert!(stage.step(false, at(30_000)).is_empty());
        assert_eq!(stage.step(false, at(30_060)), ["resolved"]);
    }

    #[test]
    fn without_silences_new_alerts_are_sent_and_earlier_ones_wait() {
        let mut stage = Stage { silences: vec![silence(at(1_000))], ..Stage::default() };
        assert!(stage.step(true, at(0)).is_empty());
        assert!(stage.step_with(true, at(15), None).is_empty(), "it may be silenced still");
        assert_eq!(Stage::default().step_with(true, at(15), None), ["fired"]);
    }
}
