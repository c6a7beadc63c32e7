//! Servers written in Python, run as processes that end with the test.
//!
//! Each is a script that prints JSON, one value per line, and ends when its standard input does. The packages
//! that it needs are pinned in a file beside it, and installed once (`tests/venv`).

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

pub struct PythonServer {
    lines: Arc<Mutex<Vec<String>>>,
    /// The process, which ends when its standard input is closed.
    child: Child,
}

impl PythonServer {
    /// Starts `script` with the packages of the `requirements.txt` beside it. Paths are relative to the root
    /// of the tree.
    pub fn start(script: &str, arguments: &[&Path]) -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let script = root.join(script);
        let python = interpreter(&root, &script.with_file_name("requirements.txt"))?;
        let mut child = Command::new(python)
            .arg("-u")
            .arg(&script)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("starting {}", script.display()))?;
        let output = child.stdout.take().context("it has an output")?;
        let lines = Arc::new(Mutex::new(Vec::new()));
        let heard = lines.clone();
        // Ends with the process whose output it reads.
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                heard.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
        });
        let server = Self { lines, child };
        server.first()?;
        Ok(server)
    }

    /// Returns every line so far.
    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the first line, which is printed when it is ready.
    pub fn first(&self) -> Result<String> {
        const TIMEOUT: Duration = Duration::from_secs(60);
        let began = Instant::now();
        while began.elapsed() < TIMEOUT {
            if let Some(first) = self.lines().into_iter().next() {
                return Ok(first);
            }
            thread::sleep(Duration::from_millis(10));
        }
        bail!("a server did not start")
    }
}

impl Drop for PythonServer {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the Python with the packages pinned in a file, whose path is relative to the root of the tree.
pub fn packages(pins: &str) -> Result<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    interpreter(&root, &root.join(pins))
}

fn interpreter(root: &Path, pins: &Path) -> Result<String> {
    let output = Command::new(root.join("tests/venv")).arg("servers").arg(pins).output()?;
    if !output.status.success() {
        bail!("tests/venv failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
