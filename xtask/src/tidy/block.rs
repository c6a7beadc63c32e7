//! A block of rules in a document, marked by its name:
//!
//! ````text
//! ```arrows
//! # who    knows whom
//! wire  -> domain app   -> everything
//! ```
//! ````

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub name: String,
    /// `=>` instead of `->`.
    pub is_strong: bool,
    pub names: Vec<String>,
}

impl Row {
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    pub fn is_everything(&self) -> bool {
        self.has("everything")
    }
}

/// Reads the rows. Empty if the document has no such block; an error if a line of the block is not a rule.
pub fn rows(document: &str, name: &str) -> Result<Vec<Row>, String> {
    let fence = format!("```{name}");
    let mut lines = document.lines().skip_while(|line| line.trim_end() != fence);
    if lines.next().is_none() {
        return Err(format!("the document has no block `{name}`"));
    }
    lines
        .take_while(|line| !line.starts_with("```"))
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .filter(|line| !line.is_empty())
        .map(row)
        .collect()
}

fn row(line: &str) -> Result<Row, String> {
    let split = |arrow| line.split_once(arrow).map(|(name, names)| (name, names, arrow == "=>"));
    let (name, names, is_strong) = split("->")
        .or_else(|| split("=>"))
        .ok_or_else(|| format!("`{line}` is no rule: write `name -> names`"))?;
    let names = names.split_whitespace().filter(|name| *name != "nothing");
    Ok(Row { name: name.trim().to_owned(), is_strong, names: names.map(str::to_owned).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_block_of_that_name() {
        let document = "text\n```other\na -> b\n```\n```arrows\n# all of them\ndomain -> nothing\nwire => domain store # why\n```\nx -> y\n";
        let rows = rows(document, "arrows").unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].name.as_str(), rows[0].names.len()), ("domain", 0));
        assert!(rows[1].is_strong && rows[1].has("store") && !rows[1].is_everything());
    }

    #[test]
    fn says_what_it_cannot_read() {
        assert!(rows("no block", "arrows").unwrap_err().contains("no block `arrows`"));
        let error = rows("```arrows\nwire domain\n```\n", "arrows").unwrap_err();
        assert!(error.contains("`wire domain` is no rule"), "{error}");
    }
}
