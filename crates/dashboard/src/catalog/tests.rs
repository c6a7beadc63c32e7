//! Each language has each key, with the same placeholders, and each key is used.

use std::{collections::BTreeSet, fs, path::Path};

use super::*;

fn placeholders(text: &str) -> BTreeSet<&str> {
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name).collect()
}

#[test]
fn every_language_has_every_key_with_the_same_placeholders() {
    assert!(!ENGLISH.is_empty());
    for language in [Language::Portuguese, Language::Spanish] {
        let catalog = of(language);
        let keys = |catalog: &Catalog| catalog.keys().cloned().collect::<BTreeSet<_>>();
        let missing: Vec<_> = keys(&ENGLISH).difference(&keys(catalog)).cloned().collect();
        let unknown: Vec<_> = keys(catalog).difference(&keys(&ENGLISH)).cloned().collect();
        assert!(missing.is_empty() && unknown.is_empty(), "{language:?}: {missing:?} {unknown:?}");
        for (key, text) in catalog {
            let english = &ENGLISH[key];
            // A singular may leave out its number.
            if key.rsplit('.').next() != Some("one") {
                assert_eq!(placeholders(text), placeholders(english), "{language:?} {key}");
            }
            assert_eq!(text.matches("**").count() % 2, 0, "{language:?} {key}");
            assert!(!text.trim().is_empty(), "{language:?} {key}");
        }
    }
}

#[test]
fn every_key_is_used_and_every_used_key_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = String::new();
    for directory in ["src", "templates"] {
        collect(&root.join(directory), &mut sources);
    }
    let unused: Vec<_> = ENGLISH
        .keys()
        .map(|key| key.trim_end_matches(".one").trim_end_matches(".other"))
        .filter(|key| !sources.contains(&format!("\"{key}\"")))
        .collect();
    assert!(unused.is_empty(), "unused: {unused:?}");
    for (call, is_plural) in [(".say(\"", false), (".count(\"", true)] {
        for rest in sources.split(call).skip(1) {
            let key = rest.split('"').next().unwrap();
            let form = if is_plural { format!("{key}.other") } else { key.to_owned() };
            assert!(ENGLISH.contains_key(&form), "`{key}` is used and not in the catalog");
        }
    }
}

fn collect(directory: &Path, all: &mut String) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, all);
        } else if !path.ends_with("catalog/tests.rs") {
            all.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}
