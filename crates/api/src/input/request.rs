//! Request types: one declaration is the struct, the description of its fields and its parser.
//!
//! ```text
//! request! {
//!     /// `POST /v1/portal-links`.
//!     struct PortalLinkBody {
//!         /// Slug or id of the tenant.
//!         required tenant: String as id(Noun::Tenant),
//!         /// How long the link is valid. Default: `1h`; at most `24h`.
//!         optional expires_in: Duration as span(),
//!     }
//! }
//! ```
//!
//! The comment of a field is its description in the API reference. The word before a field says whether it may
//! be left out or null, and which type it gets:
//!
//! | | left out | `null` | type of the field |
//! |---|---|---|---|
//! | `required` | error | error | `T` |
//! | `optional` | `None` | error | `Option<T>` |
//! | `nullable` | `None` | `None` | `Option<T>` |
//! | `clearable` | `None` | `Some(None)` | `Option<Option<T>>` |
//! | `flatten` | | | another request type, whose fields are part of this one |
//!
//! `as` names what the field accepts, see [`spec`](super::spec); a Rust type that cannot hold it does not compile.
//! A field with another name on the wire is written `name = "wireName": …`.

use std::vec;

use super::{
    Field, Value,
    spec::{FromValue, Spec},
};

/// The parsed values of a request, in the order of its fields.
pub type ParsedFields<'a> = vec::IntoIter<Option<Value<'a>>>;

/// A type declared with [`request!`]. `'a` is the lifetime of the text that it was parsed from.
pub trait Request<'a>: Sized {
    /// The name of the type.
    const NAME: &'static str;
    const FIELDS: &'static [Field];

    /// Takes its values from the slots. `None` only if they were not parsed by [`Self::FIELDS`].
    fn from_slots(slots: &mut ParsedFields<'a>) -> Option<Self>;
}

macro_rules! request {
    ($(#[$meta:meta])* $vis:vis struct $name:ident<$life:lifetime> { $($fields:tt)* }) => {
        $crate::input::request::request! {
            @declare [$(#[$meta])*] [$vis] $name [$life] [<$life>] $($fields)*
        }
    };
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($fields:tt)* }) => {
        $crate::input::request::request! {
            @declare [$(#[$meta])*] [$vis] $name ['request] [] $($fields)*
        }
    };
    (@declare [$(#[$meta:meta])*] [$vis:vis] $name:ident [$life:lifetime] [$($params:tt)*] $(
        $(#[doc = $about:literal])*
        $presence:ident $field:ident $(= $wire:literal)? : $type:ty $(as $spec:expr)?
    ),* $(,)?) => {
        $(#[$meta])*
        #[allow(clippy::option_option, reason = "left out, null or a value")]
        $vis struct $name $($params)* {
            $(
                $(#[doc = $about])*
                pub $field: $crate::input::request::request!(@type $presence $type),
            )*
        }

        const _: () = {
            #[allow(unused_imports, reason = "a type of flattened ones names no specification")]
            use $crate::input::spec::*;

            const PARTS: &[&[$crate::input::Field]] = &[$(
                $crate::input::request::request!(
                    @fields $presence $type,
                    $crate::input::request::request!(@name $field $($wire)?),
                    [$($about)*],
                    [$($spec)?]
                ),
            )*];
            const FIELDS: [$crate::input::Field; $crate::input::field::total(PARTS)] =
                $crate::input::field::concat(PARTS);

            impl<$life> $crate::input::Request<$life> for $name $($params)* {
                const NAME: &'static str = stringify!($name);
                const FIELDS: &'static [$crate::input::Field] = &FIELDS;

                fn from_slots(
                    slots: &mut $crate::input::request::ParsedFields<$life>,
                ) -> Option<Self> {
                    Some(Self {
                        $($field: $crate::input::request::request!(
                            @take $presence $type, slots, [$($spec)?]
                        )?,)*
                    })
                }
            }
        };
    };

    (@type required $type:ty) => { $type };
    (@type optional $type:ty) => { Option<$type> };
    (@type nullable $type:ty) => { Option<$type> };
    (@type clearable $type:ty) => { Option<Option<$type>> };
    (@type flatten $type:ty) => { $type };

    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $wire:literal) => { $wire };

    (@fields flatten $type:ty, $name:expr, [], []) => {
        <$type as $crate::input::Request>::FIELDS
    };
    (@fields $presence:ident $type:ty, $name:expr, [$($about:literal)*], [$spec:expr]) => {
        &[$crate::input::Field {
            name: $name,
            kind: $spec.kind,
            is_required: $crate::input::request::request!(@is_required $presence),
            is_nullable: $crate::input::request::request!(@is_nullable $presence),
            about: concat!($($about),*).trim_ascii_start(),
        }]
    };

    (@is_required required) => { true };
    (@is_required $presence:ident) => { false };
    (@is_nullable nullable) => { true };
    (@is_nullable clearable) => { true };
    (@is_nullable $presence:ident) => { false };

    (@take flatten $type:ty, $slots:ident, []) => {
        <$type as $crate::input::Request>::from_slots($slots)
    };
    (@take required $type:ty, $slots:ident, [$spec:expr]) => {
        $crate::input::request::required($slots, &$spec)
    };
    (@take clearable $type:ty, $slots:ident, [$spec:expr]) => {
        $crate::input::request::clearable($slots, &$spec)
    };
    (@take $presence:ident $type:ty, $slots:ident, [$spec:expr]) => {
        $crate::input::request::optional($slots, &$spec)
    };
}

pub(crate) use request;

/// Returns the value of a required field.
pub fn required<'a, M, T: FromValue<'a, M>>(
    slots: &mut ParsedFields<'a>,
    _: &Spec<M>,
) -> Option<T> {
    T::from_value(slots.next()??)
}

/// Returns the value of a field that may be missing; null is the same as missing.
#[allow(clippy::option_option, reason = "the outer one is of the slots")]
pub fn optional<'a, M, T: FromValue<'a, M>>(
    slots: &mut ParsedFields<'a>,
    _: &Spec<M>,
) -> Option<Option<T>> {
    match slots.next()? {
        None | Some(Value::Null) => Some(None),
        Some(value) => T::from_value(value).map(Some),
    }
}

/// Returns the value of a field that may be missing, or reset with null.
#[allow(clippy::option_option, reason = "the outer one is of the slots")]
pub fn clearable<'a, M, T: FromValue<'a, M>>(
    slots: &mut ParsedFields<'a>,
    _: &Spec<M>,
) -> Option<Option<Option<T>>> {
    match slots.next()? {
        None => Some(None),
        Some(Value::Null) => Some(Some(None)),
        Some(value) => T::from_value(value).map(|value| Some(Some(value))),
    }
}

#[cfg(test)]
mod tests {
    use std::{borrow::Cow, time::Duration};

    use super::super::{body, field::ResourceKind};

    request! {
        #[derive(Debug, Default, PartialEq)]
        struct Window {
            /// Length of the
            /// window.
            optional length: Duration as span(),
        }
    }

    request! {
        #[derive(Debug, PartialEq)]
        struct Sample<'a> {
            /// The name.
            required name: Cow<'a, str> as text(1, 8),
            nullable reply_to = "replyTo": String as text(0, 8),
            flatten window: Window,
            clearable limit: Window as object::<Window>(),
            optional webhook: String as id(ResourceKind::Webhook),
            optional data: &'a str as json(),
        }
    }

    fn parse(text: &str) -> Sample<'_> {
        body::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn one_declaration_is_the_type_the_fields_and_the_parser() {
        let names: Vec<_> = <Sample as super::Request>::FIELDS
            .iter()
            .map(|field| (field.name, field.is_required, field.is_nullable, field.about))
            .collect();
        assert_eq!(
            names,
            [
                ("name", true, false, "The name."),
                ("replyTo", false, true, ""),
                ("length", false, false, "Length of the window."),
                ("limit", false, true, ""),
                ("webhook", false, false, ""),
                ("data", false, false, ""),
            ]
        );
        let little = parse(r#"{"name": "a"}"#);
        assert_eq!((&*little.name, &little.reply_to, &little.limit), ("a", &None, &None));
        let cleared = parse(r#"{"name": "a", "replyTo": null, "limit": null}"#);
        assert_eq!((cleared.reply_to, cleared.limit), (None, Some(None)));
        let whole = parse(
            r#"{"limit": {"length": "2s"}, "data": [1, 2 ], "length": "1s", "replyTo": "b", "name": "a"}"#,
        );
        assert_eq!(whole.window, Window { length: Some(Duration::from_secs(1)) });
        assert_eq!(whole.limit, Some(Some(Window { length: Some(Duration::from_secs(2)) })));
        assert_eq!((whole.reply_to.as_deref(), whole.data), (Some("b"), Some("[1, 2 ]")));
    }

    #[test]
    fn all_errors_are_reported_at_once() {
        let text = r#"{"name": "", "limit": {"length": 1}, "webhook": null, "nam": 1}"#;
        let error = body::parse::<Sample>(text.as_bytes()).unwrap_err();
        let body::BodyError::Invalid(errors) = error else { panic!("{error:?}") };
        let pointers: Vec<_> = errors.0.iter().map(|error| &*error.pointer).collect();
        assert_eq!(pointers, ["/name", "/limit/length", "/webhook", "/nam"]);
    }
}
