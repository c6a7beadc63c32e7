//! Checks circles of files in a crate. Files that depend on each other in a circle can only be understood
//! together, so circles must stay small. A file depends on its paths that begin with `crate::` or `super::`;
//! the root of a crate, which re-exports, is left out.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    finding::{Finding, error},
    tree::Text,
};

/// Maximum files in a circle: a pair, and its children.
const MAX: usize = 4;

type Graph = BTreeMap<String, BTreeSet<String>>;

pub fn check(sources: &[Text]) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Vec<(String, &str)>> = BTreeMap::new();
    for source in sources {
        let Some((name, path)) =
            source.path.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/"))
        else {
            continue;
        };
        let module = path.trim_end_matches(".rs").replace('/', "::");
        let is_root = matches!(module.as_str(), "lib" | "main");
        if !is_root && !module.split("::").any(|part| part == "tests") {
            crates.entry(name).or_default().push((module, code(&source.text)));
        }
    }
    crates.iter().filter_map(|(name, files)| largest(name, files)).collect()
}

fn largest(name: &str, files: &[(String, &str)]) -> Option<Finding> {
    let circle = circles(&graph(files)).into_iter().max_by_key(Vec::len)?;
    let what = || {
        format!(
            "{} files of crates/{name} know each other in a circle: {}",
            circle.len(),
            circle.join(", ")
        )
    };
    let hint = "move what several need to a file that needs none of them";
    (circle.len() > MAX).then(|| error("circles", what(), hint))
}

/// Returns the code without the tests at its end.
fn code(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text)
}

fn graph(files: &[(String, &str)]) -> Graph {
    let modules: BTreeSet<&str> = files.iter().map(|(module, _)| module.as_str()).collect();
    let knows = |module: &str, text: &str| {
        let named = paths(module, text).into_iter().filter_map(|path| file_of(&path, &modules));
        named.filter(|known| known != module).collect()
    };
    files.iter().map(|(module, text)| (module.clone(), knows(module, text))).collect()
}

/// Returns the file of a path.
fn file_of(path: &str, modules: &BTreeSet<&str>) -> Option<String> {
    let mut path = path;
    loop {
        if modules.contains(path) {
            return Some(path.to_owned());
        }
        path = path.rsplit_once("::")?.0;
    }
}

/// Returns the paths in a text, from the root of the crate.
fn paths(module: &str, text: &str) -> Vec<String> {
    let parent = module.rsplit_once("::").map_or("", |(parent, _)| parent);
    let mut found = Vec::new();
    for line in text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line))
    }) {
        let (start, line) = line;
        if line.trim_start().starts_with("//") {
            continue;
        }
        for (root, from) in [("crate::", ""), ("super::", parent)] {
            for (place, _) in line.match_indices(root) {
                let rest = &text[start + place + root.len()..];
                let prefix = if from.is_empty() { String::new() } else { format!("{from}::") };
                expand(&prefix, rest, &mut found);
            }
        }
    }
    found
}

/// Reads one tree of a `use`, and returns the rest of the text.
fn expand<'a>(prefix: &str, text: &'a str, found: &mut Vec<String>) -> &'a str {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let path = format!("{prefix}{name}");
    if let Some(rest) = rest.strip_prefix("::") {
        return expand(&format!("{path}::"), rest, found);
    }
    if let Some(mut rest) = rest.strip_prefix('{').filter(|_| name.is_empty()) {
        loop {
            rest = rest.trim_start();
            if let Some(after) = rest.strip_prefix('}') {
                return after;
            }
            let after = expand(prefix, rest, found);
            let next = after.find([',', '}']).unwrap_or(after.len());
            rest = after[next..].strip_prefix(',').unwrap_or(&after[next..]);
            if rest.is_empty() {
                return rest;
            }
        }
    }
    found.push(path.trim_end_matches("::").to_owned());
    rest
}

/// Returns sets of files of which each depends on each other. Files without a circle are left out.
fn circles(graph: &Graph) -> Vec<Vec<String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> =
        graph.keys().map(|file| (file, reached(graph, file))).collect();
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for file in graph.keys() {
        if seen.contains(file) {
            continue;
        }
        let circle: Vec<String> = reach[file]
            .iter()
            .filter(|other| reach[**other].contains(file))
            .map(|other| (*other).clone())
            .collect();
        seen.extend(circle.iter().cloned());
        if circle.len() > 1 {
            all.push(circle);
        }
    }
    all
}

fn reached<'a>(graph: &'a Graph, from: &str) -> BTreeSet<&'a String> {
    let (mut found, mut left) = (BTreeSet::new(), vec![from]);
    while let Some(file) = left.pop() {
        for next in graph.get(file).into_iter().flatten() {
            if found.insert(next) {
                left.push(next);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> Vec<Finding> {
        let texts: Vec<Text> = files
            .iter()
            .map(|(path, text)| Text::new(&format!("crates/api/src/{path}.rs"), text))
            .collect();
        check(&texts)
    }

    #[test]
    fn a_circle_of_five_is_found_and_one_of_four_is_not() {
        let ring = |count: usize| -> Vec<(String, String)> {
            let next = |at: usize| (at + 1) % count;
            (0..count)
                .map(|at| {
                    (format!("f{at}"), format!("use crate::{{x::Y, f{}::{{A, B}}}};\n", next(at)))
                })
                .collect()
        };
        for (count, is_found) in [(4, false), (5, true)] {
            let ring = ring(count);
            let files: Vec<_> =
                ring.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
            assert_eq!(!of(&files).is_empty(), is_found, "{count}");
        }
    }

    #[test]
    fn paths_are_read_with_braces_and_from_parents() {
        let text = "use crate::{a::{b::C, d}, e};\n/// crate::no\nuse super::f::G;\n#[cfg(test)]\nmod tests { use crate::t; }";
        assert_eq!(paths("m::n", code(text)), ["a::b::C", "a::d", "e", "m::f::G"]);
    }
}
