//! Refuses words that must not occur in the code.

use super::{
    finding::{Finding, error},
    tree::Text,
};

struct Word {
    text: &'static str,
    hint: &'static str,
    /// Whether tests may use it.
    tests_may: bool,
    /// Files that may use it. A comment in each of them says why.
    except: &'static [&'static str],
}

const WORDS: [Word; 5] = [
    Word {
        text: "tokio::spawn(",
        hint: "start it through a task tracker or bind its life to its owner's, so that stopping \
               waits for it; then list the file in xtask/src/tidy/words.rs",
        tests_may: true,
        except: &[
            // Their tasks end with their owner.
            "crates/app/src/remote/connection.rs",
            "crates/store-postgres/src/committer.rs",
            "crates/store-postgres/src/listen.rs",
            "crates/store-postgres/src/replica.rs",
        ],
    },
    never("#[ignore", "a test that does not run is no test: repair it or remove it"),
    never("todo!(", "write it, or leave it out"),
    never("unimplemented!(", "write it, or leave it out"),
    never("FIXME", "repair it, or say as a fact what is so"),
];

const fn never(text: &'static str, hint: &'static str) -> Word {
    Word { text, hint, tests_may: false, except: &[] }
}

pub fn check(sources: &[Text]) -> Vec<Finding> {
    let pairs = sources.iter().flat_map(|source| WORDS.iter().map(move |word| (source, word)));
    pairs.flat_map(|(source, word)| of_source(source, word)).collect()
}

fn of_source(source: &Text, word: &Word) -> Vec<Finding> {
    if word.except.contains(&source.path.as_str()) || word.tests_may && source.is_test() {
        return Vec::new();
    }
    let all = source.text.lines().enumerate().map(|(index, line)| (index + 1, line));
    let lines: Vec<_> = if word.tests_may { source.code().collect() } else { all.collect() };
    let hits = lines.iter().filter(|(_, line)| line.contains(word.text));
    hits.map(|(line, _)| {
        let what = format!("{}:{line} has `{}`", source.path, word.text);
        error("words", what, word.hint)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        check(&[Text::new(path, text)]).len()
    }

    #[test]
    fn tasks_that_nobody_waits_for() {
        let text = "fn go() {\n    tokio::spawn(work());\n}\n";
        assert_eq!(found("crates/engine/src/carry.rs", text), 1);
        assert_eq!(found("crates/engine/tests/carry.rs", text), 0);
        assert_eq!(found("crates/store-postgres/src/listen.rs", text), 0, "it is listed");
        assert_eq!(found("crates/engine/src/carry.rs", &format!("#[cfg(test)]\n{text}")), 0);
    }

    #[test]
    fn what_not_even_tests_may_have() {
        for word in ["#[ignore]", "#[ignore = \"slow\"]", "todo!()", "unimplemented!()", "// FIXME"]
        {
            assert_eq!(found("crates/engine/src/carry.rs", word), 1, "{word}");
            assert_eq!(found("crates/engine/tests/carry.rs", word), 1, "{word}");
        }
        assert_eq!(found("crates/engine/src/carry.rs", "// what is ignored"), 0);
    }
}
