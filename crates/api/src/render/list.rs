//! One page of a list.

use std::borrow::Cow;

use serde::Serialize;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Ref, RefOr, Schema,
        schema::{ArrayBuilder, ObjectBuilder, SchemaType, Type},
    },
};

#[derive(Debug, Serialize)]
pub struct List<T> {
    pub data: Vec<T>,
    pub next_cursor: Option<String>,
}

/// By hand, because each kind of list needs its own name.
impl<T: ToSchema> PartialSchema for List<T> {
    fn schema() -> RefOr<Schema> {
        let rows = ArrayBuilder::new()
            .items(RefOr::Ref(Ref::from_schema_name(T::name())))
            .description(Some("The items of this page."));
        let cursor = ObjectBuilder::new()
            .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
            .description(Some("Cursor of the next page; null on the last page. A page may have fewer items than `limit`, even none, and still not be the last: continue until this is null."));
        ObjectBuilder::new()
            .description(Some("One page of a list."))
            .property("data", rows)
            .property("next_cursor", cursor)
            .required("data")
            .required("next_cursor")
            .into()
    }
}

impl<T: ToSchema> ToSchema for List<T> {
    fn name() -> Cow<'static, str> {
        Cow::Owned(format!("ListOf{}", T::name()))
    }

    fn schemas(all: &mut Vec<(String, RefOr<Schema>)>) {
        T::schemas(all);
        all.push((T::name().into_owned(), T::schema()));
    }
}
