//! Reads server-sent events piece by piece.

/// One event: its name and its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEvent {
    pub name: String,
    pub data: String,
}

/// Assembles the pieces of a stream. Ignores comments and other fields.
#[derive(Default)]
pub struct EventReader {
    /// A line whose end has not arrived.
    line: Vec<u8>,
    name: String,
    data: Option<String>,
}

impl EventReader {
    /// Returns the events that this piece completes.
    pub fn read(&mut self, piece: &[u8]) -> Vec<ServerEvent> {
        let mut events = Vec::new();
        for byte in piece {
            if *byte == b'\n' {
                let line = std::mem::take(&mut self.line);
                events.extend(self.end_line(String::from_utf8_lossy(&line).trim_end_matches('\r')));
            } else {
                self.line.push(*byte);
            }
        }
        events
    }

    fn end_line(&mut self, line: &str) -> Option<ServerEvent> {
        if line.is_empty() {
            let name = std::mem::take(&mut self.name);
            return self.data.take().map(|data| ServerEvent { name, data });
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => match &mut self.data {
                Some(data) => data.extend(["\n", value]),
                None => self.data = Some(value.to_owned()),
            },
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, data: &str) -> ServerEvent {
        ServerEvent { name: name.to_owned(), data: data.to_owned() }
    }

    #[test]
    fn pieces_may_end_anywhere() {
        let text = "retry: 2000\n\n: keep-alive\n\nevent: a\ndata: {\"é\":1}\n\nevent: b\r\ndata: x\r\ndata:y\r\n\r\n";
        let expected = [event("a", "{\"é\":1}"), event("b", "x\ny")];
        for size in 1..text.len() {
            let mut reader = EventReader::default();
            let pieces = text.as_bytes().chunks(size);
            let events: Vec<_> = pieces.flat_map(|piece| reader.read(piece)).collect();
            assert_eq!(events, expected, "pieces of {size}");
        }
    }

    #[test]
    fn what_is_not_complete_is_not_an_event() {
        assert_eq!(EventReader::default().read(b"event: a\ndata: x\n"), []);
    }
}
