//! Checks that comments, names of tests and documents cite only what a reader can open. Codes of catalogs,
//! such as the letters and number of an attack, are refused: words must say what is tested.

use super::{
    finding::{Finding, error},
    rust::{Piece, pieces},
    tree::Text,
};

const HINT: &str = "say in words what it is about, or link to a document of this repository";
/// Maximum letters of a code: `I`, `SG`.
const MAX_LETTERS: usize = 2;
/// Maximum digits of its number: `3`, `15`.
const MAX_DIGITS: usize = 2;

pub fn check(sources: &[Text], documents: &[Text]) -> Vec<Finding> {
    let in_sources = sources.iter().flat_map(of_source);
    let in_documents = documents.iter().flat_map(|document| of_text(document, 1, &document.text));
    in_sources.chain(in_documents).collect()
}

fn of_source(source: &Text) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, piece) in pieces(&source.text) {
        match piece {
            Piece::Comment(text) => findings.extend(of_text(source, line, text)),
            Piece::Code(text) => findings.extend(of_code(source, line, text)),
            Piece::Literal(_) => {}
        }
    }
    findings
}

fn of_text(source: &Text, first: usize, text: &str) -> Vec<Finding> {
    let lines = text.lines().enumerate();
    let cited = lines.flat_map(|(index, line)| {
        let codes =
            line.split(|c: char| !c.is_alphanumeric() && c != '-').filter(|word| is_code(word));
        let is_spec = |word: &&str| *word == "SPEC";
        let specs = line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(is_spec);
        codes.chain(specs).chain(seed(line)).map(move |word| (index, word))
    });
    let findings = cited.map(|(index, word)| {
        let what =
            format!("{}:{} cites `{word}`, which nobody can open", source.path, first + index);
        error("references", what, HINT)
    });
    findings.collect()
}

/// Returns the functions whose names begin with a code, as in `fn sg_03_many_signatures`.
fn of_code(source: &Text, first: usize, code: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in code.lines().enumerate() {
        for name in line.split("fn ").skip(1) {
            let mut parts = name.split('_');
            let (letters, number) =
                (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            if is_code(&format!("{}-{number}", letters.to_uppercase()))
                && number.len() == MAX_DIGITS
            {
                let name = name.split('(').next().unwrap_or_default();
                let what =
                    format!("{}:{} has a code in the name `{name}`", source.path, first + index);
                findings.push(error("references", what, HINT));
            }
        }
    }
    findings
}

/// Whether the word looks like `SG-03` or `I-6`. Header names, `UTF-8` and `SHA-1` are longer.
fn is_code(word: &str) -> bool {
    let Some((letters, digits)) = word.split_once('-') else { return false };
    let is_letters = (1..=MAX_LETTERS).contains(&letters.len())
        && letters.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_number = (1..=MAX_DIGITS).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_letters && is_number
}

/// Finds a seed, such as `seed 004`.
fn seed(line: &str) -> Option<&str> {
    let lower = line.to_ascii_lowercase();
    let (start, _) = lower.match_indices("seed 0").find(|(start, found)| {
        let rest = &lower[start + found.len()..];
        rest.bytes().take_while(u8::is_ascii_digit).count() == 2
    })?;
    line.get(start..start + "seed 000".len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> usize {
        check(&[Text::new("crates/a/tests/b.rs", text)], &[]).len()
    }

    #[test]
    fn codes_of_catalogs_are_refused() {
        for text in [
            "/// SG-03: many signatures.\n",
            "//! None of it. (faults.md 10, RS-02)\n",
            "// I-6\n",
            "// E-11 and more\n",
            "/// The flow of seed 004's diagram.\n",
            "/// Seed 000: each.\n",
            "// as SPEC has it\n",
            "fn sg_03_many_signatures() {}\n",
            "    async fn hd_05_sent_once() {}\n",
        ] {
            assert_eq!(found(text), 1, "{text}");
            let document = Text::new("docs/a.md", text.trim_start_matches(['/', '!', ' ']));
            let in_document = check(&[], &[document]).len();
            assert_eq!(in_document, usize::from(!text.contains("fn ")), "{text}");
        }
    }

    #[test]
    fn names_of_standards_headers_and_values_are_none() {
        for text in [
            "// UTF-8, SHA-1, SHA-256, ISO-8859-1, X-1A, RFC-7 and HTTP-01x\n",
            "// x-1, A-100, AB-123, ABC-12 and GANCHO_SIM_SEED=17\n",
            "// seed 17, a seed of 004 and SPECIAL\n",
            "let a = [\"X-1\", \"SG-03\"];\n",
            "fn of_120_bytes(a: u8) {}\nfn by_a_b() {}\n",
        ] {
            assert_eq!(found(text), 0, "{text}");
        }
    }
}
