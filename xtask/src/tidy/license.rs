//! Whether the allowed licenses satisfy a license expression, such as `(MIT OR Apache-2.0) AND Unicode-3.0`.

pub fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    // Old manifests write `MIT/Apache-2.0`.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Reader { words: &words, allowed };
    let verdict = reader.either();
    // An expression that cannot be read to its end is not allowed.
    verdict == Some(true) && reader.words.is_empty()
}

struct Reader<'a> {
    words: &'a [&'a str],
    allowed: &'a [String],
}

impl Reader<'_> {
    fn take(&mut self, word: &str) -> bool {
        let is_next = self.words.first() == Some(&word);
        if is_next {
            self.words = &self.words[1..];
        }
        is_next
    }

    fn either(&mut self) -> Option<bool> {
        let mut verdict = self.both()?;
        while self.take("OR") {
            verdict |= self.both()?;
        }
        Some(verdict)
    }

    fn both(&mut self) -> Option<bool> {
        let mut verdict = self.one()?;
        while self.take("AND") {
            verdict &= self.one()?;
        }
        Some(verdict)
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let verdict = self.either()?;
            return self.take(")").then_some(verdict);
        }
        let (name, rest) = self.words.split_first()?;
        self.words = rest;
        let mut license = (*name).to_owned();
        if self.take("WITH") {
            let (exception, rest) = self.words.split_first()?;
            self.words = rest;
            license = format!("{license} WITH {exception}");
        }
        Some(self.allowed.contains(&license))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_expressions() {
        let allowed = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "ISC"];
        let allowed = allowed.map(str::to_owned);
        for (expression, expected) in [
            ("MIT", true),
            ("GPL-3.0", false),
            ("GPL-3.0 OR MIT", true),
            ("GPL-3.0 AND MIT", false),
            ("GPL-3.0/MIT", true),
            ("(GPL-3.0 OR MIT) AND ISC", true),
            ("(GPL-3.0 OR MIT) AND MPL-2.0", false),
            ("MIT OR GPL-3.0 AND GPL-2.0", true),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("MIT WITH LLVM-exception", false),
            ("ISC AND (Apache-2.0 OR ISC) AND (MIT OR ISC)", true),
            ("(MIT", false),
            ("MIT MIT", false),
            ("MIT OR", false),
            ("", false),
        ] {
            assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
        }
    }
}
