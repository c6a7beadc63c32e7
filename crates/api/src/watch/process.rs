//! Figures of this process from `/proc`. Omitted if they cannot be read.

pub struct Process {
    pub resident_bytes: Option<u64>,
    pub cpu_seconds: Option<f64>,
    pub open_files: Option<u64>,
}

/// Linux reports CPU time in hundredths of a second.
const TICKS: f64 = 100.0;

impl Process {
    pub fn read() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let kib = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
        Self {
            resident_bytes: kib.map(|kib| kib * 1_024),
            cpu_seconds: cpu_seconds(),
            open_files: std::fs::read_dir("/proc/self/fd").ok().map(|files| files.count() as u64),
        }
    }
}

fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // After the name in parentheses; user and system time are fields 14 and 15.
    let mut fields = stat.rsplit(')').next()?.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / TICKS)
}
