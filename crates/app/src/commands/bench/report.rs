//! One line of figures for people, or one of JSON for programs.

use std::time::{Duration, Instant};

/// CPU time of this process so far, all threads.
pub fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name in brackets; user and system time are fields 14 and 15, in hundredths.
    let ticks: u64 = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Duration::from_millis(ticks * 10)
}

/// The most memory that this process ever held, in MiB.
pub fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|kib| kib.parse::<u64>().ok())
        .unwrap_or(0)
        / 1024
}

pub struct Stopwatch {
    started: Instant,
    cpu: Duration,
}

impl Stopwatch {
    pub fn start() -> Self {
        Self { started: Instant::now(), cpu: cpu() }
    }

    /// Prints the rate and gives it back.
    pub fn report(&self, what: &str, count: u64, json: bool) -> f64 {
        let took = self.started.elapsed();
        let rate = count as f64 / took.as_secs_f64();
        let micros = cpu().saturating_sub(self.cpu).as_micros() as f64 / count.max(1) as f64;
        if json {
            let line = serde_json::json!({
                "what": what, "count": count, "seconds": took.as_secs_f64(),
                "per_second": rate.round(), "cpu_us_each": micros, "peak_mib": peak_memory(),
            });
            anstream::println!("{line}");
        } else {
            anstream::println!(
                "{what:<40} {rate:>10.0}/s   {micros:>6.1} us CPU each   {count} in {:.2} s   {} MiB at most",
                took.as_secs_f64(),
                peak_memory()
            );
        }
        rate
    }
}
