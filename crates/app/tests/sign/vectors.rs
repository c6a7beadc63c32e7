//! `gancho sign` and `gancho verify`, compared with published vectors.

use std::{fs, path::Path};

use serde_json::Value;

use crate::{gateway::command, operator::alone};

/// Returns what a command prints, with a secret in the environment and a body in a file.
fn run(folder: &Path, arguments: &[&str], secret: &str, body: &str) -> (i32, String, String) {
    let path = folder.join("body");
    fs::write(&path, body).unwrap();
    let mut command = command(arguments, folder);
    command.env("GANCHO_SECRET", secret).args(["--body-file", path.to_str().unwrap()]);
    let ended = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (ended.status.code().unwrap(), text(ended.stdout), text(ended.stderr))
}

fn vectors() -> Vec<Value> {
    let text = include_str!("../../../wire/tests/vectors/signatures.json");
    serde_json::from_str(text).unwrap()
}

#[test]
fn published_vectors_are_signed_and_verified() {
    let folder = tempfile::tempdir().unwrap();
    let mut signed = 0;
    for vector in vectors() {
        let Some(profile) = vector["profile"].as_str() else { continue };
        let seed = vector["private_seed_base64"].as_str().map(|seed| format!("whsk_{seed}"));
        let secret = seed.unwrap_or_else(|| vector["secret"].as_str().unwrap().to_owned());
        let time = vector["timestamp"].as_i64().or(vector["timestamp_ms"].as_i64());
        let time = time.unwrap_or(1_706_012_345).to_string();
        let id = vector["id"].as_str().unwrap_or("evt_1");
        let body = vector["body"].as_str().unwrap();
        let arguments = ["sign", "--profile", profile, "--id", id, "--at", &time, "--json"];
        let (code, out, err) = run(folder.path(), &arguments, &secret, body);
        assert_eq!(code, 0, "{vector}: {err}");
        let made: Value = serde_json::from_str(&out).unwrap();
        let mut arguments = vec!["verify", "--profile", profile, "--at", &time];
        let mut lines = Vec::new();
        for (name, value) in vector["headers"].as_object().unwrap() {
            if name.to_lowercase().contains("signature")
                || name.to_lowercase().contains("timestamp")
            {
                assert_eq!(&made[name], value, "{name} of {vector}");
            }
            lines.push(format!("{name}: {}", value.as_str().unwrap()));
        }
        for line in &lines {
            arguments.extend(["-H", line]);
        }
        let public = vector["public_key_base64"].as_str().map(|key| format!("whpk_{key}"));
        let (code, out, err) =
            run(folder.path(), &arguments, public.as_deref().unwrap_or(&secret), body);
        assert_eq!(code, 0, "{vector}: {err}");
        assert!(out.starts_with("The signature is valid"), "{out}");
        let (code, _, err) =
            run(folder.path(), &arguments, public.as_deref().unwrap_or(&secret), "[0]");
        assert_eq!(code, 3, "another body is not verified: {err}");
        assert!(err.contains("hint: the body must be the bytes that were sent"), "{err}");
        signed += 1;
    }
    assert!(signed >= 8, "{signed}");
}

#[test]
fn senders_sign_what_their_presets_verify() {
    let folder = tempfile::tempdir().unwrap();
    for sender in ["partner", "standard", "stripe", "github", "slack", "shopify"] {
        let secret = "whsec_naF9CTVc42DAugdYTAuWuNRDDEwowAdJ";
        let (code, out, err) = run(folder.path(), &["sign", "--sender", sender], secret, "{}");
        assert_eq!(code, 0, "{sender}: {err}");
        let headers = folder.path().join("headers");
        fs::write(&headers, format!("POST / HTTP/1.1\n{out}")).unwrap();
        let verify = ["verify", "--sender", sender, "--headers-file", headers.to_str().unwrap()];
        let (code, _, err) = run(folder.path(), &verify, secret, "{}");
        assert_eq!(code, 0, "{sender}: {err}");
        let (code, _, _) = run(folder.path(), &verify, "another secret, long enough", "{}");
        assert_eq!(code, 3, "{sender}");
    }
}

#[test]
fn a_wire_format_of_ones_own_comes_from_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("own.toml");
    // What else the server's file says does not matter here.
    let text = "concurrency = 100\n\n[profiles.acme]\nenvelope = \"standard\"\n\
        headers = [{ name = \"X-Acme-Id\", value = \"event_id\" }]\n\
        signature = { header = \"X-Acme-Signature\", scheme = \"timed-seconds\" }\n";
    fs::write(&config, text).unwrap();
    let (own, secret) = (config.to_str().unwrap(), "a secret, long enough");
    let sign = ["sign", "--profile", "acme", "--config", own, "--at", "1767225600"];
    let (code, out, err) = run(folder.path(), &sign, secret, "{}");
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("X-Acme-Id: evt_test") && out.contains("t=1767225600,v1="), "{out}");
    let headers = folder.path().join("headers");
    fs::write(&headers, out).unwrap();
    let headers = headers.to_str().unwrap();
    let verify = [
        "verify",
        "--profile",
        "acme",
        "--config",
        own,
        "--headers-file",
        headers,
        "--at",
        "1767225600",
    ];
    let (code, _, err) = run(folder.path(), &verify, secret, "{}");
    assert_eq!(code, 0, "{err}");
    let (code, _, _) = run(folder.path(), &verify, secret, "[]");
    assert_eq!(code, 3);

    let (code, _, err) = run(folder.path(), &sign[..3], secret, "{}");
    assert_eq!(
        (code, err.contains("name the file that defines it with --config")),
        (2, true),
        "{err}"
    );
    fs::write(&config, "[profiles.acme]\nenvelope = \"unknown\"\n").unwrap();
    let (code, _, err) = run(folder.path(), &sign, secret, "{}");
    assert_eq!((code, err.contains("profiles.acme (")), (2, true), "{err}");
    fs::write(&config, "[profiles.acme").unwrap();
    let (code, _, err) = run(folder.path(), &sign, secret, "{}");
    assert_eq!((code, err.contains("TOML (")), (2, true), "{err}");
}

#[test]
fn what_is_missing_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let ran = alone(folder.path(), &["sign"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("hint: set GANCHO_SECRET"), "{}", ran.err);
    let (code, _, err) =
        run(folder.path(), &["sign", "--profile", "nothing"], "a secret, long enough", "{}");
    assert_eq!((code, err.contains("hint: standard, email-gateway")), (2, true), "{err}");
    let stale = [
        "verify",
        "-H",
        "webhook-id: a",
        "-H",
        "webhook-timestamp: 1",
        "-H",
        "webhook-signature: v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
    ];
    let (code, _, err) = run(folder.path(), &stale, "a secret, long enough", "{}");
    assert_eq!((code, err.contains("--at verifies a request of the past")), (3, true), "{err}");
}
