//! A name server on loopback that answers, lies or stays silent as the test says, and counts the questions.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use anyhow::Result;
use tokio::{net::UdpSocket, task::JoinSet};

#[derive(Debug, Clone)]
pub enum Reply {
    /// The addresses of the requested family, after a chain of this number of aliases.
    Addresses {
        aliases: usize,
        addresses: Vec<IpAddr>,
    },
    /// The addresses of another name.
    OfAnother(Vec<IpAddr>),
    NoSuchName,
    Failure,
    Silence,
}

impl Reply {
    pub fn addresses(addresses: &[IpAddr]) -> Self {
        Self::Addresses { aliases: 0, addresses: addresses.to_vec() }
    }
}

pub struct NameServer {
    address: SocketAddr,
    questions: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl NameServer {
    /// Starts a server. Calls `reply` for each question, with the name in lower case and without a dot at its
    /// end.
    pub async fn start(reply: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = socket.local_addr()?;
        let questions = Arc::new(AtomicUsize::new(0));
        let count = questions.clone();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut packet = [0; 4096];
            while let Ok((length, from)) = socket.recv_from(&mut packet).await {
                count.fetch_add(1, Ordering::SeqCst);
                let Some(question) = Question::read(&packet[..length]) else { continue };
                if let Some(answer) = question.answer(&reply(&question.name)) {
                    let _lost = socket.send_to(&answer, from).await;
                }
            }
        });
        Ok(Self { address, questions, _tasks: tasks })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the number of received packets; a look-up of both families is two.
    pub fn questions(&self) -> usize {
        self.questions.load(Ordering::SeqCst)
    }
}

const A: u16 = 1;
const CNAME: u16 = 5;
const AAAA: u16 = 28;

struct Question<'a> {
    id: &'a [u8],
    /// Name, type and class as received.
    bytes: &'a [u8],
    name: String,
    kind: u16,
}

impl<'a> Question<'a> {
    fn read(packet: &'a [u8]) -> Option<Self> {
        let mut at = 12;
        let mut labels = Vec::new();
        loop {
            let length = usize::from(*packet.get(at)?);
            at += 1;
            if length == 0 {
                break;
            }
            labels.push(String::from_utf8_lossy(packet.get(at..at + length)?).to_lowercase());
            at += length;
        }
        Some(Self {
            id: &packet[..2],
            bytes: packet.get(12..at + 4)?,
            name: labels.join("."),
            kind: u16::from_be_bytes([*packet.get(at)?, *packet.get(at + 1)?]),
        })
    }

    fn answer(&self, reply: &Reply) -> Option<Vec<u8>> {
        let question = &self.bytes[..self.bytes.len() - 4];
        let (code, documents) = match reply {
            Reply::Silence => return None,
            Reply::NoSuchName => (3, Vec::new()),
            Reply::Failure => (2, Vec::new()),
            Reply::Addresses { aliases: 0, addresses } => (0, self.documents(question, addresses)),
            Reply::Addresses { aliases, addresses } => (0, self.chain(*aliases, addresses)),
            Reply::OfAnother(addresses) => {
                (0, self.documents(b"\x07another\x07example\0", addresses))
            }
        };
        let mut packet = self.id.to_vec();
        packet.extend_from_slice(&[0x81, 0x80 | code, 0, 1]);
        packet.extend_from_slice(&(documents.len() as u16).to_be_bytes());
        packet.extend_from_slice(&[0; 4]);
        packet.extend_from_slice(self.bytes);
        packet.extend(documents.concat());
        Some(packet)
    }

    fn documents(&self, name: &[u8], addresses: &[IpAddr]) -> Vec<Vec<u8>> {
        let data = addresses.iter().filter_map(|address| match (self.kind, address) {
            (A, IpAddr::V4(ip)) => Some(ip.octets().to_vec()),
            (AAAA, IpAddr::V6(ip)) => Some(ip.octets().to_vec()),
            _ => None,
        });
        data.map(|data| document(name, self.kind, &data)).collect()
    }

    fn chain(&self, aliases: usize, addresses: &[IpAddr]) -> Vec<Vec<u8>> {
        let mut name = self.bytes[..self.bytes.len() - 4].to_vec();
        let mut documents = Vec::new();
        for alias in 0..aliases {
            let label = format!("alias{alias}");
            let mut next = vec![label.len() as u8];
            next.extend_from_slice(label.as_bytes());
            next.extend_from_slice(b"\x07example\0");
            documents.push(document(&name, CNAME, &next));
            name = next;
        }
        documents.extend(self.documents(&name, addresses));
        documents
    }
}

/// Returns a record with a time to live of zero, so that nothing is cached.
fn document(name: &[u8], kind: u16, data: &[u8]) -> Vec<u8> {
    let mut document = name.to_vec();
    document.extend_from_slice(&kind.to_be_bytes());
    document.extend_from_slice(&[0, 1, 0, 0, 0, 0]);
    document.extend_from_slice(&(data.len() as u16).to_be_bytes());
    document.extend_from_slice(data);
    document
}
