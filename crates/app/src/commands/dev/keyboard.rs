//! Reads the keys pressed in `dev`: one by one in a terminal, and line by line from other input.

use std::{collections::VecDeque, future::pending, io::IsTerminal};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::io::{AsyncReadExt, Stdin};

pub struct Keyboard {
    input: Stdin,
    /// Pressed and not yet answered.
    pressed: VecDeque<char>,
    is_open: bool,
    /// How the terminal was; `None` without one.
    before: Option<Termios>,
}

/// Ctrl-D in a terminal that sends every key at once.
const END_OF_TRANSMISSION: u8 = 4;

impl Keyboard {
    pub fn open() -> anyhow::Result<Self> {
        let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        let before = if is_terminal { Some(send_every_key()?) } else { None };
        Ok(Self { input: tokio::io::stdin(), pressed: VecDeque::new(), is_open: true, before })
    }

    pub fn is_terminal(&self) -> bool {
        self.before.is_some()
    }

    /// Whether keys can come from the input: nobody types into `/dev/null`.
    pub fn is_there(&self) -> bool {
        let null = rustix::fs::stat("/dev/null").map(|null| null.st_rdev);
        let input = rustix::fs::fstat(std::io::stdin()).map(|input| input.st_rdev);
        self.is_terminal() || null.is_err() || null != input
    }

    /// Returns the next key. Waits forever once the input has ended, unless a person ended it: that is `q`.
    pub async fn next(&mut self) -> anyhow::Result<char> {
        loop {
            if let Some(key) = self.pressed.pop_front() {
                return Ok(key);
            }
            if !self.is_open {
                return pending().await;
            }
            let mut bytes = [0; 64];
            let count = self.input.read(&mut bytes).await?;
            let is_ended = count == 0 || bytes[..count].contains(&END_OF_TRANSMISSION);
            if is_ended && self.is_terminal() {
                return Ok('q');
            }
            self.is_open = !is_ended;
            let keys = bytes[..count].iter().copied().filter(u8::is_ascii_graphic);
            // Arrow keys and others are sequences that begin with an escape; they are ignored.
            if bytes[0] != 0x1b {
                self.pressed.extend(keys.map(char::from));
            }
        }
    }
}

fn send_every_key() -> anyhow::Result<Termios> {
    let stdin = std::io::stdin();
    let before = tcgetattr(&stdin)?;
    let mut modes = before.clone();
    modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    tcsetattr(&stdin, OptionalActions::Now, &modes)?;
    Ok(before)
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
    }
}
