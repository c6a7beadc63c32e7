//! The list of the cases is complete.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Returns the cases in the files, by file.
fn written() -> BTreeMap<String, BTreeSet<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/conformance");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "rs"));
    files
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let text = fs::read_to_string(path).unwrap();
            let cases = text.lines().filter_map(|line| {
                let rest = line.strip_prefix("pub async fn ")?;
                Some(rest.split_once("<F: Fixture>()")?.0.to_owned())
            });
            (name, cases.collect::<BTreeSet<_>>())
        })
        .filter(|(_, cases)| !cases.is_empty())
        .collect()
}

/// Returns the cases that the suite runs, by file, as the macro above lists them.
fn listed() -> BTreeMap<String, BTreeSet<String>> {
    let source = include_str!("suite.rs");
    let (_, list) = source.split_once("conformance_tests! { $fixture;").unwrap();
    let mut words = list.split_whitespace();
    let mut files = BTreeMap::new();
    while let Some(file) = words.next().filter(|word| *word != "}") {
        assert_eq!(words.next(), Some("{"), "after {file}");
        let cases = words.by_ref().take_while(|word| *word != "}");
        let cases = cases.map(str::to_owned).collect();
        files.insert(file.to_owned(), cases);
    }
    files
}

#[test]
fn every_case_is_listed() {
    assert!(written().len() > 20, "the cases were found");
    assert_eq!(listed(), written());
}
