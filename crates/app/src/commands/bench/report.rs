//! Prints a line of figures, or of JSON.

use std::time::{Duration, Instant};

/// The process whose time and memory are measured.
#[derive(Debug, Clone, Copy)]
pub enum Process {
    Own,
    Other(u32),
}

impl Process {
    fn read(self, file: &str) -> String {
        let path = match self {
            Self::Own => format!("/proc/self/{file}"),
            Self::Other(id) => format!("/proc/{id}/{file}"),
        };
        std::fs::read_to_string(path).unwrap_or_default()
    }

    /// Returns the CPU time of all threads so far.
    pub fn cpu(self) -> Duration {
        // After the name in parentheses; user and system time are fields 14 and 15, in hundredths.
        let ticks: u64 = self
            .read("stat")
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

    /// Returns the highest memory usage, in MiB.
    pub fn peak_memory(self) -> u64 {
        self.read("status")
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .and_then(|rest| rest.split_whitespace().next())
            .and_then(|kib| kib.parse::<u64>().ok())
            .unwrap_or(0)
            / 1024
    }
}

pub struct Stopwatch {
    processes: Vec<Process>,
    started: Instant,
    cpu: Duration,
    /// The CPU time of the PostgreSQL servers on this machine.
    servers_cpu: Duration,
}

impl Stopwatch {
    pub fn start() -> Self {
        Self::of(vec![Process::Own])
    }

    pub fn of(processes: Vec<Process>) -> Self {
        let (cpu, servers_cpu) = (total_cpu(&processes), total_cpu(&database_servers()));
        Self { processes, started: Instant::now(), cpu, servers_cpu }
    }

    /// Prints the rate and returns it.
    pub fn report(&self, what: &str, count: u64, json: bool) -> f64 {
        let took = self.started.elapsed();
        let rate = count as f64 / took.as_secs_f64();
        let micros = each(total_cpu(&self.processes), self.cpu, count);
        let peak = self.processes.iter().map(|process| process.peak_memory()).max().unwrap_or(0);
        if json {
            let line = serde_json::json!({
                "what": what, "count": count, "seconds": took.as_secs_f64(),
                "per_second": rate.round(), "cpu_us_each": micros, "peak_mib": peak,
                "database_server_cpu_us_each": self.servers_each(count),
            });
            anstream::println!("{line}");
        } else {
            anstream::println!(
                "{what:<40} {rate:>10.0}/s   {micros:>6.1} us CPU each   {count} in {:.2} s   {peak} MiB at most",
                took.as_secs_f64(),
            );
        }
        rate
    }

    fn servers_each(&self, count: u64) -> f64 {
        each(total_cpu(&database_servers()), self.servers_cpu, count)
    }

    /// Prints the usage of the PostgreSQL servers on this machine.
    pub fn report_servers(&self, count: u64) {
        let micros = self.servers_each(count);
        anstream::println!(
            "{:<40} {:>12}   {micros:>6.1} us CPU each",
            "PostgreSQL on this machine",
            ""
        );
    }
}

/// Returns the CPU time in microseconds for each of `count`.
fn each(now: Duration, before: Duration, count: u64) -> f64 {
    now.saturating_sub(before).as_micros() as f64 / count.max(1) as f64
}

fn total_cpu(processes: &[Process]) -> Duration {
    processes.iter().map(|process| process.cpu()).sum()
}

/// Returns the server's processes, including those of its connections.
fn database_servers() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let processes = ids.map(Process::Other);
    processes.filter(|process| process.read("comm").trim() == "postgres").collect()
}

/// The distribution of latencies.
pub struct LatencyDistribution {
    sorted: Vec<Duration>,
}

impl LatencyDistribution {
    pub fn of(mut latencies: Vec<Duration>) -> Self {
        latencies.sort_unstable();
        Self { sorted: latencies }
    }

    /// Returns the latency in milliseconds that this many of a thousand did not exceed.
    pub fn at(&self, thousandths: usize) -> f64 {
        let place =
            (self.sorted.len() * thousandths / 1_000).min(self.sorted.len().saturating_sub(1));
        self.sorted.get(place).map_or(0.0, |took| took.as_secs_f64() * 1_000.0)
    }

    pub fn report(&self, what: &str, json: bool) {
        let (p50, p95, p99, max) = (self.at(500), self.at(950), self.at(990), self.at(1_000));
        if json {
            let line = serde_json::json!({
                "what": what, "p50_ms": p50, "p95_ms": p95, "p99_ms": p99, "max_ms": max,
            });
            anstream::println!("{line}");
        } else {
            anstream::println!(
                "{what:<40} p50 {p50:.2} ms   p95 {p95:.2} ms   p99 {p99:.2} ms   max {max:.2} ms"
            );
        }
    }
}
