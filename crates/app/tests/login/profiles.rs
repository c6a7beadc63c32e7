//! `gancho login`, and which server the other commands call after it.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use crate::{
    gateway::TOKEN,
    operator::{Operator, Ran},
};

struct User {
    at: Operator,
    key: String,
}

impl User {
    /// Starts a gateway with a tenant, and prepares commands that know nothing of it.
    fn start() -> Self {
        let at = Operator::start();
        let key = at.served.tenant("acme");
        Self { at, key }
    }

    fn server(&self) -> String {
        format!("http://{}", self.at.served.address)
    }

    fn run(&self, arguments: &[&str], variables: &[(&str, &str)], input: &str) -> Ran {
        let home = self.at.folder.path().join("home");
        // No gateway of this machine is found.
        let away = [("GANCHO_API_LISTEN", "127.0.0.1:1"), ("HOME", home.to_str().unwrap())];
        self.at.run_with(arguments, &[&away[..], variables].concat(), input)
    }

    fn file(&self) -> PathBuf {
        self.at.folder.path().join("home/.config/gancho/profiles.toml")
    }
}

#[test]
fn a_login_is_used_by_the_commands_that_follow() {
    let user = User::start();
    let server = user.server();
    let away = user.run(&["endpoints", "list"], &[], "");
    assert_eq!(away.code, 6, "{}", away.err);
    assert!(away.err.contains("\nhint: start one with"), "{}", away.err);

    let said = user.run(&["login", "--server", &server], &[], &format!("{}\n", user.key)).ok();
    assert!(said.out.contains("with an API key"), "{}", said.out);
    assert!(!said.out.contains(&user.key) && !said.err.contains(&user.key));
    assert_eq!(fs::metadata(user.file()).unwrap().permissions().mode() & 0o777, 0o600);
    let none = user.run(&["endpoints", "list"], &[], "").ok();
    assert!(none.out.contains("no endpoints yet"), "{}", none.out);

    // The operator's token, under another name, acting for a tenant.
    let operator = ["login", "--server", &server, "--profile", "op", "--tenant", "acme"];
    let said = user.run(&operator, &[("GANCHO_API_KEY", TOKEN)], "").ok();
    assert!(said.out.contains("as the operator"), "{}", said.out);
    user.run(&["tenants", "list", "--profile", "op"], &[], "").ok();
    user.run(&["events", "list"], &[("GANCHO_PROFILE", "op")], "").ok();
    let refused = user.run(&["tenants", "list"], &[], "");
    assert_eq!(refused.code, 5, "{}", refused.err);
    assert!(refused.err.contains("hint: this key is a tenant's: "), "{}", refused.err);

    let listed = user.run(&["login", "--list"], &[], "").ok().out;
    assert!(listed.contains("default") && listed.contains("operator token"), "{listed}");
    assert!(!listed.contains(&user.key) && !listed.contains(TOKEN), "{listed}");
    // A named server that is known has its key; `local` skips the profile.
    user.run(&["endpoints", "list", "--server", &server], &[], "").ok();
    assert_eq!(user.run(&["endpoints", "list", "--profile", "local"], &[], "").code, 6);
    let two = user.run(
        &["tenants", "list", "--profile", "op", "--server", "http://127.0.0.1:2"],
        &[],
        "",
    );
    assert_eq!(two.code, 2, "{}", two.err);
    // A flag takes precedence over a variable.
    let variables = [("GANCHO_URL", "http://127.0.0.1:2")];
    user.run(&["tenants", "list", "--profile", "op"], &variables, "").ok();
    assert_eq!(user.run(&["endpoints", "list"], &variables, "").code, 5, "no key for that one");

    user.run(&["logout"], &[], "").ok();
    assert_eq!(user.run(&["endpoints", "list"], &[], "").code, 6);
    fs::set_permissions(user.file(), fs::Permissions::from_mode(0o644)).unwrap();
    let open = user.run(&["endpoints", "list"], &[], "");
    assert!(open.err.contains("hint: run `chmod 600"), "{}", open.err);
}

#[test]
fn what_is_wrong_is_said_with_a_hint() {
    let user = User::start();
    let server = user.server();
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap();
    // Another program that speaks HTTP.
    std::thread::spawn(move || {
        use std::io::{Read, Write};
        for mut stream in other.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n<ht>");
        }
    });
    let other = format!("http://{address}");
    let tls = server.replace("http://", "https://");
    let key = [("GANCHO_API_KEY", user.key.as_str())];
    let wrong_key = [("GANCHO_API_KEY", "gk_wrong")];
    for (url, variables, code, what, hint) in [
        ("http://127.0.0.1:1", &key, 6, "connection refused", "check the address"),
        (&other, &key, 6, "is not a Gancho API", "check the URL"),
        (&tls, &key, 6, "cannot reach https://", "for plain HTTP, write http://"),
        (&server, &wrong_key, 5, "", "check the key"),
        ("http://nowhere.invalid", &key, 6, "host name is unknown", "check the host name"),
        ("gancho.example.com", &key, 2, "is not the URL of a server", "for example"),
    ] {
        let ran = user.run(&["endpoints", "list", "--server", url], variables, "");
        assert_eq!(ran.code, code, "{url}: {}", ran.err);
        let (error, rest) = ran.err.split_once('\n').unwrap();
        assert!(error.starts_with("error: ") && error.contains(what), "{}", ran.err);
        assert!(rest.starts_with("hint: ") && rest.contains(hint), "{}", ran.err);
        let json = user.run(&["endpoints", "list", "--server", url, "--json"], variables, "");
        let error: serde_json::Value = serde_json::from_str(&json.err).unwrap();
        assert_eq!(error["error"]["exit_code"], code, "{}", json.err);
        assert!(error["error"]["hint"].as_str().unwrap().contains(hint), "{}", json.err);
    }
    let no_key = user.run(&["endpoints", "list", "--server", &server], &[], "");
    assert_eq!(no_key.code, 5, "{}", no_key.err);
    assert!(no_key.err.contains("hint: run `gancho login"), "{}", no_key.err);
    let typo = user.run(&["endpoints", "lsit", "--json"], &key, "");
    let error: serde_json::Value = serde_json::from_str(&typo.err).unwrap();
    assert_eq!((typo.code, &error["error"]["code"]), (2, &"usage".into()), "{}", typo.err);
    assert!(error["error"]["hint"].as_str().unwrap().contains("list"), "{}", typo.err);
}
