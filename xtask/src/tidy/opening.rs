//! Checks that every crate begins with its purpose.

use super::{
    cargo::Member,
    finding::{Finding, error},
    tree::Text,
};

const LEAST_LINES: usize = 3;

pub fn check(members: &[Member], sources: &[Text]) -> Vec<Finding> {
    let ours = members.iter().filter(|member| member.folder.starts_with("crates/"));
    ours.filter_map(|member| of_member(member, sources)).collect()
}

fn of_member(member: &Member, sources: &[Text]) -> Option<Finding> {
    let root = |name: &str| {
        let path = format!("{}/src/{name}.rs", member.folder);
        sources.iter().find(|source| source.path == path)
    };
    let Some(root) = root("lib").or_else(|| root("main")) else {
        let what = format!("{} has neither lib.rs nor main.rs", member.folder);
        return Some(error("opening", what, ""));
    };
    let lines = root.text.lines().take_while(|line| line.starts_with("//!"));
    let told = lines.filter(|line| line.len() > "//!".len()).count();
    (told < LEAST_LINES).then(|| {
        error(
            "opening",
            format!("{} opens with {told} lines of `//!`; {LEAST_LINES} are the least", root.path),
            "say what the crate is for, its files in reading order, and what it must never do",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(path: &str, text: &str) -> bool {
        let member = Member { folder: "crates/wire".to_owned(), ..Member::default() };
        !check(&[member], &[Text::new(path, text)]).is_empty()
    }

    #[test]
    fn three_lines_at_least() {
        let lib = "crates/wire/src/lib.rs";
        assert!(!is_refused(lib, "//! What.\n//!\n//! In order.\n//! Never.\n\nmod sign;\n"));
        assert!(is_refused(lib, "//! What.\n//!\n//! In order.\n"), "an empty line says nothing");
        assert!(is_refused(lib, "mod sign;\n//! a\n//! b\n//! c\n"));
        assert!(is_refused("crates/wire/src/main.rs", "//! What.\n"));
        assert!(is_refused("crates/wire/src/sign.rs", "//! a\n//! b\n//! c\n"), "no root at all");
    }
}
