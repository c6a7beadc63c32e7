//! Cases of what is JSON here and what is not.

use gancho_wire::strict_json::{MAX_DEPTH, Pointer, check};
use proptest::prelude::*;

const ACCEPTED: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "-0",
    "1",
    "-1",
    "10",
    "123.456",
    "-0.0",
    "1e5",
    "1E5",
    "1e+5",
    "1E+2",
    "1e-5",
    "0e0",
    "0.1e1",
    "1e400",
    "-1e-400",
    "9007199254740993",
    "123456789012345678901234567890",
    "\"\"",
    "\"a\"",
    "\" \"",
    "\"\u{7f}\"",
    "\"\u{e9}\"",
    "\"\u{1f600}\"",
    "\"\u{2028}\u{2029}\"",
    "\"\u{feff}\"",
    r#""\"""#,
    r#""\\""#,
    r#""\/""#,
    r#""\b\f\n\r\t""#,
    r#""\u0000""#,
    r#""\u001f""#,
    r#""\u00e9""#,
    r#""\uD83D\uDE00""#,
    r#""\ud800""#,
    r#""\udc00""#,
    r#""\ud800\ud800""#,
    r#""\uFFFF""#,
    r#""\u0022""#,
    "[]",
    "[ ]",
    "[\n]",
    "[1]",
    "[1,2]",
    "[ 1 , 2 ]",
    "[[]]",
    "[null,true,false,0,\"\"]",
    "[[[[[]]]]]",
    "{}",
    "{ }",
    "{\"a\":1}",
    "{ \"a\" : 1 }",
    "{\"a\":1,\"b\":2}",
    "{\"\":1}",
    "{\"\":{\"\":{}}}",
    "{\"a\":{\"a\":1}}",
    "[{\"a\":1},{\"a\":1}]",
    "{\"a\":1,\"A\":2}",
    r#"{"\u0061":1,"b":2}"#,
    r#"{"__proto__":1}"#,
    "\t1\r\n",
    " 1 ",
    "\n{}\n",
    "[1e1,1E1]",
    r#"{"caf\u00e9":1,"cafe\u0301":2}"#,
    "\"\u{10ffff}\"",
    r#"["a","a"]"#,
    r#"{"a":[{"a":[]}]}"#,
    r#"{"at":"2016-12-31T23:59:60Z","week":"2020-W53-7"}"#,
];

const REFUSED: &[&str] = &[
    "",
    " ",
    "\n",
    "\u{feff}{}",
    "\u{feff}",
    "nul",
    "nulll",
    "Null",
    "TRUE",
    "True",
    "undefined",
    "NaN",
    "Infinity",
    "-Infinity",
    "-",
    "+1",
    "01",
    "-01",
    "00",
    "1.",
    ".1",
    "-.1",
    "1.e5",
    "1e",
    "1e+",
    "1e5.5",
    "1_000",
    "0x10",
    "1 2",
    "1,",
    "\"",
    "\"a",
    "a\"",
    "'a'",
    "\"\t\"",
    "\"\n\"",
    "\"\0\"",
    "\"\u{1f}\"",
    r#""\x41""#,
    r#""\'""#,
    r#""\u""#,
    r#""\u12""#,
    r#""\u123g""#,
    r#""\U0041""#,
    r#""\"#,
    r#""\""#,
    "[",
    "]",
    "[1",
    "[1,",
    "[1,]",
    "[,1]",
    "[1,,2]",
    "[1 2]",
    "[1:2]",
    "{",
    "}",
    "{\"a\"",
    "{\"a\":",
    "{\"a\":1",
    "{\"a\":1,",
    "{\"a\":1,}",
    "{,}",
    "{a:1}",
    "{1:1}",
    "{\"a\" 1}",
    "{\"a\",1}",
    "{\"a\":1:2}",
    "{'a':1}",
    "{\"a\":1 \"b\":2}",
    "[}",
    "{]",
    "{}{}",
    "{} {}",
    "[][]",
    "{}x",
    "{}\0",
    "// a\n{}",
    "/* a */{}",
    "{}//",
    "#",
    "{\"a\":1,\"a\":1}",
    "{\"a\":1,\"b\":2,\"a\":3}",
    r#"{"a":1,"\u0061":2}"#,
    r#"{"\u00e9":1,"é":2}"#,
    r#"{"\ud800":1,"\uD800":2}"#,
    r#"[{"x":{"id":1,"id":2}}]"#,
    r#"{"type":"a","type":"b"}"#,
    "\u{a0}1",
    "1\u{a0}",
    "\u{2003}[]",
    "[1\u{b}]",
    "\u{c}1",
    "tru e",
    "--1",
    "1-",
    "[\"a\"\"b\"]",
    "{\"\":1,\"\":2}",
    "\"a\" \"b\"",
    "(1)",
    "<a/>",
    "%7B%7D",
];

#[test]
fn what_must_be_accepted() {
    for text in ACCEPTED {
        assert_eq!(check(text.as_bytes(), None), Ok(None), "{text}");
    }
    assert!(ACCEPTED.len() + REFUSED.len() > 160);
}

#[test]
fn what_must_be_refused() {
    for text in REFUSED {
        let error = check(text.as_bytes(), None).expect_err(text);
        assert!(error.at <= text.len() && !error.why.is_empty(), "{text}");
    }
    for bytes in [
        &b"\"\xff\""[..],
        b"\"\xc0\xaf\"",
        b"\"\xed\xa0\x80\"",
        b"\"\xf4\x90\x80\x80\"",
        b"\xff\xfe{\0}\0",
        b"\xfe\xff\0{\0}",
        b"\"\xe2\x82\"",
        b"{\"\x80\":1}",
        b"\"\xf8\x88\x80\x80\x80\"",
    ] {
        assert_eq!(check(bytes, None).unwrap_err().why, "it is not UTF-8");
    }
}

/// Neither arrays nor objects may be nested deeper than `MAX_DEPTH`.
#[test]
fn depth_is_bounded_and_costs_no_stack() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = |n: usize| {
            let inner = if open == "[" { "" } else { "1" };
            format!("{}{inner}{}", open.repeat(n), close.repeat(n))
        };
        assert!(check(deep(MAX_DEPTH).as_bytes(), None).is_ok());
        for n in [MAX_DEPTH + 1, 128, 129, 100_000] {
            let error = check(deep(n).as_bytes(), None).unwrap_err();
            assert_eq!(error.why, "it is nested more than 64 deep", "{n}");
        }
    }
    assert!(check("[".repeat(100_000).as_bytes(), None).is_err());
}

/// Long keys, long numbers and many members are checked in linear time.
#[test]
fn long_things_take_no_long() {
    let key = format!("{{\"{}\":1}}", "k".repeat(200_000));
    let digits = "9".repeat(100_000);
    let names: Vec<String> = (0..20_000).map(|n| format!("\"k{n}\":0")).collect();
    let wide = format!("{{{}}}", names.join(","));
    let twice = format!("{{{},\"k0\":1}}", names.join(","));
    let started = std::time::Instant::now();
    for text in [&key, &digits, &wide] {
        assert!(check(text.as_bytes(), None).is_ok(), "{text:.20}");
    }
    assert!(check(twice.as_bytes(), None).is_err());
    assert!(started.elapsed() < std::time::Duration::from_secs(1));
}

#[test]
fn a_place_is_found_as_it_stands() {
    let body = r#"{"a":{"b/c":["x",{"~":" \u0041b "}]},"id":"e_1","n":12.50,"t":true,"":{"":"e"}}"#;
    for (pointer, found) in [
        ("/id", Some("\"e_1\"")),
        ("/n", Some("12.50")),
        ("/t", Some("true")),
        ("/a/b~1c/0", Some("\"x\"")),
        ("/a/b~1c/1/~0", Some("\" \\u0041b \"")),
        ("/a/b~1c/01", None),
        ("/a/b~1c/-", None),
        ("/a/b~1c/2", None),
        ("/id/x", None),
        ("/nothing", None),
        ("//", Some("\"e\"")),
        ("/", Some("{\"\":\"e\"}")),
    ] {
        let pointer = Pointer::parse(pointer).unwrap();
        let at = check(body.as_bytes(), Some(&pointer)).unwrap();
        assert_eq!(at, found, "{pointer:?}");
    }
    for invalid in ["", "id", "/a~2b", "/a~", "#/id"] {
        assert_eq!(Pointer::parse(invalid), None, "{invalid}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// What this accepts without a lone surrogate, the library reads too; what the library refuses for its
    /// form, this refuses.
    #[test]
    fn agrees_with_the_library(text in r#"[\[\]{}:,"\\u0-9a-f.eE+\- \n]{0,40}"#) {
        let ours = check(text.as_bytes(), None).is_ok();
        let theirs = serde_json::from_str::<serde_json::Value>(&text);
        match theirs {
            Ok(_) if !ours => {
                // Only duplicate keys are refused beyond the library.
                prop_assert!(check(text.as_bytes(), None).unwrap_err().why.contains("duplicate"));
            }
            Err(fault) if ours => {
                let why = fault.to_string();
                prop_assert!(why.contains("surrogate") || why.contains("out of range") || why.contains("hex escape"), "{}: {}", text, why);
            }
            _ => {}
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let pointer = Pointer::parse("/id");
        let _ = check(&bytes, pointer.as_ref());
    }
}
