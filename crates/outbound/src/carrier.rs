//! The webhook lane's carrier: render → sign → post → verdict.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{Clock, Code, Failure, RetryPlan, Verdict, pace::Load};
use gancho_engine::{Carried, Carrier, Terms};
use gancho_store::Job;
use gancho_wire::{Content, Sending, sign};
use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::{
    deliver::{Client, verdict},
    registry::{Registry, Target, Targets},
};

pub struct WebhookCarrier {
    pub registry: Arc<Registry>,
    pub client: Client,
    pub clock: Arc<dyn Clock>,
}

#[async_trait]
impl Carrier for WebhookCarrier {
    async fn prepare(&self, jobs: &[Job]) {
        let mut tenants: Vec<_> = jobs.iter().map(|job| job.tenant).collect();
        tenants.sort_unstable();
        tenants.dedup();
        for tenant in tenants {
            // If the store cannot be asked, the carrier asks again when it carries.
            let _ = self.registry.of(tenant).await;
        }
    }

    fn terms(&self, job: &Job) -> Terms {
        match self.registry.known(job.tenant, job.target) {
            Some(target) => Terms {
                plan: target.plan.clone(),
                max_in_flight: target.endpoint.max_in_flight.unwrap_or(Terms::MAX_IN_FLIGHT),
                rate: target.endpoint.rate,
            },
            // Gone, or not known yet: the attempt will tell.
            None => Terms::of(Arc::new(RetryPlan::DISPATCH)),
        }
    }

    async fn carry(&self, job: &Job, attempt: u32) -> Carried {
        let targets = match self.look_up(job).await {
            Ok(targets) => targets,
            Err(fault) => return ours(format!("the endpoint could not be looked up: {fault}")),
        };
        match targets.get(job.target) {
            Some(target) if target.endpoint.is_active => {
                let carried = self.post(job, attempt, target).await;
                // As it is now, not as it was when the delivery was queued.
                Carried { plan: Some(target.plan.clone()), ..carried }
            }
            Some(_) => gone("the endpoint is switched off"),
            None => match targets.trouble(job.target) {
                Some(why) => ours(format!("this node cannot use the endpoint: {why}")),
                None => gone("the endpoint was deleted"),
            },
        }
    }
}

/// A store that does not answer is asked again, rather than an attempt being counted for nothing.
const ASK_AGAIN: Duration = Duration::from_millis(500);
const ASK_TIMES: u32 = 20;

impl WebhookCarrier {
    async fn look_up(&self, job: &Job) -> gancho_store::Result<Arc<Targets>> {
        let mut asked = 0;
        loop {
            asked += 1;
            match self.registry.of(job.tenant).await {
                Err(_) if asked < ASK_TIMES => tokio::time::sleep(ASK_AGAIN).await,
                answer => return answer,
            }
        }
    }

    async fn post(&self, job: &Job, attempt: u32, target: &Target) -> Carried {
        let event_id = job.parcel.id.to_string();
        let body = target.profile.envelope.render(&Content {
            event_id: &event_id,
            event_type: &job.parcel.event_type,
            created_at: job.parcel.created_at,
            number: job.number,
            data: &job.parcel.body,
        });
        let sending = Sending {
            event_id: &event_id,
            endpoint_id: &target.id,
            event_type: &job.parcel.event_type,
            at: self.clock.now(),
            retry: attempt - 1,
        };
        let headers = match headers(target, &sending, &body) {
            Ok(headers) => headers,
            Err(fault) => return ours(format!("the request could not be made: {fault}")),
        };
        let request_headers = lines(&headers);
        let outcome = self.client.post(&target.url, headers, body, target.timeout).await;
        let judged = verdict(&outcome, self.clock.now());
        let mut carried = Carried {
            load: judged.load,
            at_fault: judged.at_fault,
            request_headers,
            ..Carried::new(judged.verdict, outcome.latency)
        };
        if let Ok(answer) = outcome.answer {
            carried.response_status = Some(answer.status);
            carried.response_headers = answer.headers;
            carried.response_body = answer.body;
        }
        carried
    }
}

fn headers(target: &Target, sending: &Sending<'_>, body: &[u8]) -> Result<HeaderMap, String> {
    let signed =
        sign(&target.profile, sending, body, &target.keys).map_err(|fault| fault.to_string())?;
    let mut headers = HeaderMap::with_capacity(signed.len() + 2);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let agent =
        HeaderValue::from_str(&target.profile.user_agent).map_err(|fault| fault.to_string())?;
    headers.insert(header::USER_AGENT, agent);
    for (name, value) in signed {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|fault| fault.to_string())?;
        headers.insert(name, HeaderValue::from_str(&value).map_err(|fault| fault.to_string())?);
    }
    Ok(headers)
}

/// For the attempt's record.
fn lines(headers: &HeaderMap) -> Bytes {
    let mut lines = Vec::with_capacity(256);
    for (name, value) in headers {
        lines.extend_from_slice(name.as_str().as_bytes());
        lines.extend_from_slice(b": ");
        lines.extend_from_slice(value.as_bytes());
        lines.push(b'\n');
    }
    lines.into()
}

/// Nothing was sent, and the target is not to blame.
fn ours(reason: String) -> Carried {
    let failure = Failure::new(Code::UNSPECIFIED, reason);
    let verdict = Verdict::Retry { failure, not_before: None };
    Carried { load: Load::Light, at_fault: false, ..Carried::new(verdict, Duration::ZERO) }
}

fn gone(reason: &str) -> Carried {
    let failure = Failure::new(Code::TARGET_GONE, reason);
    Carried::new(Verdict::Never { failure }, Duration::ZERO)
}
