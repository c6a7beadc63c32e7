//! `gancho pipe` as a child process: reads numbered lines, and its acknowledgments are recorded.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

pub const GANCHO: &str = env!("CARGO_BIN_EXE_gancho");

/// The acknowledgments: id and line.
pub type Acked = Arc<Mutex<BTreeMap<String, String>>>;

pub struct PipeProcess {
    child: Child,
    readers: Vec<JoinHandle<()>>,
    errors: Arc<Mutex<String>>,
}

/// Returns the command, run by `wrapper` if there is one (for instance strace).
pub fn command(wrapper: &[&str], folder: &Path, url: &str, database: Option<&str>) -> Command {
    let mut words = wrapper.iter().copied().chain([GANCHO]);
    let mut command = Command::new(words.next().unwrap());
    command.args(words).args(["pipe", "--local", "--url", url, "--data-dir"]).arg(folder);
    if let Some(database) = database {
        command.args(["--database-url", database]);
    }
    command.env("GANCHO_PIPE_SECRET", "whsec_naF9CTVc42DAugdYTAuWuNRDDEwowAdJ");
    command.env("RUST_BACKTRACE", "0");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub fn url(address: SocketAddr) -> String {
    format!("http://{address}/hook")
}

impl PipeProcess {
    /// Writes lines beginning with `name` until the process ends or `lines` are written.
    pub fn start(mut command: Command, name: &str, lines: usize, acked: &Acked) -> Self {
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let name = name.to_owned();
        let text = move |number: usize| format!("{{\"line\":\"{name}-{number}\"}}");
        let feed = {
            let text = text.clone();
            thread::spawn(move || {
                for number in 1..=lines {
                    if writeln!(stdin, "{}", text(number)).is_err() {
                        return;
                    }
                }
            })
        };
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let book = acked.clone();
        let watch = thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let (number, id) = line.split_once(' ').unwrap();
                let text = text(number.parse().unwrap());
                book.lock().unwrap().insert(id.to_owned(), text);
            }
        });
        let errors = Arc::new(Mutex::new(String::new()));
        let (heard, mut stderr) = (errors.clone(), child.stderr.take().unwrap());
        let listen = thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text);
            heard.lock().unwrap().push_str(&text);
        });
        Self { child, readers: vec![feed, watch, listen], errors }
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.readers.into_iter().for_each(|reader| reader.join().unwrap());
    }

    /// Returns its exit status and standard error. Fails if it does not end in time.
    pub fn end(mut self, within: Duration) -> (ExitStatus, String) {
        let started = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if started.elapsed() > within {
                let _ = self.child.kill();
                panic!("still running after {within:?}");
            }
            // Sleeps until the process ends, and no longer than it may.
            thread::sleep(Duration::from_millis(20));
        };
        self.readers.into_iter().for_each(|reader| reader.join().unwrap());
        let errors = self.errors.lock().unwrap().clone();
        (status, errors)
    }
}

/// Starts once more without input and waits until everything has been delivered.
pub fn drain(folder: &Path, url: &str, database: Option<&str>) {
    let mut command = command(&[], folder, url, database);
    command.arg("--drain");
    let (status, errors) =
        PipeProcess::start(command, "drain", 0, &Acked::default()).end(Duration::from_secs(90));
    assert!(status.success(), "{errors}");
}
