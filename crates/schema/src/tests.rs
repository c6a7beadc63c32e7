use std::time::{Duration, Instant};

use super::*;

fn refused(schema: &str) -> String {
    Schema::compile(schema).expect_err(schema).message
}

#[test]
fn faults_point_to_where_they_are() {
    let schema = r#"{"type":"object","required":["id"],"properties":{"id":{"type":"string"},
        "lines":{"type":"array","items":{"properties":{"a/b":{"minimum":1}}}}}}"#;
    let schema = Schema::compile(schema).unwrap();
    assert_eq!(schema.errors(br#"{"id":"x","lines":[{"a/b":1}]}"#), []);
    let errors = schema.errors(br#"{"id":7,"lines":[{},{"a/b":0}]}"#);
    let pointers: Vec<&str> = errors.iter().map(|error| error.pointer.as_str()).collect();
    assert_eq!(pointers, ["/data/id", "/data/lines/1/a~1b"]);
    assert!(errors[0].message.contains("string"), "{errors:?}");
    let missing = schema.errors(b"{}");
    assert_eq!(missing[0].pointer, "/data");
    assert!(missing[0].message.contains("id"), "{missing:?}");
}

/// Nothing is fetched, and a reference that cannot be checked beforehand is refused.
#[test]
fn references_stay_within() {
    for reference in [
        "http://169.254.169.254/latest/meta-data",
        "https://example.com/schema.json",
        "file:///etc/passwd",
        "other.json",
        "#anchor",
        "#/$defs/nothing",
        "//example.com/x",
    ] {
        let message = refused(&format!(r#"{{"$ref":"{reference}"}}"#));
        assert!(message.contains("#/"), "{reference}: {message}");
    }
    refused(r##"{"$dynamicRef":"#node"}"##);
    refused(r#"{"$schema":"http://example.com/my-own-meta-schema","type":"object"}"#);
    refused(r#"{"properties":{"a":{"$id":"http://example.com/a"}}}"#);
    Schema::compile(
        r##"{"$id":"https://example.com/x.json","$ref":"#/$defs/a","$defs":{"a":{}}}"##,
    )
    .unwrap();
}

/// Schemas that refer to themselves without end, or double with every level.
#[test]
fn bombs_are_refused() {
    refused(r##"{"$ref":"#"}"##);
    refused(r##"{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"anyOf":[{"$ref":"#"}]}}}"##);
    let level = |level: u32| {
        let below = format!(r##"{{"$ref":"#/$defs/d{}"}}"##, level - 1);
        format!(r#","d{level}":{{"allOf":[{below},{below}]}}"#)
    };
    let levels: String = (1..40).map(level).collect();
    let doubling = r#"{"$defs":{"d0":{"type":"object"}"#.to_owned() + &levels;
    refused(&(doubling + r##"},"$ref":"#/$defs/d39"}"##));
    refused(r##"{"properties":{"x":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}"##);
    refused(&format!(r#"{{"enum":[{}0]}}"#, "0,".repeat(40_000)));
    refused(r#"{"pattern":"(((a{100}){100}){100}){100}"}"#);
    refused(r#"{"pattern":"(?=lookahead)"}"#);
    refused(r#"{"pattern":"("}"#);
    refused(r#"{"type":"strange"}"#);
    refused("[]");
    refused("{");
}

#[test]
fn trees_are_fine() {
    let tree = r##"{"anyOf":[{"type":"string"},{"type":"array","items":{"$ref":"#"}},
        {"type":"object","properties":{"left":{"$ref":"#"},"right":{"$ref":"#"}},
         "additionalProperties":{"$ref":"#"}}]}"##;
    let tree = Schema::compile(tree).unwrap();
    assert_eq!(tree.errors(br#"{"left":["a",{"right":"b"}],"more":"c"}"#), []);
    assert!(!tree.errors(br#"{"left":["a",{"right":1}]}"#).is_empty());
}

/// Each ends within its time, or is refused.
#[test]
fn nothing_takes_long() {
    let any_of = format!(r#"{{"anyOf":[{}{{}}]}}"#, r#"{"const":1},"#.repeat(4_000));
    let ones = format!("[{}1]", "1,".repeat(100_000));
    let numbers: Vec<String> = (0..100_000).map(|n| n.to_string()).collect();
    let distinct = format!("[{}]", numbers.join(","));
    let near =
        format!(r#"{{"items":{{"anyOf":[{}{{"const":3}}]}}}}"#, r#"{"const":1},"#.repeat(900));
    let twos = format!("[{}2]", "2,".repeat(1_000));
    let long = format!("\"{}\"", "a".repeat(250_000));
    let evil = format!("\"{}!\"", "a".repeat(50_000));
    for (schema, data) in [
        (r#"{"pattern":"^(a+)+$"}"#, evil.as_str()),
        (r#"{"uniqueItems":true}"#, distinct.as_str()),
        (r#"{"multipleOf":1e308}"#, "1e307"),
        (r#"{"multipleOf":1e-308}"#, "1e308"),
        (r#"{"items":{"type":"integer"}}"#, ones.as_str()),
        (&any_of, ones.as_str()),
        (r#"{"type":"object"}"#, &"[".repeat(100_000)),
        (&near, twos.as_str()),
        (r#"{"pattern":"^(([a-z]{1,30}){1,20}!)+$"}"#, long.as_str()),
        (r#"{"pattern":"[ab]{0,50}[bc]{0,50}[cd]{0,50}x"}"#, long.as_str()),
        (r#"{"pattern":"(.*a){12}z"}"#, long.as_str()),
    ] {
        let started = Instant::now();
        let compiled = Schema::compile(schema);
        assert!(started.elapsed() < Duration::from_millis(500), "compiling {schema:.60}");
        let Ok(schema) = compiled else { continue };
        let started = Instant::now();
        let _ = schema.errors(data.as_bytes());
        assert!(started.elapsed() < Duration::from_millis(500), "{schema:?} {data:.60}");
    }
}

/// The work of a check in units of about 10 ns.
fn work(schema: &str, data: &str) -> u64 {
    Schema::compile(schema).unwrap().work(data.as_bytes()).total()
}

fn costly_patterns(count: usize, length: usize) -> String {
    let pattern = |n: usize| format!(r#"{{"pattern":"a[ab]{{{}}}[^ab]"}}"#, length - n);
    let patterns: Vec<String> = (0..count).map(pattern).collect();
    format!(r#"{{"anyOf":[{}]}}"#, patterns.join(","))
}

#[test]
fn the_work_of_patterns_grows_with_their_states_and_with_the_data() {
    let text = |length: usize| format!("\"{}\"", "ab".repeat(length / 2));
    let one = work(&costly_patterns(1, 400), &text(1_000));
    assert!(one > 400 * 1_000 / 8, "{one}");
    assert!(work(&costly_patterns(10, 400), &text(1_000)) > 9 * one);
    assert!(work(&costly_patterns(1, 900), &text(1_000)) > 2 * one);
    assert!(work(&costly_patterns(1, 400), &text(3_000)) > 2 * one);
    let nested = r##"{"items":{"$ref":"#/$defs/a"},"$defs":{"a":{"pattern":"a[ab]{400}[^ab]"}}}"##;
    assert!(work(nested, &text(1_000)) > one / 2, "wherever the pattern is");
    let names = r#"{"patternProperties":{"a[ab]{400}[^ab]":{}}}"#;
    assert!(work(names, &text(1_000)) > one / 2, "names are matched, too");
    let cheap = work(r#"{"pattern":"^[ab]+$"}"#, &text(1_000));
    assert!(cheap < one / 100, "{cheap}");
}

/// What every subschema does with every byte counts, even if it is little.
#[test]
fn lengths_and_formats_count_for_each_byte() {
    let text = format!("\"{}\"", "a".repeat(100_000));
    for keyword in [r#""minLength":1"#, r#""format":"email""#, r#""uniqueItems":true"#] {
        let one = work(&format!("{{{keyword}}}"), &text);
        let all = vec![format!("{{{keyword}}}"); 500].join(",");
        let many = work(&format!(r#"{{"allOf":[{all}]}}"#), &text);
        assert!(many > one + 400 * 100_000 / 64, "{keyword}: {one} {many}");
    }
}

#[test]
fn small_events_with_everyday_schemas_are_checked_inline() {
    let schema = r#"{"type":"object","required":["id","lines"],"properties":{
        "id":{"type":"string","pattern":"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"},
        "email":{"type":"string","format":"email","maxLength":254},
        "created":{"type":"string","pattern":"^\\d{4}-\\d{2}-\\d{2}T"},
        "state":{"enum":["open","paid","void"]},
        "lines":{"type":"array","items":{"type":"object","required":["sku"],"properties":{
            "sku":{"type":"string","pattern":"^[A-Z0-9-]+$"},"count":{"type":"integer","minimum":1},
            "text":{"type":"string","maxLength":1000}}}}}}"#;
    let schema = Schema::compile_new(schema).unwrap();
    let line = r#"{"sku":"ABC-1","count":3,"text":"Lorem ipsum dolor sit amet, consectetur"}"#;
    let event = |lines: usize| {
        let lines = vec![line; lines].join(",");
        format!(r#"{{"id":"0190a5de-7b1c-7e3a-9c1d-0123456789ab","lines":[{lines}]}}"#)
    };
    let small = event(50);
    assert!(small.len() > 3_500 && schema.inline_work(small.as_bytes()).is_some());
    assert!(schema.is_valid(small.as_bytes()));
    assert_eq!(schema.inline_work(event(5_000).as_bytes()), None);
    assert!(schema.memory() < 256 * 1024, "{}", schema.memory());
}

/// A few bytes may be much work, and many bytes little.
#[test]
fn work_decides_what_is_checked_inline() {
    let costly = Schema::compile(&costly_patterns(10, 900)).unwrap();
    assert_eq!(costly.inline_work(b"\"abababab\""), None);
    let any_of = format!(r#"{{"anyOf":[{}{{}}]}}"#, r#"{"const":1},"#.repeat(900));
    let any_of = format!(r#"{{"items":{any_of}}}"#);
    assert_eq!(
        Schema::compile(&any_of).unwrap().inline_work(b"[2,2,2,2,2,2,2,2,2,2,2,2,2,2]"),
        None
    );
    let plain = Schema::compile(r#"{"type":"object"}"#).unwrap();
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(50_000));
    assert!(plain.inline_work(long.as_bytes()).is_some());
}

#[test]
fn a_new_schema_whose_patterns_take_much_memory_is_refused() {
    let started = Instant::now();
    let error = Schema::compile_new(&costly_patterns(100, 900)).unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(1), "it stops when it is too much");
    assert_eq!((error.code, error.pointer.as_str()), ("schema_too_costly", "/schema"));
    assert!(error.message.contains("4 MiB") && error.message.contains("use fewer"), "{error:?}");
    Schema::compile_new(&costly_patterns(3, 900)).unwrap();
    let stored = Schema::compile(&costly_patterns(30, 900)).unwrap();
    assert!(stored.memory() > 6 << 20, "{}", stored.memory());
}

/// An event that would take longer than about a second is refused before it is matched.
#[test]
fn an_event_with_too_much_work_is_refused_at_once() {
    let schema = Schema::compile(&costly_patterns(100, 900)).unwrap();
    let text = format!("\"{}\"", "ab".repeat(8_000));
    let started = Instant::now();
    let errors = schema.errors(text.as_bytes());
    assert!(started.elapsed() < Duration::from_millis(100));
    assert_eq!(errors[0].code, "schema_too_costly");
    assert!(!schema.is_valid(text.as_bytes()));
}

/// A Unicode class has hundreds of states, which a repetition multiplies.
#[test]
fn a_pattern_that_is_too_large_says_so() {
    for pattern in [r"^\\p{L}{1,20}$", r"^[\\p{L}\\p{N} .'-]{1,100}$", "^.{0,1000}$"] {
        let error = Schema::compile_new(&format!(r#"{{"items":{{"pattern":"{pattern}"}}}}"#));
        let error = error.unwrap_err();
        assert_eq!(error.code, "schema_too_costly", "{error:?}");
        assert!(error.message.contains("maxLength"), "{error:?}");
    }
    assert!(refused(r#"{"pattern":"("}"#).contains("regex"));
}

/// Any byte may have to pass through all states of a Unicode class.
#[test]
fn unicode_classes_cost_their_states() {
    let text = format!("\"{}\"", "ж漢אß".repeat(100));
    let letters = work(r#"{"pattern":"^\\p{L}+$"}"#, &text);
    let ascii = work(r#"{"pattern":"^[a-z]+$"}"#, &text);
    assert!(letters > 20 * ascii, "{letters} {ascii}");
    let schema = Schema::compile_new(r#"{"pattern":"^\\p{L}+$"}"#).unwrap();
    assert!(schema.is_valid(text.as_bytes()));
    assert_eq!(schema.inline_work("ж".repeat(1_000).as_bytes()), None);
}
