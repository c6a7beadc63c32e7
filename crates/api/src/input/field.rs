//! A field of a request, as data: its name, what it accepts, and its description.

#[derive(Debug, Clone, Copy)]
pub struct Field {
    pub name: &'static str,
    pub kind: FieldKind,
    pub is_required: bool,
    /// Whether `null` is accepted, for the default.
    pub is_nullable: bool,
    pub about: &'static str,
}

/// Returns the number of fields in all parts together.
pub const fn total(parts: &[&[Field]]) -> usize {
    let (mut count, mut part) = (0, 0);
    while part < parts.len() {
        count += parts[part].len();
        part += 1;
    }
    count
}

/// Returns the fields of all parts, in their order. `N` is their [`total`].
pub const fn concat<const N: usize>(parts: &[&[Field]]) -> [Field; N] {
    const NONE: Field = Field {
        name: "",
        kind: FieldKind::Flag,
        is_required: false,
        is_nullable: false,
        about: "",
    };
    let mut all = [NONE; N];
    let (mut count, mut part) = (0, 0);
    while part < parts.len() {
        let mut index = 0;
        while index < parts[part].len() {
            all[count] = parts[part][index];
            count += 1;
            index += 1;
        }
        part += 1;
    }
    all
}

#[derive(Debug, Clone, Copy)]
pub enum FieldKind {
    /// A string without control characters.
    Text {
        min: usize,
        max: usize,
    },
    /// A string of several lines.
    Prose {
        max: usize,
    },
    /// A string that no response may repeat.
    Secret {
        max: usize,
    },
    Flag,
    Count {
        min: u64,
        max: u64,
    },
    /// An RFC 3339 timestamp.
    Time,
    /// A duration: `30s`, `5m`, `2h`.
    Span,
    Id(ResourceKind),
    Choice(&'static [&'static str]),
    Texts {
        max: usize,
        max_length: usize,
    },
    /// An object with string values.
    TextMap {
        max: usize,
        max_length: usize,
    },
    Object {
        /// The name of the request type.
        name: &'static str,
        fields: &'static [Field],
    },
    /// An array of objects, which are parsed one by one.
    Objects {
        name: &'static str,
        fields: &'static [Field],
        min: usize,
        max: usize,
    },
    /// Any JSON value, stored as it was sent.
    Json,
    /// Any JSON object, stored as it was sent.
    JsonObject {
        max: usize,
    },
    /// The cursor of a page.
    Cursor,
}

/// The kind of object that an id names. The isolation tests send another tenant's id in every field of this
/// kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceKind {
    Tenant,
    ApiKey,
    Webhook,
    Event,
    Delivery,
    DeadLetter,
    Replay,
    EventType,
    Lane,
    Source,
    SourceKey,
    Receipt,
    Code,
    Email,
    /// Named by its address.
    Suppression,
    User,
    Silence,
    Cell,
}

impl ResourceKind {
    /// Returns the prefix of such ids; `None` if it is a name.
    pub const fn prefix(self) -> Option<&'static str> {
        match self {
            Self::Tenant
            | Self::EventType
            | Self::Lane
            | Self::Source
            | Self::SourceKey
            | Self::Suppression
            | Self::User
            | Self::Cell
            | Self::Code => None,
            Self::Receipt => Some("rcp"),
            Self::Silence => Some("sil"),
            Self::ApiKey => Some("key"),
            Self::Webhook => Some("wh"),
            Self::Event => Some("evt"),
            Self::Delivery | Self::DeadLetter => Some("dlv"),
            Self::Replay => Some("rpl"),
            Self::Email => Some("out"),
        }
    }

    /// Returns the noun in messages.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Tenant => "tenant",
            Self::ApiKey => "API key",
            Self::Webhook => "webhook",
            Self::User => "user",
            Self::Event => "event",
            Self::Delivery => "delivery",
            Self::DeadLetter => "dead letter",
            Self::Replay => "replay",
            Self::EventType => "event type",
            Self::Lane => "lane",
            Self::Source => "source",
            Self::SourceKey => "key",
            Self::Receipt => "receipt",
            Self::Code => "error code",
            Self::Email => "e-mail",
            Self::Suppression => "suppressed address",
            Self::Silence => "silence",
            Self::Cell => "cell",
        }
    }

    fn with_article(self) -> String {
        let word = self.word();
        let article = if word.starts_with(['a', 'e', 'A']) { "an" } else { "a" };
        format!("{article} {word}")
    }
}

impl FieldKind {
    /// Returns what the field accepts, for messages.
    pub fn expects(self) -> String {
        match self {
            Self::Text { min, max } if min > 0 => {
                format!("a string of {min} to {max} characters")
            }
            Self::Text { max, .. } | Self::Prose { max } | Self::Secret { max } => {
                format!("a string of at most {max} characters")
            }
            Self::Flag => "true or false".to_owned(),
            Self::Count { min, max } => format!("an integer from {min} to {max}"),
            Self::Time => "an RFC 3339 timestamp, e.g. \"2026-01-31T12:00:00Z\"".to_owned(),
            Self::Span => "a duration, e.g. \"30s\", \"5m\" or \"2h\"".to_owned(),
            Self::Id(noun) => match noun.prefix() {
                Some(prefix) => format!("the id of {} (`{prefix}_…`)", noun.with_article()),
                None => format!("the name of {}", noun.with_article()),
            },
            Self::Choice(words) => format!("one of \"{}\"", words.join("\", \"")),
            Self::Texts { max, max_length } => {
                format!("an array of at most {max} strings of at most {max_length} characters")
            }
            Self::TextMap { max, .. } => {
                format!("an object with at most {max} string values")
            }
            Self::Object { fields, .. } => {
                let names: Vec<_> = fields.iter().map(|field| field.name).collect();
                format!("an object with the fields {}", names.join(", "))
            }
            Self::Objects { min, max, .. } => format!("an array of {min} to {max} objects"),
            Self::Json => "any JSON value".to_owned(),
            Self::JsonObject { max } => format!("a JSON object of at most {max} bytes"),
            Self::Cursor => "the `next_cursor` of the previous page".to_owned(),
        }
    }
}

/// Maximum length of ids, and of the names of tenants, event types and error codes.
pub const MAX_ID_LENGTH: usize = 256;
pub const MAX_IDEMPOTENCY_KEY: usize = 256;
