//! Every `gancho …` command line in a document, and in a hint of the code, is one that this program takes.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use clap::{CommandFactory, error::ErrorKind};

use super::Cli;

/// A command line, and where it stands.
#[derive(Debug)]
struct Found {
    at: String,
    words: Vec<String>,
    /// Mentioned in a sentence, where arguments may be left out or stand for something.
    is_mention: bool,
}

#[test]
fn every_command_line_of_the_documents_parses() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    for path in files(&root, "md") {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        found.extend(in_document(&name, &text));
    }
    assert!(found.len() > 300, "{} command lines", found.len());
    let nouns: BTreeSet<_> = found.iter().filter_map(|found| found.words.get(1)).collect();
    assert!(nouns.len() > 30, "{nouns:?}");
    let wrong: Vec<_> = found.iter().filter_map(refusal).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_command_that_a_hint_names_parses() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for path in files(&root, "rs") {
        // Tests make mistakes on purpose.
        if path.components().any(|part| part.as_os_str() == "tests") || path.ends_with("tests.rs") {
            continue;
        }
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        let text = fs::read_to_string(&path).unwrap();
        for (number, line) in text.lines().enumerate() {
            found.extend(mentions(&format!("{name}:{}", number + 1), line));
        }
    }
    assert!(found.len() > 50, "{} command lines", found.len());
    let wrong: Vec<_> = found.iter().filter_map(refusal).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    const LEFT_OUT: [&str; 4] = ["target", "node_modules", "CHANGELOG.md", ".git"];
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if LEFT_OUT.iter().any(|name| path.ends_with(name)) {
            continue;
        }
        if path.is_dir() {
            all.extend(files(&path, extension));
        } else if path.extension().is_some_and(|one| one == extension) {
            all.push(path);
        }
    }
    all
}

/// Why the program refuses it.
fn refusal(found: &Found) -> Option<String> {
    // What a log says, and a name that the code fills in.
    let second = found.words.get(1).map_or("", String::as_str);
    if ["failed", "is"].contains(&second) || second.starts_with('{') {
        return None;
    }
    let error = Cli::command().try_get_matches_from(&found.words).err()?;
    match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => return None,
        ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand
        | ErrorKind::InvalidValue
        | ErrorKind::ValueValidation
            if found.is_mention || found.words.iter().any(|word| word.contains('$')) =>
        {
            return None;
        }
        _ => {}
    }
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default().to_owned();
    Some(format!("{}: {:?}\n    {first}", found.at, found.words.join(" ")))
}

fn in_document(name: &str, text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    let mut block: Option<(String, usize)> = None;
    let mut is_shell = false;
    for (number, line) in text.lines().enumerate() {
        let number = number + 1;
        match (&mut block, line.trim_start().starts_with("```")) {
            (None, true) => {
                let language = line.trim_start().trim_start_matches('`');
                is_shell = !["python", "ts", "js"].contains(&language);
                block = Some((String::new(), number + 1));
            }
            (None, false) => found.extend(mentions(&format!("{name}:{number}"), line)),
            (Some((block, _)), false) => {
                block.push_str(line);
                block.push('\n');
            }
            (Some((text, first)), true) => {
                if is_shell {
                    found.extend(in_block(name, *first, text));
                }
                block = None;
            }
        }
    }
    found
}

/// The commands of a block of shell, or of what a terminal shows.
fn in_block(name: &str, first: usize, block: &str) -> Vec<Found> {
    let mut found = Vec::new();
    for (place, _) in block.match_indices("gancho") {
        let before = &block[..place];
        let line = before.rsplit('\n').next().unwrap_or_default();
        if is_command_position(line) && block[place..].starts_with("gancho ") {
            let number = first + before.matches('\n').count();
            let mut words = words(&block[place..]);
            let all = words.len();
            // `gancho serve [OPTIONS]` in the reference.
            words.retain(|word| !word.starts_with('['));
            let is_mention = words.len() < all;
            found.push(Found { at: format!("{name}:{number}"), words, is_mention });
        }
    }
    found
}

/// What may stand before a command.
const BEFORE: [&str; 12] =
    ["$", "sudo", "exec", "do", "then", "else", "until", "while", "if", "!", "nohup", "time"];

/// Whether a command begins after this part of a line.
fn is_command_position(line: &str) -> bool {
    let line = line.rsplit(['|', ';', '&', '(']).next().unwrap_or_default();
    // The folder of the program, or what a service file starts.
    let line = match line.rsplit_once(char::is_whitespace).unwrap_or(("", line)) {
        // The value of a variable.
        (_, word) if word.split_once('=').is_some_and(is_variable) => return false,
        (before, word) if word.ends_with(['/', '=']) => before,
        _ if line.ends_with(char::is_whitespace) || line.is_empty() => line,
        _ => return false,
    };
    line.split_whitespace()
        .all(|word| BEFORE.contains(&word) || word.split_once('=').is_some_and(is_variable))
}

fn is_variable((name, _): (&str, &str)) -> bool {
    name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_' || byte.is_ascii_digit())
}

/// The words of a command of a shell, up to what ends it. What a shell would fill in stays as it is written.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut skips_next = false;
    let mut rest = text.chars().peekable();
    let mut end = |word: &mut Option<String>, skips_next: &mut bool| {
        if let Some(word) = word.take()
            && !std::mem::take(skips_next)
        {
            words.push(word);
        }
    };
    while let Some(c) = rest.next() {
        match c {
            '\'' | '"' => {
                let quoted: String = rest.by_ref().take_while(|next| *next != c).collect();
                word.get_or_insert_default().push_str(&quoted);
            }
            '$' if rest.peek() == Some(&'(') => {
                let mut depth = 0;
                word.get_or_insert_default().push('$');
                for inner in rest.by_ref() {
                    depth += i32::from(inner == '(') - i32::from(inner == ')');
                    if depth == 0 {
                        break;
                    }
                }
            }
            '\\' => {
                if let Some(next) = rest.next().filter(|next| *next != '\n') {
                    word.get_or_insert_default().push(next);
                }
            }
            '>' | '<' => {
                // `2>` is a redirection, too.
                word.take_if(|word| *word == "2");
                end(&mut word, &mut skips_next);
                skips_next = true;
            }
            '#' if word.is_none() => break,
            '\n' | '|' | ';' | '&' | ')' | '`' => break,
            ' ' | '\t' => end(&mut word, &mut skips_next),
            other => word.get_or_insert_default().push(other),
        }
    }
    end(&mut word, &mut skips_next);
    words
}

/// The commands that a sentence mentions in backticks.
fn mentions(at: &str, line: &str) -> Vec<Found> {
    let inner = line.split('`').skip(1).step_by(2).filter(|code| code.starts_with("gancho "));
    let found = inner.map(|code| {
        let stands_for_more = |word: &String| ["…", "...", "-…"].contains(&word.as_str());
        let words = words(code).into_iter().filter(|word| !stands_for_more(word)).collect();
        Found { at: at.to_owned(), words, is_mention: true }
    });
    found.collect()
}

#[test]
fn what_a_shell_would_run_is_found() {
    let document = "Use `gancho dlq list …` or `gancho` alone.\n\n```sh\n\
                    A=1 sudo gancho a 'b c' > out 2> err\necho $(/bin/gancho d \"e\" | jq .) # gancho no\n\
                    ExecStart=/usr/bin/gancho serve\n```\n";
    let lines: Vec<_> =
        in_document("x.md", document).iter().map(|found| found.words.join("·")).collect();
    assert_eq!(lines, ["gancho·dlq·list", "gancho·a·b c", "gancho·d·e", "gancho·serve"]);
}
