//! Reads the blocks of a document: commands, and the output that is shown for them.

/// A block of shell commands.
pub struct Step {
    /// The number of its first line.
    pub line: usize,
    pub commands: String,
    /// The block of text that follows it directly.
    pub answer: Option<String>,
}

pub fn steps(document: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside: Option<&str> = None;
    // Whether there are only blank lines between the commands and here.
    let mut follows = false;
    for (number, line) in document.lines().enumerate() {
        match (inside, line.strip_prefix("```")) {
            (None, Some(language)) => {
                inside = Some(if language == "text" && !follows { "other" } else { language });
                match language {
                    "sh" => {
                        steps.push(Step {
                            line: number + 2,
                            commands: String::new(),
                            answer: None,
                        });
                    }
                    "text" if follows => {
                        steps.last_mut().unwrap().answer = Some(String::new());
                    }
                    _ => {}
                }
            }
            (None, None) => follows &= line.is_empty(),
            (Some(language), Some(_)) => {
                follows = language == "sh";
                inside = None;
            }
            (Some(language), None) => {
                let into = match language {
                    "sh" => steps.last_mut().map(|step| &mut step.commands),
                    "text" => steps.last_mut().and_then(|step| step.answer.as_mut()),
                    _ => None,
                };
                if let Some(into) = into {
                    into.push_str(line);
                    into.push('\n');
                }
            }
        }
    }
    steps
}

/// A fenced block of any language.
pub struct Block {
    /// The number of its fence.
    pub line: usize,
    pub language: String,
    pub text: String,
}

/// Returns all blocks of a document, without the indentation of those in lists.
pub fn blocks(document: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut indent = None;
    for (number, line) in document.lines().enumerate() {
        let trimmed = line.trim_start();
        match (indent, trimmed.strip_prefix("```")) {
            (None, Some(language)) => {
                indent = Some(line.len() - trimmed.len());
                let language = language.to_owned();
                blocks.push(Block { line: number + 1, language, text: String::new() });
            }
            (Some(_), Some(_)) => indent = None,
            (Some(indent), None) => {
                let text = &mut blocks.last_mut().unwrap().text;
                text.push_str(line.get(indent..).unwrap_or_default());
                text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(indent.is_none(), "the last block is not closed");
    blocks
}

/// Returns the only block of a language.
pub fn block(document: &str, language: &str) -> String {
    let mut found: Vec<_> =
        blocks(document).into_iter().filter(|block| block.language == language).collect();
    assert_eq!(found.len(), 1, "blocks of {language}");
    found.remove(0).text
}

/// Returns the document with these outputs in place of those that differ.
pub fn with_answers(document: &str, steps: &[Step], answers: &[String]) -> String {
    let mut lines: Vec<String> = document.lines().map(ToOwned::to_owned).collect();
    for (step, answer) in steps.iter().zip(answers).rev() {
        if is_shown(step.answer.as_deref().unwrap_or_default(), answer) {
            continue;
        }
        let end = step.line + step.commands.lines().count();
        let old = step.answer.as_ref().map_or(0, |old| old.lines().count() + 3);
        let answer = shown_as_is(answer);
        let new = if answer.is_empty() { String::new() } else { format!("\n```text\n{answer}```") };
        lines.splice(end..end + old, new.lines().map(ToOwned::to_owned));
    }
    lines.join("\n") + "\n"
}

pub fn shown_as_is(answer: &str) -> String {
    answer.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// Whether the output matches the document. There, `…` matches anything: alone any lines, in a line a part of
/// it. Ids, times, durations and secrets may differ.
pub fn is_shown(shown: &str, answer: &str) -> bool {
    let (shown, answer): (Vec<_>, Vec<_>) =
        (shown.lines().map(fixed).collect(), answer.lines().map(fixed).collect());
    lines_match(&shown, &answer)
}

fn lines_match(shown: &[String], answer: &[String]) -> bool {
    match shown.split_first() {
        None => answer.is_empty(),
        Some((first, rest)) if first == "…" => {
            (0..=answer.len()).any(|skipped| lines_match(rest, &answer[skipped..]))
        }
        Some((first, rest)) => answer
            .split_first()
            .is_some_and(|(line, later)| line_matches(first, line) && lines_match(rest, later)),
    }
}

fn line_matches(shown: &str, line: &str) -> bool {
    let mut parts = shown.split('…');
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<_> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

/// Returns a line without what differs from run to run, and without the spaces that fill columns.
fn fixed(line: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_+/=-.:".contains(c);
    let mut words = Vec::new();
    for column in line.split_whitespace() {
        let mut word = String::new();
        let mut rest = column;
        while let Some(start) = rest.find(is_word) {
            word += &rest[..start];
            rest = &rest[start..];
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            word += &fixed_word(&rest[..end]);
            rest = &rest[end..];
        }
        words.push(word + rest);
    }
    // `3 ms` is written like `3ms`.
    for place in 1..words.len() {
        if ["ms", "s", "ms,", "s,"].contains(&&*words[place]) && is_number(&words[place - 1]) {
            "0".clone_into(&mut words[place - 1]);
        }
    }
    words.join(" ")
}

fn fixed_word(word: &str) -> String {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let (body, end) = match word.strip_suffix(['.', ':']) {
        Some(body) => (body, &word[body.len()..]),
        None => (word, ""),
    };
    if let Some((name, value)) = body.split_once('=')
        && !value.trim_matches('=').is_empty()
    {
        return format!("{}={}{end}", fixed_word(name), fixed_word(value));
    }
    if body.contains("127.0.0.1") {
        return word.to_owned();
    }
    let unit = body.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if let Some((name, id)) = body.split_once('_')
        && id.len() == 26
    {
        return format!("{name}_ID{end}");
    }
    // A date, a time, or a time in seconds or milliseconds.
    if digits >= 6 && body.bytes().all(|c| c.is_ascii_digit() || b"-:.TZ".contains(&c)) {
        return format!("TIME{end}");
    }
    if !unit.is_empty() && unit.len() < body.len() && ["ms", "s", "us"].contains(&unit) {
        return format!("0s{end}");
    }
    if body.len() >= 16 && digits > 0 {
        return format!("SECRET{end}");
    }
    word.to_owned()
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|c| c.is_ascii_digit() || c == b'.')
}

#[test]
fn an_answer_is_compared_without_what_differs() {
    let shown = "evt_01M7K0YFM0001V2H8BTCARWDZW\nto 2 endpoints, 3 ms\n…\nage 0s  2026-11-16 20:33:23\nkey …";
    let same = "evt_01M7K0YFM0001V2H8BTCARWDZX\nto 2 endpoints, 14 ms\na\nb\nage 12s 2027-01-01 00:00:00\nkey abc";
    assert!(is_shown(shown, same));
    assert!(!is_shown(shown, &same.replace("to 2", "to 3")));
    assert!(!is_shown(shown, &same.replace("age", "sage")));
    assert!(!is_shown("", "more"));
    assert!(is_shown("…", "") && is_shown("a … b", "a x b") && !is_shown("a … b", "a x c"));
    assert!(is_shown("at 2026-11-16T20:33:23.000Z.", "at 2026-12-16T20:33:24.123Z."));
}

#[test]
fn steps_have_the_answers_that_follow_them() {
    let document = "```sh\na\n```\n\n```text\nb\n```\n\n```sh\nc\n```\nwords\n```text\nd\n```\n";
    let found = steps(document);
    let pairs: Vec<_> =
        found.iter().map(|step| (&*step.commands, step.answer.as_deref())).collect();
    assert_eq!(pairs, [("a\n", Some("b\n")), ("c\n", None)]);
    let written = with_answers(document, &found, &["x\n".into(), "y\n".into()]);
    assert_eq!(
        written,
        "```sh\na\n```\n\n```text\nx\n```\n\n```sh\nc\n```\n\n```text\ny\n```\nwords\n```text\nd\n```\n"
    );
    assert_eq!(with_answers(document, &found, &["b\n".into(), String::new()]), document);
}
