//! Refuses retired words, so that they do not come back: identifiers in the code of crates, and phrases in
//! texts. `docs/naming.md` has the words to use instead, and more words that are right in another sense and
//! are left to reviewers.

use super::{
    finding::{Finding, error},
    rust::{Piece, pieces},
    tree::Text,
};

/// Identifiers, as whole words, and what to write instead. A crate is listed where the word is right.
const IDENTIFIERS: &[Retired] = &[
    word("Memory", "ReadCache"),
    word("Shelf", "Collection, or the name of what it holds"),
    word("Lately", "KeyBuffer, or the name of what is recent"),
    word("Pen", "…Statements"),
    word("Unheard", "LeaseGuard"),
    word("Ticker", "Gcra"),
    word("Desk", "…Service"),
    word("EndpointDesk", "EndpointService"),
    word("SourceDesk", "SourceService"),
    word("FeedbackDesk", "FeedbackService"),
    word("HealthKeeper", "HealthService"),
    word("PolicyKeeper", "PolicyService"),
    word("Keeper", "…Service"),
    word("Post", "Transport").right_in("the HTTP method", &["api", "inbound"]),
    word("Letter", "OutgoingMessage"),
    word("Trouble", "TransportError"),
    word("Broke", "SmtpError"),
    word("Talk", "SmtpSession"),
    word("Brief", "EmailSummary"),
    word("Caught", "CapturedEmail"),
    word("Found", "a noun: Lookup, …Result"),
    word("Fault", "…Error, or InvalidField"),
    word("Asked", "a noun: Request…, …Answer"),
    word("Shown", "a noun, or how it is shown"),
    word("Seen", "a noun: Lookup, Received…"),
    word("Kept", "a noun: …Document"),
    word("Known", "a noun: …Cache"),
    word("Proved", "Verified…"),
    word("Denied", "…Error").right_in("a ruling on an address", &["egress"]),
    word("Tally", "Counters"),
    word("Once", "IdempotencyKey"),
    word("Skip", "ClaimExclusions"),
    word("Stand", "Readiness"),
    word("OpenedReplay", "OpenReplayOutcome"),
    word("set_most", "set_max"),
    word("Inside", "InternalSink"),
    word("Hidden", "Secret"),
    word("Written", "RawValue"),
    word("Wrong", "…Error"),
    word("Flaw", "AuditError"),
    word("Refusal", "…Error"),
    word("UrlRefused", "UrlError"),
    word("NoAnswer", "RequestError"),
    word("NoAddress", "ResolveError"),
    word("NotAnId", "IdParseError"),
    word("NotASpan", "DurationParseError"),
    word("NotAnEventType", "EventTypeParseError"),
    word("What", "a noun: Action"),
    word("most", "max_…").right_in("a field of the store's claim", &["app"]),
    word("least", "min_…"),
    word("odd", "invalid, or what it is"),
    word("anew", "a verb: reload, reseal"),
    word("so_many", "the name of what is counted"),
    word("ours", "a name that says whose, as `internal_failure`"),
    word("MOST", "MAX_…"),
    word("LEAST", "MIN_…"),
    word("LONGEST", "MAX_…_LENGTH"),
    word("SHORTEST", "MIN_…_LENGTH"),
    word("LARGEST", "MAX_…"),
    word("desk", "service, or the noun that it serves: sources, endpoints"),
    word("keeper", "service"),
    word("shelf", "cache, or the name of what it holds"),
    word("ticker", "rate_state"),
    word("flaw", "error"),
    word("fault", "error"),
    word("brief", "summary"),
    word("lately", "recent, or the name of what is recent"),
    word("proved", "verified"),
    word("OPENING", "…_PREFIX_BYTES"),
    word("Had", "UsedTime"),
    word("Behind", "Backlogs"),
    word("Said", "NodeBreakers, or a noun for what was said"),
    word("Given", "MaybeField, or a noun"),
    word("Wish", "ErasureTarget, or a noun"),
    word("Gathered", "PendingNotices, or a noun"),
    word("Unsent", "QueuedMessage, PendingResponse"),
    word("Thing", "DeclaredResource, or what it is"),
    word("CurrentThing", "CurrentResource"),
    word("keep_in_step", "apply"),
    word("seen_of_strangers", "activity_of_unknown_partners"),
    word("tells_single", "is_reported_alone"),
    word("Standing", "RetryContext, ResponseHistory, or a …Status"),
    word("Conclusion", "Assessment"),
    word("Noun", "ResourceKind"),
    word("Verb", "RequestMethod"),
    word("Bits", "PolicyInput"),
    word("Cut", "Preemption"),
    word("Rests", "ClaimBackoff"),
    word("Expect", "Precondition"),
    word("Published", "AcceptedEvent"),
    word("Trail", "RowScan"),
    word("Basket", "ClaimedBatch"),
    word("Act", "AuditedAction"),
    word("ActedOn", "AuditDetails"),
    word("Recorded", "AuditScope"),
    word("Missed", "MissedChanges"),
    word("Listed", "a noun: Listed…"),
    word("Evicted", "EvictedConnection"),
    word("Measured", "Measurement"),
    word("Migrated", "MigrationResult"),
    word("Accepting", "TenantTasks"),
    word("Sending", "AttemptMetadata"),
    word("Maker", "ParcelGenerator"),
    word("Manner", "SinkBehavior"),
    word("TimeForm", "TimestampFormat"),
    word("go_on", "advance, resume"),
    word("name_the_dead", "look_up_lost_nodes"),
    word("in_plain_words", "with_plain_reason"),
];

/// Endings of types, and what to call them instead.
const ENDINGS: &[(&str, &str)] =
    &[("Fault", "…Error"), ("Desk", "…Service"), ("Keeper", "…Service")];

/// Phrases in comments, texts and documents, and what to write instead. Case-insensitive, except for those
/// that begin with a capital.
const PHRASES: &[(&str, &str)] = &[
    ("so many", "name the number: `Maximum deliveries per window`"),
    ("in so long", "name the duration: `Window length`"),
    ("whoever", "name who: the caller, the operator, anyone who"),
    ("anew", "again, or a verb: reload, re-encrypt, start over"),
    ("in the air", "in flight"),
    ("Left out:", "Default:"),
    ("For programs", "Print JSON"),
    ("kept for its being", "Held for its `Drop`"),
    ("came and went", "was removed concurrently"),
    ("came lately", "recent"),
    ("look after", "manage"),
    ("so often", "how often"),
    ("is begun again", "restarts"),
    ("nobody is there", "name what is missing"),
    ("by whom", "name who"),
    ("there is no such thing", "Not found"),
    ("nothing where", "`None` if"),
    ("whatever becomes of", "even if … fails"),
    ("is told", "is reported, is notified, sees"),
    ("are told", "are reported, are notified, see"),
    ("to be told", "to be reported"),
];

/// Documents that quote retired words: decisions, the changelog, and the naming rules.
const QUOTING: &[&str] = &["CHANGELOG.md", "docs/decisions/", "docs/naming.md"];

struct Retired {
    word: &'static str,
    instead: &'static str,
    /// Crates where the word is right.
    right_in: &'static [&'static str],
}

const fn word(word: &'static str, instead: &'static str) -> Retired {
    Retired { word, instead, right_in: &[] }
}

impl Retired {
    /// `_why` says what the word means there.
    const fn right_in(mut self, _why: &'static str, crates: &'static [&'static str]) -> Self {
        self.right_in = crates;
        self
    }
}

pub fn check(sources: &[Text], documents: &[Text]) -> Vec<Finding> {
    let in_code = sources.iter().flat_map(of_source);
    let quotes = |document: &&Text| !QUOTING.iter().any(|path| document.path.starts_with(path));
    let in_documents =
        documents.iter().filter(quotes).flat_map(|document| phrases(document, 1, &document.text));
    in_code.chain(in_documents).collect()
}

/// Checks a source. Tests may have the retired names, so that they can name what they break, but not the
/// phrases.
fn of_source(source: &Text) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !source.is_test() {
        // Omitted lines stay empty, so that the others keep their numbers.
        let mut code = vec![""; source.text.lines().count()];
        source.code().for_each(|(number, line)| code[number - 1] = line);
        for (line, piece) in pieces(&code.join("\n")) {
            if let Piece::Code(text) = piece {
                findings.extend(identifiers(source, line, text));
            }
        }
    }
    for (line, piece) in pieces(&source.text) {
        match piece {
            // The names of tests are sentences.
            Piece::Code(text) => findings.extend(phrases(source, line, &text.replace('_', " "))),
            Piece::Comment(text) | Piece::Literal(text) => {
                findings.extend(phrases(source, line, text));
            }
        }
    }
    findings
}

fn identifiers(source: &Text, first: usize, code: &str) -> Vec<Finding> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut findings = Vec::new();
    for (index, line) in code.lines().enumerate() {
        let names = line.split(|c: char| !is_part(c)).filter(|name| !name.is_empty());
        for name in names {
            let listed = IDENTIFIERS.iter().find(|retired| retired.word == name);
            let listed = listed.filter(|retired| {
                source.crate_name().is_none_or(|own| !retired.right_in.contains(&own))
            });
            let ending = ENDINGS.iter().find(|(ending, _)| {
                name.ends_with(ending)
                    && name.len() > ending.len()
                    && name.starts_with(char::is_uppercase)
            });
            let instead =
                listed.map(|retired| retired.instead).or(ending.map(|(_, instead)| *instead));
            if let Some(instead) = instead {
                let what =
                    format!("{}:{} has the retired name `{name}`", source.path, first + index);
                findings.push(error("retired", what, format!("write {instead} (docs/naming.md)")));
            }
        }
    }
    findings
}

fn phrases(source: &Text, first: usize, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let lower = line.to_lowercase();
        let is_in = |phrase: &str| {
            let has_capital = phrase.starts_with(char::is_uppercase);
            has_words(if has_capital { line } else { &lower }, phrase)
        };
        for (phrase, instead) in PHRASES.iter().filter(|(phrase, _)| is_in(phrase)) {
            let what = format!("{}:{} has the phrase `{phrase}`", source.path, first + index);
            findings.push(error("retired", what, format!("write {instead}")));
        }
    }
    findings
}

/// Whether the phrase occurs between word boundaries.
fn has_words(line: &str, phrase: &str) -> bool {
    line.match_indices(phrase).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + phrase.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        check(&[Text::new(path, text)], &[]).len()
    }

    #[test]
    fn every_retired_name_is_refused_as_a_whole_word() {
        for retired in IDENTIFIERS {
            let code = format!("let _ = {};\n", retired.word);
            assert!(found("crates/outbound/src/a.rs", &code) > 0, "{}", retired.word);
            for name in retired.right_in {
                assert_eq!(found(&format!("crates/{name}/src/a.rs"), &code), 0, "{}", retired.word);
            }
            let longer = format!("let _ = {}x;\n", retired.word);
            assert_eq!(found("crates/outbound/src/a.rs", &longer), 0, "{longer}");
        }
        for (ending, _) in ENDINGS {
            assert_eq!(found("crates/outbound/src/a.rs", &format!("struct Some{ending};\n")), 1);
        }
    }

    #[test]
    fn every_phrase_is_refused_in_texts_comments_and_documents() {
        for (phrase, _) in PHRASES {
            assert_eq!(
                found("crates/app/src/a.rs", &format!("let a = \"{phrase}\";\n")),
                1,
                "{phrase}"
            );
            assert_eq!(
                found("crates/app/src/a.rs", &format!("/// A, {phrase} b.\n")),
                1,
                "{phrase}"
            );
            let document = Text::new("docs/a.md", &format!("A {phrase} b\n"));
            assert_eq!(check(&[], &[document]).len(), 1, "{phrase}");
            let quoted = Text::new("docs/naming.md", &format!("A {phrase} b\n"));
            assert_eq!(check(&[], &[quoted]).len(), 0, "{phrase}");
        }
    }

    #[test]
    fn a_name_is_found_in_its_line() {
        let source =
            Text::new("crates/app/src/a.rs", "#[cfg(test)]\nmod tests {\n}\nstruct Kept;\n");
        assert!(check(&[source], &[])[0].what.starts_with("crates/app/src/a.rs:4 "));
    }

    #[test]
    fn phrases_are_refused_in_tests_and_in_their_names() {
        for text in [
            "// It begins anew.\n",
            "fn one_that_begins_anew() {}\n",
            "assert!(a, \"whoever it is\");\n",
        ] {
            assert_eq!(found("crates/app/tests/a.rs", text), 1, "{text}");
            assert_eq!(found("crates/app/src/a.rs", &format!("#[cfg(test)]\n{text}")), 1, "{text}");
        }
    }

    #[test]
    fn prose_is_no_name_and_tests_may_have_names() {
        assert_eq!(found("crates/app/src/a.rs", "// Found in most places.\n"), 0);
        assert_eq!(found("crates/app/tests/a.rs", "struct Kept;\n"), 0);
        assert_eq!(found("crates/app/src/a.rs", "#[cfg(test)]\nstruct Kept;\n"), 0);
        assert_eq!(found("crates/app/src/a.rs", "// A new one is left out: Janeway.\n"), 0);
    }
}
