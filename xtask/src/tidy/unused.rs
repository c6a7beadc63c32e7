//! Checks that a crate's manifest names only libraries that its code names: a forgotten one is built for
//! nothing.

use super::{
    cargo::{Member, Use},
    finding::{Finding, error},
    tree::Text,
};

pub fn check(members: &[Member], sources: &[Text]) -> Vec<Finding> {
    // The sources of xtask are not read.
    let read = members.iter().filter(|member| member.folder.starts_with("crates/"));
    read.flat_map(|member| of_member(member, sources)).collect()
}

fn of_member(member: &Member, sources: &[Text]) -> Vec<Finding> {
    let folder = format!("{}/", member.folder);
    let own: Vec<&Text> =
        sources.iter().filter(|source| source.path.starts_with(&folder)).collect();
    let unused = member.uses.iter().filter(|used| {
        let name = in_code(used);
        !own.iter().any(|source| has_word(&source.text, &name))
    });
    let findings = unused.map(|used| {
        let what = format!("{} does not use {}", member.name, used.name);
        error("unused", what, format!("remove it from {folder}Cargo.toml"))
    });
    findings.collect()
}

fn in_code(used: &Use) -> String {
    let name = used.rename.as_ref().unwrap_or(&used.name).replace('-', "_");
    if used.is_ours && used.rename.is_none() { format!("gancho_{name}") } else { name }
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let used = |name: &str, is_ours| Use {
            name: name.to_owned(),
            rename: (name == "rustls-webpki").then(|| "webpki".to_owned()),
            is_ours,
            only_in_tests: false,
            features: Vec::new(),
        };
        let member = Member {
            name: "store".to_owned(),
            folder: "crates/store".to_owned(),
            uses: vec![
                used("domain", true),
                used("parking-lot", false),
                used("rustls-webpki", false),
            ],
            ..Member::default()
        };
        let sources =
            [Text::new("crates/store/src/a.rs", text), Text::new("crates/b/src/a.rs", "x")];
        check(&[member], &sources).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn what_the_code_does_not_name_is_unused() {
        let all = "use gancho_domain::Id;\nparking_lot::Mutex::new(1);\nuse webpki::Cert;\n";
        assert!(found(all).is_empty());
        assert_eq!(
            found(&all.replace("parking_lot", "my_parking_lot")),
            ["store does not use parking-lot"]
        );
        assert_eq!(found(&all.replace("gancho_", "")), ["store does not use domain"]);
        assert_eq!(
            found(&all.replace("webpki", "rustls_webpki")),
            ["store does not use rustls-webpki"]
        );
    }
}
