//! Bodies that are invalid, and valid ones that must be stored unchanged.

use crate::{
    http::{Client, Reply},
    stage::{Stage, receiver},
};

const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

async fn publish(client: &Client, body: &[u8]) -> Reply {
    client.send("POST", "/v1/events", JSON, Some(body)).await
}

fn event(data: &[u8]) -> Vec<u8> {
    [b"{\"type\":\"a.b\",\"data\":", data, b"}"].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_are_no_json() {
    let stage = Stage::new().await;
    let client = stage.tenant("m2").await.client;
    let good = br#"{"type":"a.b","data":1}"#;
    let cases: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b" ".to_vec(),
        [b"\xef\xbb\xbf".as_slice(), good].concat(),
        good.iter().flat_map(|byte| [*byte, 0]).collect(),
        event(b"\"\xff\""),
        event(b"\"\xc0\xaf\""),
        event(b"\"\xed\xa0\x80\""),
        event(b"\"\0\""),
        event(b"\"\x1f\""),
        [good.as_slice(), b"x"].concat(),
        [good.as_slice(), good].concat(),
        [good.as_slice(), b"\n\0"].concat(),
        [b"// hi\n".as_slice(), good].concat(),
        event(b"NaN"),
        event(b"-Infinity"),
        event(b"{'a':1}"),
        event(b"[1,]"),
        event(&b"[".repeat(100_000)),
        event(&[b"[".repeat(64), b"]".repeat(64)].concat()),
        br#"{"type":"a.b","type":"c.d","data":1}"#.to_vec(),
        br#"{"type":"a.b","data":1,"\u0074ype":"c.d"}"#.to_vec(),
        br#"{"type":"a.b","data":1,"data":2}"#.to_vec(),
        br#"{"type":"a.b","data":1,"x":1,"x":2}"#.to_vec(),
        b"{\"type\":\"a.b\",\"data\":1".to_vec(),
    ];
    for body in cases {
        let reply = publish(&client, &body).await;
        let shown = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (400, "bad_json"),
            "{shown:?} {}",
            reply.text()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn json_that_is_no_object_is_not_called_malformed() {
    let stage = Stage::new().await;
    let client = stage.tenant("m2").await.client;
    for body in ["null", "[]", "\"x\"", " [{\"type\":\"a.b\"}]"] {
        let reply = publish(&client, body.as_bytes()).await.refused(422, "invalid_field");
        assert_eq!(reply.json()["detail"], "the body must be a JSON object: `{…}`", "{body}");
    }
}

/// A field of another gateway's API that resembles none of this API.
#[tokio::test(flavor = "multi_thread")]
async fn names_of_other_gateways_are_understood() {
    let stage = Stage::new().await;
    let client = stage.tenant("m2").await.client;
    let body = br#"{"eventType":"a.b","payload":{},"eventId":"e1","topic":"a.b"}"#;
    let reply = publish(&client, body).await.refused(422, "unknown_field");
    let errors = reply.json()["errors"].as_array().unwrap().clone();
    let details: Vec<_> = errors.iter().map(|error| error["detail"].as_str().unwrap()).collect();
    for (wrong, meant) in
        [("eventType", "type"), ("payload", "data"), ("eventId", "external_id"), ("topic", "type")]
    {
        let expected = format!("unknown field `{wrong}`; did you mean `{meant}`?");
        assert!(details.contains(&&*expected), "{details:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_key_is_refused_without_being_repeated() {
    let stage = Stage::new().await;
    let client = stage.tenant("m2").await.client;
    let body = format!(r#"{{"type":"a.b","data":1,"{}":1}}"#, "k".repeat(900_000));
    let reply = publish(&client, body.as_bytes()).await.refused(422, "unknown_field");
    assert!(reply.body.len() < 4_096);
    let many: Vec<_> = (0..50_000).map(|n| format!("\"k{n}\":1")).collect();
    let body = format!("{{\"type\":\"a.b\",\"data\":1,{}}}", many.join(","));
    let reply = publish(&client, body.as_bytes()).await.refused(422, "unknown_field");
    assert!(reply.body.len() < 16_384);
    for odd in ["__proto__", "", "\\ud800", "constructor"] {
        let body = format!(r#"{{"type":"a.b","data":1,"{odd}":1}}"#);
        publish(&client, body.as_bytes()).await.refused(422, "unknown_field");
    }
}

async fn stay_as_they_are(stage: &Stage) {
    let hands = stage.tenant("m2").await;
    let (receiver, url) = receiver(200).await;
    hands.webhook(&url).await;
    let long = format!("[{}]", "9".repeat(100_000));
    for data in [
        r#"{"n": 1.0, "m": 1e400, "k": -0, "big": 12345678901234567890123, "e": 1E+2}"#,
        "9007199254740993",
        r#"{"a":1,"a":2,"__proto__":{"x":1},"":0}"#,
        r#""\u0000 \ud800 \/ \u00e9 \udc00\ud800""#,
        "[ 1 ,\n2 ]",
        "null",
        long.as_str(),
    ] {
        let published = publish(&hands.client, &event(data.as_bytes())).await.is(202).json();
        hands.delivery(&published, "delivered").await;
        let shown =
            hands.client.get(&format!("/v1/events/{}", published["id"].as_str().unwrap())).await;
        assert!(shown.is(200).text().contains(&format!("\"data\":{data},")), "{data:.60}");
        let sent = receiver.requests().last().unwrap().text();
        assert!(sent.ends_with(&format!("\"data\":{data}}}")), "{data:.60}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_json_stays_byte_for_byte() {
    stay_as_they_are(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_too() {
    stay_as_they_are(&Stage::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn depth_to_the_limit() {
    let stage = Stage::new().await;
    let client = stage.tenant("m2").await.client;
    let nested = |depth: usize| event(&[b"[".repeat(depth), b"]".repeat(depth)].concat());
    // The event is the outermost.
    publish(&client, &nested(63)).await.is(202);
    for depth in [64, 127, 128, 129] {
        publish(&client, &nested(depth)).await.refused(400, "bad_json");
    }
}

/// JSON by RFC 8259, each as the data of an event.
const TAKEN: &[&[u8]] = &[
    b"null",
    b"true",
    b"false",
    b"0",
    b"-0",
    b"-1",
    b"7.25",
    b"1e3",
    b"1E3",
    b"1e+3",
    b"1e-3",
    b"-1.5E+10",
    b"123456789012345678901234567890",
    b"0.1e1",
    b"1e400",
    b"-1e400",
    b"9007199254740993",
    br#""""#,
    br#""text""#,
    br#""\"\\\/\b\f\n\r\t""#,
    br#""\u0041""#,
    br#""\u00e9\u2028""#,
    br#""\ud83d\ude00""#,
    br#""\u0000""#,
    br#""\ud800""#,
    br#""\udc00\ud800""#,
    "\"\u{e9}\u{20ac}\u{1f600}\"".as_bytes(),
    b"\"\x7f\"",
    "\"\u{2028}\u{2029}\"".as_bytes(),
    br#""a/b""#,
    br#""[{\"""#,
    b"[]",
    b"[ ]",
    b"[1]",
    b"[1,2]",
    b"[1 , 2]",
    b"[[],[[]]]",
    b"[null,true,\"x\",{}]",
    b" [\t1\r\n] ",
    b"{}",
    b"{ }",
    br#"{"a":1}"#,
    br#"{"a":1,"b":[]}"#,
    br#"{"":0}"#,
    br#"{"a":1,"a":2}"#,
    br#"{"a":{"a":{"a":null}}}"#,
    br#"{"__proto__":1}"#,
    br#"{"\u0061":1}"#,
    br#"{"a" : 1 , "b" : 2}"#,
    b"{\n\"x\"\n:\n1\n}",
];

/// Text that resembles JSON but is none.
const REFUSED: &[&[u8]] = &[
    b"",
    b" ",
    b"nul",
    b"NULL",
    b"True",
    b"undefined",
    b"NaN",
    b"-NaN",
    b"Infinity",
    b"-Infinity",
    b"01",
    b"-01",
    b"00",
    b"+1",
    b"--1",
    b"- 1",
    b"1.",
    b".5",
    b"-.5",
    b"1.e3",
    b"1e",
    b"1e+",
    b"1e1.5",
    b"1 000",
    b"0x10",
    b"0b1",
    b"1_000",
    b"1f",
    b"1,5",
    b"\xef\xbc\x91",
    b"-",
    b"e1",
    b"1ee2",
    br#"""#,
    br#""a"#,
    br"'a'",
    br#""\x41""#,
    br#""\u12""#,
    br#""\u123g""#,
    br#""\U0041""#,
    br#""\""#,
    br#""\a""#,
    b"\"a\nb\"",
    b"\"a\tb\"",
    b"\"a\x00b\"",
    b"\"\x1f\"",
    b"\"\xff\"",
    b"\"\xc0\xaf\"",
    b"\"\xed\xa0\x80\"",
    b"\"\xf4\x90\x80\x80\"",
    b"\"\xe2\x82\"",
    b"\xef\xbb\xbf1",
    b"[",
    b"]",
    b"[1",
    b"[1,",
    b"[1,]",
    b"[,1]",
    b"[,]",
    b"[1 2]",
    b"[1;2]",
    b"[1]]",
    b"[[1]",
    b"[1}",
    b"(1)",
    b"[*]",
    b"{",
    b"}",
    br#"{"a"}"#,
    br#"{"a":}"#,
    br"{:1}",
    br#"{"a":1,}"#,
    br#"{,"a":1}"#,
    br#"{"a" 1}"#,
    br#"{"a"=1}"#,
    br"{a:1}",
    br"{'a':1}",
    br"{1:1}",
    br"{null:1}",
    br#"{"a":1 "b":2}"#,
    br#"{"a":1]"#,
    br#"{"a":1}}"#,
    br#"{"a":1"#,
    br#"{"a"::1}"#,
    b"[1] 2",
    b"{} {}",
    b"1 //x",
    b"/* x */ 1",
    b"1 # x",
    b"\x0c1",
    b"1\xc2\xa0",
    b"\x00",
    b"<a/>",
    b"`a`",
    b"True\0",
];

#[tokio::test(flavor = "multi_thread")]
async fn what_is_json_and_what_is_not() {
    let stage = Stage::new().await;
    let client = stage.tenant("m2").await.client;
    for data in TAKEN {
        let reply = publish(&client, &event(data)).await;
        assert_eq!(reply.status, 202, "{} {}", String::from_utf8_lossy(data), reply.text());
    }
    let deep = [b"[".repeat(100_000), b"[{\"\":".repeat(50_000)];
    for data in REFUSED.iter().copied().chain(deep.iter().map(Vec::as_slice)) {
        let reply = publish(&client, &event(data)).await;
        let start = &data[..data.len().min(40)];
        assert_eq!(reply.status, 400, "{}", String::from_utf8_lossy(start));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_types_of_content() {
    let stage = Stage::new().await;
    let client = stage.tenant("m2").await.client;
    let good = br#"{"type":"a.b","data":1}"#;
    for kind in [
        "text/plain",
        "application/jsonx",
        "application/xml",
        "multipart/form-data; boundary=x",
        "application/json; charset=utf-16",
        "application/json; charset=latin1",
        "json",
        "",
        "application/json, text/plain",
        "application/json; x=y",
        "application/vnd.api+json",
    ] {
        let reply = client.send("POST", "/v1/events", &[("content-type", kind)], Some(good)).await;
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (415, "unsupported_media_type"),
            "{kind}"
        );
    }
    client.send("POST", "/v1/events", &[], Some(good)).await.refused(415, "unsupported_media_type");
    let twice = [("content-type", "application/json"), ("content-type", "application/json")];
    client.send("POST", "/v1/events", &twice, Some(good)).await.is(415);
    for coding in ["gzip", "deflate", "br", "zstd", "gzip, gzip"] {
        let packed = [("content-type", "application/json"), ("content-encoding", coding)];
        client
            .send("POST", "/v1/events", &packed, Some(good))
            .await
            .refused(415, "unsupported_media_type");
    }
}
