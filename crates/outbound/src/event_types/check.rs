//! Judges an event before it is accepted: is its type free to publish, known where it must be, and
//! does its data fit the schema?

use bytes::Bytes;
use gancho_domain::{Tenant, TenantScope, event_type::is_reserved};

use super::{EventTypes, TypeError, known::OneType, own::reserved};
use crate::Fault;

/// Longer data is judged beside the tasks that must not wait.
const LONG: usize = 16 * 1024;

impl EventTypes {
    /// Most types have no schema: then this is a look into memory.
    pub async fn check(
        &self,
        scope: TenantScope,
        tenant: &Tenant,
        event_type: &str,
        data: &Bytes,
    ) -> Result<(), TypeError> {
        if is_reserved(event_type) {
            return Err(TypeError::Faulty(vec![reserved("/type")]));
        }
        let types = self.known.of(scope).await?;
        let known = types.find(event_type).filter(|known| !known.shown.is_archived);
        let Some(known) = known else {
            return if tenant.strict_event_types { Err(unknown(event_type)) } else { Ok(()) };
        };
        let faults = faults(known, data).await;
        if faults.is_empty() { Ok(()) } else { Err(TypeError::Faulty(faults)) }
    }
}

async fn faults(known: std::sync::Arc<OneType>, data: &Bytes) -> Vec<Fault> {
    let Some(schema) = &known.schema else {
        return Vec::new();
    };
    if data.len() < LONG {
        return schema.faults(data);
    }
    let (known, data) = (known.clone(), data.clone());
    let judge = move || known.schema.as_ref().map_or_else(Vec::new, |schema| schema.faults(&data));
    tokio::task::spawn_blocking(judge).await.unwrap_or_else(|_| {
        vec![Fault::new("schema_too_costly", "/data", "it could not be checked: try again")]
    })
}

fn unknown(event_type: &str) -> TypeError {
    let message = format!(
        "`{event_type}` is not a registered event type: register it, or publish one that is"
    );
    TypeError::Faulty(vec![Fault::new("unknown_event_type", "/type", message)])
}
