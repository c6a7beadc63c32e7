//! The stored form of a retry plan, one line of text: `schedule 5000000 300000000` or `exponential 1000000
//! 60000000 5`, in microseconds.

use std::time::Duration;

use gancho_domain::RetryPlan;

use crate::{Result, StoreError};

pub fn write(plan: &RetryPlan) -> String {
    let micros = |delay: &Duration| delay.as_micros().to_string();
    match plan {
        RetryPlan::Schedule(delays) => {
            let mut words = vec!["schedule".to_owned()];
            words.extend(delays.iter().map(micros));
            words.join(" ")
        }
        RetryPlan::Exponential { base, max, attempts } => {
            format!("exponential {} {} {attempts}", micros(base), micros(max))
        }
    }
}

pub fn read(text: &str) -> Result<RetryPlan> {
    let unknown = || StoreError::Corrupt(format!("invalid retry plan `{text}`"));
    let mut words = text.split(' ');
    let kind = words.next();
    let numbers: Vec<u64> =
        words.map(str::parse).collect::<Result<_, _>>().map_err(|_| unknown())?;
    match (kind, numbers.as_slice()) {
        (Some("schedule"), delays) => {
            Ok(RetryPlan::Schedule(delays.iter().copied().map(Duration::from_micros).collect()))
        }
        (Some("exponential"), &[base, max, attempts]) => Ok(RetryPlan::Exponential {
            base: Duration::from_micros(base),
            max: Duration::from_micros(max),
            attempts: u32::try_from(attempts).map_err(|_| unknown())?,
        }),
        _ => Err(unknown()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for plan in [
            RetryPlan::EMAIL,
            RetryPlan::DISPATCH,
            RetryPlan::Schedule(vec![]),
            RetryPlan::Schedule(vec![Duration::ZERO, Duration::from_micros(1)]),
        ] {
            assert_eq!(read(&write(&plan)), Ok(plan));
        }
        for odd in ["", "schedule -1", "exponential 1 2", "weekly"] {
            assert!(read(odd).is_err(), "{odd}");
        }
    }
}
