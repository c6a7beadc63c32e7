//! The flow: is it fit → who is it said to be from → is it → may it pass → is it JSON → which message
//! is it → keep it, in one transaction → answer, signed.

use std::{sync::Arc, time::Duration};

use gancho_domain::{Clock, FieldError, IdMaker, ReceiptLabel, Time, receipt_label};
use gancho_egress::Client;
use gancho_engine::Engine;
use gancho_store::Store;
use gancho_wire::Recipe;

use crate::{
    Incoming, Limits, PolicyKeeper, Rejections, RequestRecord, SigningKeys, Sources, Verb,
    accept::{Keeper, Parts, Taken},
    activity::Activity,
    dispatch::misfit,
    form, handshake,
    identity::identify,
    json,
    outcome::{Denied, Kept, Outcome, Reason, Reply},
    policy::{Bits, Decision},
    policy_sign::policy_sign,
    preset::Preset,
    registry::{Found, Ready},
    sns::{Sns, SnsHosts},
    tally::Tally,
    verify::{VerifiedMessage, decoy, refuse_unknown, verify},
};

pub struct InboundSetup {
    pub store: Arc<dyn Store>,
    pub engine: Arc<Engine>,
    pub sources: Arc<Sources>,
    pub keys: Arc<SigningKeys>,
    pub policy: Arc<PolicyKeeper>,
    pub ids: Arc<IdMaker>,
    pub clock: Arc<dyn Clock>,
    pub limits: Limits,
}

pub struct Inbound {
    pub store: Arc<dyn Store>,
    pub sources: Arc<Sources>,
    pub keys: Arc<SigningKeys>,
    pub policy: Arc<PolicyKeeper>,
    pub rejections: Rejections,
    pub tally: Tally,
    pub(crate) activity: Activity,
    pub limits: Limits,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<IdMaker>,
    keeper: Keeper,
    decoy: Option<Recipe>,
    sns: Option<Sns>,
}

enum Passed {
    Kept(Kept),
    Reply(Reply),
}

impl Inbound {
    pub fn new(setup: InboundSetup) -> Self {
        let InboundSetup { store, engine, sources, keys, policy, ids, clock, limits } = setup;
        let keeper = Keeper {
            engine,
            ids: ids.clone(),
            clock: clock.clone(),
            remembered: limits.remembered,
        };
        Self {
            store,
            sources,
            keys,
            policy,
            rejections: Rejections::default(),
            tally: Tally::default(),
            activity: Activity::default(),
            limits,
            clock,
            ids,
            keeper,
            decoy: decoy(),
            sns: None,
        }
    }

    /// Takes messages of Amazon SNS too. `client` fetches its certificates and confirms subscriptions,
    /// under its own rules; `hosts` is where SNS is believed to be: [`SnsHosts::amazon`], unless the
    /// operator adds others.
    pub fn with_sns(self, client: Client, hosts: SnsHosts) -> Self {
        let sns = Some(Sns::new(client, hosts, self.limits.remembered));
        Self { sns, ..self }
    }

    pub async fn receive(&self, request: &Incoming) -> Outcome {
        let now = self.clock.now();
        let mut source = None;
        match self.steps(request, now, &mut source).await {
            Ok(Passed::Kept(kept)) => Outcome::Kept(kept),
            Ok(Passed::Reply(reply)) => {
                self.tally.greeted();
                Outcome::Reply(reply)
            }
            Err(denied) => {
                self.turn_away(source.as_deref(), request, &denied, now);
                Outcome::Denied(denied)
            }
        }
    }

    /// A request whose body was refused before it was read: counted, and nothing of it noted.
    pub fn refused_unread(&self) {
        self.tally.denied(Reason::TooLarge);
    }

    /// Counted, and noted for the operator.
    fn turn_away(&self, source: Option<&Ready>, request: &Incoming, denied: &Denied, now: Time) {
        self.tally.denied(denied.reason);
        let note = denied.note.as_deref().map(str::to_owned);
        let detail = note.or_else(|| match denied.reason {
            Reason::BadJson | Reason::MalformedTimestamp => Some(denied.detail.to_string()),
            Reason::Schema => denied.faults.first().map(ToString::to_string),
            _ => None,
        });
        self.rejections.note(source, request, denied.status, denied.reason, detail, now);
    }

    async fn steps(
        &self,
        request: &Incoming,
        now: Time,
        source: &mut Option<Arc<Ready>>,
    ) -> Result<Passed, Denied> {
        form::check_size(request, &self.limits)?;
        if let Some(reply) = handshake::validation(request) {
            return Ok(Passed::Reply(reply));
        }
        let found = self.sources.find(&request.partner).await;
        let ready = match found.map_err(|error| Denied::store(&error))? {
            Found::Source(ready) => source.insert(ready).clone(),
            Found::Nobody => return Err(self.unknown(request, now)),
            Found::Unusable(_) => return Err(unusable()),
        };
        if let Some(answer) = handshake::greeting(&ready, request) {
            let refused = |denied| self.as_unknown(denied, request, now);
            return answer.map(Passed::Reply).map_err(refused);
        }
        if request.verb == Verb::Get {
            return Err(Denied::unproven(Reason::Greeting));
        }
        let media = form::check_type(&request.headers)?;
        let parts = {
            let lines = request.lines();
            let tolerance = self.limits.tolerance;
            let verified = verify(&ready, request, &lines, now, tolerance, self.sns.as_ref()).await;
            let message = verified.map_err(|denied| match ready.preset {
                // The decoy is of this form: it would answer the same.
                Preset::Partner => denied,
                _ => self.as_unknown(denied, request, now),
            })?;
            if message.of_sns().is_none() {
                form::only_json(media)?;
            }
            self.pass(&message, now)?;
            if let (Some(proved), Some(sns)) = (message.of_sns(), &self.sns)
                && let Some(answer) = sns.answer(proved, &ready.source.partner, now).await
            {
                return answer.map(Passed::Reply);
            }
            if let Some(reply) = handshake::challenge(&message, &request.body) {
                return Ok(Passed::Reply(reply));
            }
            judge(&message, ready.clone(), request)?
        };
        let faults = ready.schema_errors(&request.body).await.map_err(|_| unusable())?;
        self.keep(parts, faults, now).await
    }

    fn unknown(&self, request: &Incoming, now: Time) -> Denied {
        if request.verb == Verb::Get {
            return Denied::unproven(Reason::UnknownPartner);
        }
        if let Err(denied) = form::check_type(&request.headers) {
            return denied;
        }
        match &self.decoy {
            Some(decoy) => refuse_unknown(request, decoy, now, self.limits.tolerance),
            None => Denied::unproven(Reason::UnknownPartner),
        }
    }

    /// Whoever proves nothing is answered as if the partner were not there, whatever its form is: or
    /// else what is told of a malformed header would tell who is a partner, and by which sender's form.
    /// The reason stays what it was. That nobody could be asked is no verdict: it is told, so that it
    /// is sent again.
    fn as_unknown(&self, denied: Denied, request: &Incoming, now: Time) -> Denied {
        if denied.status == 503 {
            return denied;
        }
        let told = self.unknown(request, now);
        let said = || (denied.status == 400).then(|| denied.detail.clone().into());
        let note = denied.note.clone().or_else(said);
        Denied { reason: denied.reason, note, ..told }
    }

    /// The bits, and what the pack says of them. The rate is used up by proved requests only, so that
    /// nobody can use up a partner's.
    fn pass(&self, message: &VerifiedMessage<'_>, now: Time) -> Result<(), Denied> {
        let taken = match message.source.rate {
            Some(rate) => message.key.take(rate, now),
            None => Ok(()),
        };
        let bits = Bits { verified: true, rate_ok: taken.is_ok() };
        match (self.policy.pack().decide(bits), taken) {
            (Decision::Allow, _) => Ok(()),
            (Decision::Deny, Err(wait)) => {
                let detail = "this key sends faster than was agreed: wait and send it again";
                let denied = Denied::new(429, "rate_limited", Reason::Rate, detail);
                Err(Denied { retry_after: Some(wait), ..denied })
            }
            (Decision::Deny, Ok(())) => Err(Denied::unproven(Reason::Policy)),
        }
    }

    /// A body that does not fit the schema is kept as well, for the ledger and as a dead letter; the
    /// sender is told.
    async fn keep(
        &self,
        mut parts: Parts,
        faults: Vec<FieldError>,
        now: Time,
    ) -> Result<Passed, Denied> {
        if let Some(first) = faults.first() {
            parts.identity = parts.identity.of_misfit();
            parts.withheld = Some(misfit(first));
        }
        let partner = parts.source.source.partner.clone();
        let body_sha256 = parts.identity.body_sha256;
        let sign = |receipt| policy_sign(&self.keys, receipt, &body_sha256, now);
        let fits = faults.is_empty();
        let kept = self.keeper.keep(parts, |receipt| fits.then(|| sign(receipt))).await;
        let (taken, signed) = kept.map_err(|error| Denied::store(&error))?;
        let Taken { receipt, is_repeat, clashes_with } = taken;
        if is_repeat {
            self.tally.repeated(partner.as_str());
        } else {
            self.tally.received(partner.as_str());
            if let Some(first) = clashes_with {
                self.tally.clashed(partner.as_str());
                tracing::warn!(%partner, %receipt, %first, "event id reused with another body; kept as a dead letter");
            }
        }
        if !faults.is_empty() {
            let detail = "the body does not fit the schema that was agreed";
            let denied = Denied::new(422, "schema_mismatch", Reason::Schema, detail);
            return Err(Denied {
                faults: faults.into(),
                receipt: Some(Box::new(receipt)),
                ..denied
            });
        }
        // What was signed is the receipt that it would have been.
        let policy_sign = signed.filter(|_| !is_repeat).unwrap_or_else(|| sign(receipt));
        Ok(Passed::Kept(Kept { receipt, policy_sign, is_repeat, clashes_with }))
    }
}

fn unusable() -> Denied {
    let detail = "the webhook could not be checked: send it again in a moment";
    let denied = Denied::new(503, "unavailable", Reason::Store, detail);
    Denied { retry_after: Some(Duration::from_secs(5)), ..denied }
}

/// Strict JSON, and which message it is.
fn judge(
    message: &VerifiedMessage<'_>,
    source: Arc<Ready>,
    request: &Incoming,
) -> Result<Parts, Denied> {
    let found = json::check(&request.body, source.event_id.as_ref())
        .map_err(|fault| Denied::new(400, "bad_json", Reason::BadJson, fault.to_string()))?;
    let event_id = found.and_then(json::plain);
    let topic = source.preset.topic_header().and_then(|name| request.headers.get(name));
    let topic = match message.of_sns() {
        Some(proved) => receipt_label::topic(proved.topic.as_bytes()),
        None => topic.and_then(|value| receipt_label::topic(value.as_bytes())),
    };
    let identity = identify(message, event_id, topic, &request.body);
    let key_id: Box<str> = message.key.key.key_id.as_str().into();
    let label = ReceiptLabel::write(&source.source.partner, &key_id, topic);
    let record = RequestRecord::of(&source, request).write();
    let record = record.map_err(|error| Denied::store(&error))?;
    let (body, is_test) = (request.body.clone(), request.is_test);
    Ok(Parts { source, identity, key_id, label, body, request: record, is_test, withheld: None })
}
