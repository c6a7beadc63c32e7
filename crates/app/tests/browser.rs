//! A browser, as far as the dashboard needs one: cookies, forms and the headers that browsers send.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use crate::gateway::{Gateway, TOKEN};

#[derive(Clone)]
pub struct Browser {
    address: SocketAddr,
    pub session: Option<String>,
    session_cookie: &'static str,
    /// The cookie of the portal, with its name.
    pub portal: Option<String>,
    pub language: &'static str,
}

pub struct Page {
    pub status: u16,
    pub head: String,
    pub html: String,
}

impl Page {
    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub fn location(&self) -> &str {
        self.header("location")
            .unwrap_or_else(|| panic!("no redirect: {}\n{}", self.head, self.html))
    }

    /// Returns the cookies that it sets, without their attributes.
    pub fn cookies(&self) -> impl Iterator<Item = &str> {
        let lines = self.head.lines().filter_map(|line| line.strip_prefix("set-cookie: "));
        lines.map(|line| line.split(';').next().unwrap())
    }

    /// Returns the token of the first form.
    pub fn csrf(&self) -> &str {
        let (_, rest) = self.html.split_once("name=\"csrf\" value=\"").expect("a form");
        rest.split('"').next().unwrap()
    }

    /// Returns the value of a hidden field.
    pub fn value_of(&self, name: &str) -> String {
        let (_, rest) =
            self.html.split_once(&format!("name=\"{name}\" value=\"")).expect("a field");
        let escaped = rest.split('"').next().unwrap();
        escaped.replace("&#34;", "\"").replace("&#39;", "'").replace("&#38;", "&")
    }

    #[track_caller]
    pub fn has(&self, text: &str) -> &Self {
        assert!(self.html.contains(text), "`{text}` is not in:\n{}\n{}", self.head, self.html);
        self
    }

    #[track_caller]
    pub fn lacks(&self, text: &str) -> &Self {
        assert!(!self.html.contains(text), "`{text}` is in:\n{}", self.html);
        self
    }
}

impl Browser {
    pub fn new(gateway: &Gateway) -> Self {
        let session_cookie = "gancho_session";
        Self {
            address: gateway.address,
            session: None,
            session_cookie,
            portal: None,
            language: "en",
        }
    }

    /// Returns a browser that is logged in with the operator token.
    pub fn logged_in(gateway: &Gateway) -> Self {
        let mut browser = Self::new(gateway);
        let page = browser.log_in(TOKEN);
        assert_eq!((page.status, page.location()), (303, "/ui/"), "{}", page.html);
        browser
    }

    /// Returns the same browser at another node.
    pub fn at(&self, gateway: &Gateway) -> Self {
        Self { address: gateway.address, ..self.clone() }
    }

    pub fn log_in(&mut self, token: &str) -> Page {
        self.log_in_as("", token)
    }

    /// Logs in as a user, or without a name with the operator token.
    pub fn log_in_as(&mut self, name: &str, secret: &str) -> Page {
        let fields = form(&[("name", name), ("token", secret)]);
        let page = self.send("POST", "/ui/login", &[SAME_ORIGIN], &fields);
        for name in ["gancho_session", "__Secure-gancho_session"] {
            let mut values = page.cookies().filter_map(|cookie| cookie.strip_prefix(name));
            if let Some(value) = values.find_map(|value| value.strip_prefix('=')) {
                (self.session, self.session_cookie) = (Some(value.to_owned()), name);
            }
        }
        page
    }

    /// Returns a browser of a tenant's user in the portal.
    pub fn in_portal(gateway: &Gateway, tenant: &str) -> Self {
        let mut browser = Self::new(gateway);
        let entered = browser.enter(&portal_link(gateway, tenant, "1h"));
        assert_eq!((entered.status, entered.location()), (303, "/portal/"), "{}", entered.html);
        browser
    }

    /// Opens a portal link and stores the cookie.
    pub fn enter(&mut self, link: &str) -> Page {
        let page = self.get(link);
        let cookies = page.head.lines().filter_map(|line| line.strip_prefix("set-cookie: "));
        let mut sessions = cookies.filter(|cookie| cookie.contains("gancho_portal="));
        if let Some(cookie) = sessions.next() {
            self.portal = Some(cookie.split(';').next().unwrap().to_owned());
        }
        page
    }

    /// Sends a form of the portal and opens the page that it leads to.
    #[track_caller]
    pub fn submit_in_portal(&self, path: &str, fields: &[(&str, &str)]) -> Page {
        let token = self.open("/portal/keys").csrf().to_owned();
        let mut fields = fields.to_vec();
        fields.push(("csrf", &token));
        let answer = self.send("POST", path, &[SAME_ORIGIN], &form(&fields));
        if answer.status == 303 { self.follow(&answer) } else { answer }
    }

    /// Opens the page that a response leads to, with the cookies that it sets.
    #[track_caller]
    pub fn follow(&self, answer: &Page) -> Page {
        let path = answer.location().split('#').next().unwrap();
        let cookies: Vec<_> = answer.cookies().map(|cookie| ("cookie", cookie)).collect();
        let page = self.send("GET", path, &cookies, "");
        assert_eq!(page.status, 200, "{path}: {}\n{}", page.head, page.html);
        page
    }

    pub fn get(&self, path: &str) -> Page {
        self.send("GET", path, &[], "")
    }

    /// Opens a page that must exist.
    #[track_caller]
    pub fn open(&self, path: &str) -> Page {
        let page = self.get(path);
        assert_eq!(page.status, 200, "{path}: {}\n{}", page.head, page.html);
        page
    }

    /// Sends a form with the token of this session, as a page of the dashboard does.
    pub fn submit(&self, path: &str, fields: &[(&str, &str)]) -> Page {
        let token = self.open("/ui/queues").csrf().to_owned();
        let mut fields = fields.to_vec();
        fields.push(("csrf", &token));
        self.send("POST", path, &[SAME_ORIGIN], &form(&fields))
    }

    /// Sends a form and opens the page that it leads to.
    #[track_caller]
    pub fn submit_and_follow(&self, path: &str, fields: &[(&str, &str)]) -> Page {
        let answer = self.submit(path, fields);
        assert_eq!(answer.status, 303, "{path}: {}\n{}", answer.head, answer.html);
        self.follow(&answer)
    }

    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Page {
        self.send_to(&self.address.to_string(), method, path, headers, body)
    }

    /// Sends a request under another name of the gateway.
    pub fn send_to(
        &self,
        host: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Page {
        let mut stream = self.sent_to(host, method, path, headers, body);
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let (head, html) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Page { status, head: head.to_owned(), html: html.to_owned() }
    }

    /// Opens a response that is read as it arrives.
    pub fn stream(&self, path: &str) -> PageStream {
        let stream = self.sent_to(&self.address.to_string(), "GET", path, &[], "");
        let mut answer = PageStream { stream, text: String::new() };
        answer.wait_for("\r\n\r\n");
        assert!(answer.text.starts_with("HTTP/1.1 200"), "{}", answer.text);
        answer
    }

    fn sent_to(
        &self,
        host: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\naccept-language: {}\r\n",
            self.language
        );
        if let Some(session) = &self.session {
            request.extend(["cookie: other=1; ", self.session_cookie, "=", session, "\r\n"]);
        }
        if let Some(portal) = &self.portal {
            request.extend(["cookie: ", portal, "\r\n"]);
        }
        for (name, value) in headers {
            request.extend([name, ": ", value, "\r\n"]);
        }
        if method == "POST" {
            let length = body.len().to_string();
            request.push_str("content-type: application/x-www-form-urlencoded\r\n");
            request.extend(["content-length: ", &length, "\r\n"]);
        }
        stream.write_all(format!("{request}\r\n{body}").as_bytes()).unwrap();
        stream
    }
}

/// A response that has not ended.
pub struct PageStream {
    stream: TcpStream,
    /// The text that has arrived.
    pub text: String,
}

impl PageStream {
    pub fn head(&self) -> &str {
        self.text.split("\r\n\r\n").next().unwrap()
    }

    pub fn wait_for(&mut self, text: &str) {
        while !self.text.contains(text) {
            assert!(self.fill(), "`{text}` did not come:\n{}", self.text);
        }
    }

    pub fn wait_for_end(&mut self) {
        while self.fill() {}
    }

    fn fill(&mut self) -> bool {
        let mut bytes = [0; 8192];
        let count = self.stream.read(&mut bytes).expect("something comes in time");
        self.text.push_str(&String::from_utf8_lossy(&bytes[..count]));
        count > 0
    }
}

/// Returns the path of a new portal link.
pub fn portal_link(gateway: &Gateway, tenant: &str, expires_in: &str) -> String {
    let body = format!(r#"{{"tenant":"{tenant}","expires_in":"{expires_in}"}}"#);
    let made = gateway.operator("POST", "/v1/portal-links", &body);
    assert_eq!(made.status, 201, "{}", made.body);
    let url = made.json()["url"].as_str().unwrap().to_owned();
    let (_, path) = url.split_once("://").unwrap().1.split_once('/').unwrap();
    format!("/{path}")
}

pub const SAME_ORIGIN: (&str, &str) = ("sec-fetch-site", "same-origin");

/// Encodes fields of a form as a browser does.
pub fn form(fields: &[(&str, &str)]) -> String {
    let encode = |text: &str| -> String {
        let byte = |byte: u8| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
                char::from(byte).to_string()
            }
            byte => format!("%{byte:02X}"),
        };
        text.bytes().map(byte).collect()
    };
    let pairs = fields.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value)));
    pairs.collect::<Vec<_>>().join("&")
}
