//! A retry plan as one line of text: `schedule 5000000 300000000` or
//! `exponential 1000000 60000000 5`, in microseconds.

use std::time::Duration;

use gancho_domain::RetryPlan;

use crate::fault::{Fault, corrupt};

pub(crate) fn write(plan: &RetryPlan) -> String {
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

pub(crate) fn read(text: &str) -> Result<RetryPlan, Fault> {
    let unknown = || corrupt(format!("`{text}` is not a retry plan"));
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
