//! A receiver that answers as the test says.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

pub struct Receiver {
    address: SocketAddr,
    script: Arc<Mutex<(u16, String)>>,
}

impl Receiver {
    /// Starts a receiver that answers 200 until the test says otherwise.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let script = Arc::new(Mutex::new((200, String::new())));
        let read = script.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let script = read.clone();
                thread::spawn(move || while answer(&stream, &script).is_some() {});
            }
        });
        Self { address, script }
    }

    pub fn url(&self) -> String {
        format!("http://{}/hooks", self.address)
    }

    pub fn answer(&self, status: u16) {
        self.answer_with(status, "");
    }

    pub fn answer_with(&self, status: u16, body: &str) {
        *self.script.lock().unwrap() = (status, body.to_owned());
    }
}

fn answer(mut stream: &TcpStream, script: &Mutex<(u16, String)>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim_end().is_empty() {
            break;
        }
        if let Some((name, value)) = line.trim_end().split_once(": ")
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.parse().ok()?;
        }
    }
    reader.read_exact(&mut vec![0; length]).ok()?;
    let (status, body) = script.lock().unwrap().clone();
    let head = format!("HTTP/1.1 {status} Scripted\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes()).ok()
}
