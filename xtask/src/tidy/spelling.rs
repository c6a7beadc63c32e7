//! Checks for American spelling in names, comments, texts and documents.

use super::{
    finding::{Finding, error},
    tree::Text,
};

/// Parts of British words, with the American ones. `cancelled` is not listed, because tokio's tokens have a
/// function of that name.
const BRITISH: &[(&str, &str)] = &[
    ("analys", "analyz"),
    ("authoris", "authoriz"),
    ("behaviour", "behavior"),
    ("catalogue", "catalog"),
    ("centre", "center"),
    ("colour", "color"),
    ("customis", "customiz"),
    ("defence", "defense"),
    ("favour", "favor"),
    ("honour", "honor"),
    ("initialis", "initializ"),
    ("labelled", "labeled"),
    ("licence", "license"),
    ("maximis", "maximiz"),
    ("minimis", "minimiz"),
    ("modelled", "modeled"),
    ("neighbour", "neighbor"),
    ("normalis", "normaliz"),
    ("optimis", "optimiz"),
    ("organis", "organiz"),
    ("prioritis", "prioritiz"),
    ("recognis", "recogniz"),
    ("serialis", "serializ"),
    ("summaris", "summariz"),
    ("synchronis", "synchroniz"),
    ("utilis", "utiliz"),
];

/// Beginnings of American words that contain such a part.
const AMERICAN: &[&str] = &["patternanalysis", "analysis", "analyst", "optimist", "organism"];

pub fn check(sources: &[Text], documents: &[Text]) -> Vec<Finding> {
    sources.iter().chain(documents).flat_map(of_text).collect()
}

fn of_text(source: &Text) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        let lower = line.to_ascii_lowercase();
        let words = lower.split(|c: char| !c.is_ascii_alphabetic());
        for word in words.filter(|word| !is_american(word)) {
            let Some((british, american)) =
                BRITISH.iter().find(|(british, _)| word.contains(british))
            else {
                continue;
            };
            let what = format!("{}:{} has the British `{word}`", source.path, index + 1);
            findings.push(error(
                "spelling",
                what,
                format!("write `{}`", word.replace(british, american)),
            ));
        }
    }
    findings
}

fn is_american(word: &str) -> bool {
    AMERICAN.iter().any(|american| word.starts_with(american))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let source = Text::new("crates/a/src/b.rs", text);
        check(&[source], &[]).into_iter().map(|finding| finding.hint).collect()
    }

    #[test]
    fn british_words_are_refused_wherever_they_are() {
        for (british, american) in BRITISH {
            for text in [format!("// It is {british}ed.\n"), format!("fn un_{british}() {{}}\n")] {
                assert!(found(&text)[0].contains(american), "{text}");
            }
            let document = Text::new("CHANGELOG.md", &format!("A {british}ed.\n"));
            assert_eq!(check(&[], &[document]).len(), 1, "{british}");
        }
        assert_eq!(found("let BehaviourOf = 1;\n"), ["write `behaviorof`"]);
    }

    #[test]
    fn american_words_are_not() {
        assert!(
            found("// Analysis by optimistic, organized neighbors: a license to cancel.\n")
                .is_empty()
        );
        assert!(found("token.cancelled().await; // or \"subscription.cancelled\"\n").is_empty());
    }
}
