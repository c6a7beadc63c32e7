use super::*;

/// Feeds the text in pieces of different lengths. Returns the output, and the last part.
fn fed(text: &str) -> (String, RequestPart) {
    let mut outcomes = Vec::new();
    for length in [1, 2, 3, 7, 64, text.len().max(1)] {
        let mut framing = Framing::new();
        let mut out = Vec::new();
        let mut part = RequestPart::Between;
        for piece in text.as_bytes().chunks(length) {
            let mut piece = piece.to_vec();
            part = framing.read(&mut piece);
            out.extend(piece);
        }
        outcomes.push((String::from_utf8(out).unwrap(), part));
    }
    let spoiled = |(text, part): &(String, RequestPart)| (text.contains('\0'), *part);
    let first = spoiled(&outcomes[0]);
    assert!(outcomes.iter().all(|one| spoiled(one) == first), "{outcomes:?}");
    outcomes.pop().unwrap()
}

fn passes(text: &str) {
    assert_eq!(fed(text), (text.to_owned(), RequestPart::Between));
}

fn is_stopped(text: &str) {
    let (out, part) = fed(text);
    assert!(out.contains('\0'), "{text:?} passed as {out:?}");
    assert_eq!(part, RequestPart::Between);
}

const NEXT: &str = "GET /b HTTP/1.1\r\nhost: a\r\n\r\n";

#[test]
fn requests_one_after_another() {
    passes(NEXT);
    passes(&format!("\r\n{NEXT}\r\n{NEXT}"));
    passes(&format!("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello{NEXT}"));
    passes(&format!("POST / HTTP/1.1\r\ncontent-length:  0  \r\n\r\n{NEXT}"));
    passes(&format!(
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA\r\n0123456789\r\n0\r\n\r\n{NEXT}"
    ));
}

#[test]
fn where_it_stands() {
    for (text, part) in [
        ("G", RequestPart::Head),
        ("GET / HTTP/1.1\r\nhost", RequestPart::Head),
        ("GET / HTTP/1.1\r\nhost: a\r\n\r", RequestPart::Head),
        ("POST / HTTP/1.1\r\ncontent-length: 5\r\n\r\nhel", RequestPart::Body),
        ("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello", RequestPart::Body),
    ] {
        assert_eq!(fed(text).1, part, "{text:?}");
    }
}

#[test]
fn requests_with_ambiguous_framing_are_rejected() {
    for headers in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Content-Length: 5\r\nContent-Length: 5",
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: 5, 5",
        "Content-Length: +5",
        "Content-Length: -5",
        "Content-Length: 0x5",
        "Content-Length: 5 5",
        "Content-Length:",
        "Content-Length: 9999999999999999999999",
        "Content-Length : 5",
        "Transfer-Encoding : chunked",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding: identity, chunked",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nTransfer-encoding: x",
        "Transfer-Encoding:\u{b}chunked",
        "Transfer-Encoding: \"chunked\"",
        "X: a\r\n folded",
        "X: a\r\n\tContent-Length: 5",
        " Content-Length: 5",
        "X: a\nContent-Length: 5",
        "X: a\rContent-Length: 5",
        "no colon",
        ": nameless",
        "X: a\0b",
    ] {
        is_stopped(&format!("POST /a HTTP/1.1\r\n{headers}\r\n\r\nhello{NEXT}"));
    }
}

#[test]
fn chunks_that_are_not_plain() {
    for body in [
        "5;ext=1\r\nhello\r\n0\r\n\r\n",
        "5 \r\nhello\r\n0\r\n\r\n",
        "5\nhello\r\n0\r\n\r\n",
        "5\r\nhelloX\r\n0\r\n\r\n",
        "5\r\nhello\n0\r\n\r\n",
        "\r\n",
        "g\r\n",
        "-1\r\n",
        "+5\r\nhello\r\n0\r\n\r\n",
        "0x5\r\nhello\r\n0\r\n\r\n",
        "FFFFFFFFFFFFFFFF\r\nhello",
        "000000005\r\nhello\r\n0\r\n\r\n",
        "0\r\nTrailer: x\r\n\r\n",
        "0\r\n\n",
    ] {
        let head = "POST /a HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n";
        is_stopped(&format!("{head}{body}{NEXT}"));
    }
}

#[test]
fn unusual_request_lines() {
    is_stopped(&format!("GET /a HTTP/1.1\nhost: a\r\n\r\n{NEXT}"));
    is_stopped(&format!("\n{NEXT}"));
    is_stopped(&format!("CONNECT a:1 HTTP/1.1\r\n\r\n{NEXT}"));
    is_stopped("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    is_stopped(&format!("{NEXT}PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
    is_stopped(&format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(MAX_LINE_BYTES)));
}

#[test]
fn once_spoiled_nothing_passes() {
    let mut framing = Framing::new();
    framing.read(&mut b"GET / HTTP/1.1\n".to_owned());
    let mut next = NEXT.as_bytes().to_vec();
    framing.read(&mut next);
    assert!(next.iter().all(|byte| *byte == 0));
}
