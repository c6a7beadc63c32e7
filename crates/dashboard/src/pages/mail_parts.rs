//! Reads the texts of an e-mail that the gateway wrote: quoted-printable parts, each after its headers.

use quoted_printable::ParseMode;

/// Returns the first part of a type, decoded.
pub fn part(message: &str, content_type: &str) -> Option<String> {
    let message = message.replace("\r\n", "\n");
    let wanted = format!("content-type: {content_type}");
    let mut rest = message.as_str();
    // The headers of the message, then those of each part after its boundary.
    loop {
        let (head, body) = rest.split_once("\n\n")?;
        let boundary = head.lines().rev().find(|line| line.starts_with("--"));
        let headers = boundary.map_or(head, |line| head.rsplit(line).next().unwrap_or(head));
        if headers.to_lowercase().contains(&wanted) && !headers.contains("attachment") {
            let text = match boundary {
                Some(line) => body.split(&format!("\n{line}")).next().unwrap_or(body),
                None => body,
            };
            return decode(headers, text);
        }
        rest = body;
    }
}

fn decode(headers: &str, text: &str) -> Option<String> {
    if !headers.to_lowercase().contains("quoted-printable") {
        return Some(text.to_owned());
    }
    let bytes = quoted_printable::decode(text, ParseMode::Robust).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::part;

    const BOTH: &str = "From: a@b\r\nContent-Type: multipart/alternative; boundary=\"=_a\"\r\n\r\n--=_a\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nOl=C3=A1,\r\n\r\nlong=\r\n line\r\n--=_a\r\nContent-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n<p style=3D\"color:red\">Ol=C3=A1</p>\r\n\r\n<p>2</p>\r\n--=_a--\r\n";

    #[test]
    fn each_text_is_found_and_decoded() {
        assert_eq!(part(BOTH, "text/plain").unwrap().replace("\r\n", "\n"), "Olá,\n\nlong line");
        let html = part(BOTH, "text/html").unwrap().replace("\r\n", "\n");
        assert_eq!(html, "<p style=\"color:red\">Olá</p>\n\n<p>2</p>");
    }

    #[test]
    fn a_message_may_have_one_text_only() {
        let plain = "Subject: x\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nhello\r\n";
        assert_eq!(part(plain, "text/plain").unwrap().trim_end(), "hello");
        assert_eq!(part(plain, "text/html"), None);
        assert_eq!(part("", "text/html"), None);
    }
}
