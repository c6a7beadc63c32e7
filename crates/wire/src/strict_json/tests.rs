use super::*;

fn is_json(value: &str) -> bool {
    members(&format!("{{\"a\":{value}}}")).is_ok()
}

#[test]
fn what_is_json_and_what_is_not() {
    for good in [
        "1",
        "-0",
        "0.5",
        "1e400",
        "1E+2",
        "-1.5e-7",
        "true",
        "false",
        "null",
        "\"\"",
        "[]",
        "{}",
        "[1, [2, {\"b\": []}]]",
        "{\"\":1,\"\":2}",
        r#""\u0000\ud800\"\\\/\b\f\n\r\t""#,
        " \t\r\n1 ",
        "\"é\u{10ffff}\"",
        "[[],{},[]]",
    ] {
        assert!(is_json(good), "{good}");
    }
    for bad in [
        "",
        "01",
        "+1",
        ".5",
        "1.",
        "1e",
        "--1",
        "NaN",
        "Infinity",
        "-",
        "tru",
        "nul",
        "'a'",
        "a",
        "\"",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"\n\"",
        "[",
        "[1",
        "[1,]",
        "[,1]",
        "{",
        "{\"b\"}",
        "{\"b\":}",
        "{\"b\":1,}",
        "{b:1}",
        "{1:1}",
        "[1}",
        "{\"b\":1]",
        "1 2",
        "/**/1",
        "1//",
        "\u{feff}1",
        "\"\\",
        "0x10",
        "1_000",
        "[1 2]",
        "{\"b\" 1}",
        "]",
        "}",
    ] {
        assert!(!is_json(bad), "{bad}");
    }
}

#[test]
fn agrees_with_serde_on_everything_it_takes() {
    for text in [
        r#"{"a":{"b":[1,2,{"c":null}]},"d":"x"}"#,
        r#"{"n":-1.25e-3,"t":true}"#,
        r#"{"a":[[[[]]]],"b":"A"}"#,
    ] {
        let parsed: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(text).unwrap();
        let found = members(text).unwrap();
        assert_eq!(found.len(), parsed.len());
        for member in found {
            let value: serde_json::Value = serde_json::from_str(member.value).unwrap();
            assert_eq!(parsed[&*member.key], value);
        }
    }
}

#[test]
fn members_as_they_were_written() {
    let text = " { \"a\" : 1.0 , \"a\":[ 2 ] ,\"\\u0062\":\"\\u0062\"} ";
    let found = members(text).unwrap();
    let pairs: Vec<_> = found.iter().map(|m| (&*m.key, m.value)).collect();
    assert_eq!(pairs, [("a", "1.0"), ("a", "[ 2 ]"), ("b", "\"\\u0062\"")]);
    assert_eq!(items("[ 1, {\"a\":2} ,[] ]").unwrap(), ["1", "{\"a\":2}", "[]"]);
    assert!(items("[]").unwrap().is_empty());
    assert!(members("{}").unwrap().is_empty());
}

#[test]
fn depth_is_bounded_and_does_not_overflow_the_stack() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(is_json(&nested(63)), "63 within the object are 64");
    assert!(!is_json(&nested(64)));
    assert!(!is_json(&nested(100_000)));
    assert!(!is_json(&"[".repeat(100_000)));
    let objects = format!("{}1{}", "{\"a\":".repeat(63), "}".repeat(63));
    assert!(is_json(&objects));
    assert_eq!(members(&"[".repeat(65)).unwrap_err().why, "it is nested more than 64 deep");
}

#[test]
fn what_is_no_object_is_distinguished() {
    for text in ["null", "[]", "1", "\"a\"", " [1] "] {
        assert_eq!(members(text).unwrap_err().why, NOT_AN_OBJECT, "{text}");
    }
    assert_eq!(members("").unwrap_err().why, "unexpected end");
    for text in ["{} {}", "{}x", "{}// c", "[] []", "{\"a\":1}}"] {
        assert!(members(text).unwrap_err().why.contains("follows its end"), "{text}");
    }
}
