//! Splits Rust code into pieces: code, comments and string literals. Enough for checks of words; not a
//! parser.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    Code(&'a str),
    /// A comment, with its slashes.
    Comment(&'a str),
    /// A string without its quotes, with unchanged escapes.
    Literal(&'a str),
}

/// Returns the pieces in order, each with the number of its first line.
pub fn pieces(text: &str) -> Vec<(usize, Piece<'_>)> {
    let mut found = Vec::new();
    let (mut start, mut at) = (0, 0);
    let line = |place: usize| text[..place].matches('\n').count() + 1;
    while at < text.len() {
        let rest = &text[at..];
        let special = comment(rest).or_else(|| literal(rest)).or_else(|| character(rest));
        let Some((piece, length)) = special else {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        };
        if start < at {
            found.push((line(start), Piece::Code(&text[start..at])));
        }
        if let Some(piece) = piece {
            found.push((line(at), piece));
        }
        at += length;
        start = at;
    }
    if start < text.len() {
        found.push((line(start), Piece::Code(&text[start..])));
    }
    found
}

type Special<'a> = Option<(Option<Piece<'a>>, usize)>;

fn comment(rest: &str) -> Special<'_> {
    let end = match rest.get(..2)? {
        "//" => rest.find('\n').unwrap_or(rest.len()),
        "/*" => rest.find("*/").map_or(rest.len(), |end| end + 2),
        _ => return None,
    };
    Some((Some(Piece::Comment(&rest[..end])), end))
}

fn literal(rest: &str) -> Special<'_> {
    if let Some(raw) = rest.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let body = raw[hashes..].strip_prefix('"')?;
        let close = format!("\"{}", "#".repeat(hashes));
        let end = body.find(&close).unwrap_or(body.len());
        let length = 1 + hashes + 1 + end + close.len();
        return Some((Some(Piece::Literal(&body[..end])), length.min(rest.len())));
    }
    let body = rest.strip_prefix('"')?;
    let mut is_escaped = false;
    for (place, one) in body.char_indices() {
        match one {
            '"' if !is_escaped => return Some((Some(Piece::Literal(&body[..place])), place + 2)),
            '\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    Some((Some(Piece::Literal(body)), rest.len()))
}

/// Reads a character, which may be a quote. A lifetime is not one.
fn character(rest: &str) -> Special<'_> {
    let body = rest.strip_prefix('\'')?;
    let mut all = body.char_indices();
    let (_, first) = all.next()?;
    if first == '\\' {
        let end = body[2..].find('\'')? + 2;
        return Some((None, end + 2));
    }
    let (end, close) = all.next()?;
    (close == '\'').then_some((None, end + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_comments_and_literals_come_apart() {
        let text = "let a = \"x // \\\" y\"; // c \"d\"\nlet b: &'a str = r#\"e \"f\" g\"#;\nlet c = ['\"', '\\''];\n";
        let all = pieces(text);
        let of = |wanted: fn(&Piece<'_>) -> bool| -> Vec<(usize, Piece<'_>)> {
            all.iter().copied().filter(|(_, piece)| wanted(piece)).collect()
        };
        assert_eq!(
            of(|piece| matches!(piece, Piece::Literal(_))),
            [(1, Piece::Literal("x // \\\" y")), (2, Piece::Literal("e \"f\" g"))]
        );
        assert_eq!(
            of(|piece| matches!(piece, Piece::Comment(_))),
            [(1, Piece::Comment("// c \"d\""))]
        );
        let code: String = of(|piece| matches!(piece, Piece::Code(_)))
            .iter()
            .map(|(_, piece)| if let Piece::Code(text) = piece { *text } else { "" })
            .collect();
        assert!(code.contains("let b: &'a str = ") && code.contains("let c = ["), "{code}");
    }
}
