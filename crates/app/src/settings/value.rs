//! Turning what was written into a setting, and back into what could be written.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    str::FromStr,
    time::Duration,
};

use gancho_archive::s3::S3Location;
use gancho_domain::Rate;
use ipnet::IpNet;

use super::{
    amount::{self, Size},
    error::ValueError,
    raw_value::RawValue,
};

pub trait Setting: Sized {
    /// What may be written, for the reference.
    const FORM: &'static str;

    fn read(written: &RawValue) -> Result<Self, ValueError>;

    /// As it would be written in the file; secrets are covered.
    fn show(&self) -> String;
}

pub fn one(written: &RawValue) -> Result<&str, ValueError> {
    match written {
        RawValue::One(text) => Ok(text.trim()),
        RawValue::Many(_) => Err(ValueError::new("expected one value, not a list", "")),
    }
}

pub fn quoted(text: &impl ToString) -> String {
    format!("{:?}", text.to_string())
}

/// An empty text is none at all, and so is `none`, where there is a default to do without.
impl<T: Setting> Setting for Option<T> {
    const FORM: &'static str = T::FORM;

    fn read(written: &RawValue) -> Result<Self, ValueError> {
        match written {
            RawValue::One(text) if matches!(text.trim(), "" | "none") => Ok(None),
            written => T::read(written).map(Some),
        }
    }

    fn show(&self) -> String {
        self.as_ref().map_or_else(String::new, T::show)
    }
}

/// In a file an array, elsewhere separated by commas.
impl<T: Setting> Setting for Vec<T> {
    const FORM: &'static str = T::FORM;

    fn read(written: &RawValue) -> Result<Self, ValueError> {
        let texts: Vec<&str> = match written {
            RawValue::One(text) => text.split(',').collect(),
            RawValue::Many(texts) => texts.iter().map(String::as_str).collect(),
        };
        let texts = texts.into_iter().map(str::trim).filter(|text| !text.is_empty());
        texts.map(|text| T::read(&RawValue::One(text.to_owned()))).collect()
    }

    fn show(&self) -> String {
        let all: Vec<String> = self.iter().map(T::show).collect();
        format!("[{}]", all.join(", "))
    }
}

impl Setting for bool {
    const FORM: &'static str = "true or false";

    fn read(written: &RawValue) -> Result<Self, ValueError> {
        match one(written)? {
            "true" | "1" | "yes" | "on" => Ok(true),
            "false" | "0" | "no" | "off" => Ok(false),
            other => {
                Err(ValueError::new(format!("`{other}` is not a boolean"), "use true or false"))
            }
        }
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for String {
    const FORM: &'static str = "text";

    fn read(written: &RawValue) -> Result<Self, ValueError> {
        one(written).map(str::to_owned)
    }

    fn show(&self) -> String {
        quoted(self)
    }
}

impl Setting for PathBuf {
    const FORM: &'static str = "a path";

    fn read(written: &RawValue) -> Result<Self, ValueError> {
        match one(written)? {
            "" => {
                Err(ValueError::new("the path is empty", "remove the setting to use its default"))
            }
            text => Ok(text.into()),
        }
    }

    fn show(&self) -> String {
        quoted(&self.display())
    }
}

impl Setting for Size {
    const FORM: &'static str = "a size, e.g. `1MiB`";

    fn read(written: &RawValue) -> Result<Self, ValueError> {
        amount::size(one(written)?)
    }

    fn show(&self) -> String {
        quoted(&amount::show_size(*self))
    }
}

impl Setting for Duration {
    const FORM: &'static str = "a duration, e.g. `30s` or `5d`";

    fn read(written: &RawValue) -> Result<Self, ValueError> {
        amount::span(one(written)?)
    }

    fn show(&self) -> String {
        quoted(&amount::show_span(*self))
    }
}

impl Setting for Rate {
    const FORM: &'static str = "a rate, e.g. `100/s`";

    fn read(written: &RawValue) -> Result<Self, ValueError> {
        amount::rate(one(written)?)
    }

    fn show(&self) -> String {
        quoted(&amount::show_rate(*self))
    }
}

impl Setting for S3Location {
    const FORM: &'static str = "`s3://BUCKET/PREFIX`";

    fn read(written: &RawValue) -> Result<Self, ValueError> {
        let read = one(written)?.parse::<Self>();
        read.map_err(|error| {
            ValueError::new(error.to_string(), "for example, s3://dead-letters/gancho")
        })
    }

    fn show(&self) -> String {
        quoted(self)
    }
}

macro_rules! parsed {
    ($($kind:ty, $form:literal, $shown:expr;)*) => {$(
        impl Setting for $kind {
            const FORM: &'static str = $form;

            fn read(written: &RawValue) -> Result<Self, ValueError> {
                parse(one(written)?, $form)
            }

            fn show(&self) -> String {
                $shown(self)
            }
        }
    )*};
}

parsed! {
    u16, "an integer up to 65535", ToString::to_string;
    u32, "an integer", ToString::to_string;
    usize, "an integer", ToString::to_string;
    SocketAddr, "an address and port, e.g. `127.0.0.1:3000`", quoted;
    IpNet, "a network in CIDR notation, e.g. `10.0.0.0/8`", quoted;
    Egress, "an address or network, e.g. `203.0.113.7`", quoted;
}

/// An address from which deliveries leave, or a network of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Egress(IpNet);

impl FromStr for Egress {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let one = text.parse::<IpAddr>().map(IpNet::from);
        one.or_else(|_| text.parse()).map(Self).map_err(|_| ())
    }
}

impl fmt::Display for Egress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.prefix_len() == self.0.max_prefix_len() {
            return self.0.addr().fmt(f);
        }
        self.0.fmt(f)
    }
}

fn parse<T: FromStr>(text: &str, form: &str) -> Result<T, ValueError> {
    let (kind, example) = form.split_once(", e.g. ").unwrap_or((form, ""));
    let hint = match example.trim_matches('`') {
        "" => "use digits only".to_owned(),
        example => format!("for example, {example}"),
    };
    text.parse().map_err(|_| ValueError::new(format!("`{text}` is not {kind}"), hint))
}

macro_rules! words {
    ($($(#[$doc:meta])* $kind:ident { $($(#[$why:meta])* $variant:ident $word:literal,)* } $form:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $kind { $($(#[$why])* $variant,)* }

        impl Setting for $kind {
            const FORM: &'static str = $form;

            fn read(written: &RawValue) -> Result<Self, ValueError> {
                match one(written)? {
                    $($word => Ok(Self::$variant),)*
                    other => Err(ValueError::new(
                        format!("`{other}` is not one of the allowed values"),
                        concat!("use ", $form),
                    )),
                }
            }

            fn show(&self) -> String {
                quoted(&match self { $(Self::$variant => $word,)* })
            }
        }
    )*};
}

words! {
    /// The format of log lines.
    LogFormat {
        /// Pretty on a terminal, JSON elsewhere.
        Auto "auto",
        Pretty "pretty",
        Json "json",
    } "auto, pretty or json";
    /// The e-mail transport.
    EmailVia {
        Off "off",
        Smtp "smtp",
        Ses "ses",
        /// Captures e-mails for a developer instead of sending them.
        Sink "sink",
    } "off, smtp, ses or sink";
    /// A role of the process.
    Role {
        Api "api",
        Ingest "ingest",
        Worker "worker",
    } "api, ingest or worker";
}
