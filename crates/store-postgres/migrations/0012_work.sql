-- Replays, reports on e-mails and suppressed addresses have tables of their own. They were kept among the
-- records, and are brought along.

create table replays (
    id          uuid    primary key,
    tenant_id   uuid    not null, -- zero where it is the operator's
    state       text    not null,
    request     bytea   not null,
    total       bigint  not null default 0,
    is_exact    boolean not null default false,
    done        bigint  not null default 0,
    skipped     bigint  not null default 0,
    failed      bigint  not null default 0,
    error       text,
    cursor      text    not null default '',
    runner      text,             -- stays when a replay is canceled: it may still tell what it has sent
    lease_until bigint,
    created_at  bigint  not null,
    started_at  bigint,
    finished_at bigint
) with (fillfactor = 50);
create index replays_of_owner on replays (tenant_id, id);
create index replays_open on replays (id) where state in ('pending', 'running');

create table email_reports (
    tenant_id      uuid    not null,
    email_id       uuid    not null,
    delivery_id    uuid,
    code           text    not null,
    reason         text    not null,
    error          text,
    is_provisional boolean not null,
    at             bigint  not null,
    until          bigint  not null,
    primary key (tenant_id, email_id)
);
create index email_reports_by_delivery on email_reports (tenant_id, delivery_id)
    where delivery_id is not null;
create index email_reports_by_end on email_reports (until);

-- Addresses are bytes because they are compared so.
create table suppressions (
    tenant_id uuid   not null,
    address   bytea  not null,
    reason    text   not null,
    detail    text,
    since     bigint not null,
    primary key (tenant_id, address)
);

-- Nobody writes meanwhile: other nodes may be running.
lock table records in share row exclusive mode;

-- The character 0 cannot be kept in a text.
create function old_record(body bytea) returns jsonb language sql immutable as $$
    select replace(convert_from(body, 'UTF8'), '\u0000', '\ufffd')::jsonb
$$;

-- Ids were kept as text: four characters that name their kind, and 26 of five bits each, of which the first
-- two bits are zero.
create function old_id(id text) returns uuid language sql immutable as $$
    select string_agg(to_hex(substr(bits, 4 * i - 1, 4)::bit(4)::int), '' order by i)::uuid
    from (select string_agg(
            (strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(id, 4 + i, 1)) - 1)::bit(5)::text,
            '' order by i) as bits
          from generate_series(1, 26) i) b,
        generate_series(1, 32) i
$$;

insert into suppressions
select tenant_id, key, old_record(body) ->> 'reason', old_record(body) ->> 'detail',
    (old_record(body) ->> 'since')::bigint
from records where kind = 'suppression';

insert into replays
select old_id(r.body ->> 'id'), r.tenant_id, r.body ->> 'state',
    convert_to(jsonb_build_object('filter', r.body -> 'filter', 'to', r.body -> 'to', 'rate', r.body -> 'rate',
        'oldest_first', coalesce(r.body -> 'oldest_first', 'false'))::text, 'UTF8'),
    (r.body ->> 'total')::bigint, (r.body ->> 'is_total_exact')::boolean, (r.body ->> 'done')::bigint,
    (r.body ->> 'skipped')::bigint, (r.body ->> 'failed')::bigint, r.body ->> 'error',
    (r.body -> 'cursor')::text, r.body #>> '{lease,by}', (r.body #>> '{lease,until}')::bigint,
    (r.body ->> 'created_at')::bigint, (r.body ->> 'started_at')::bigint,
    (r.body ->> 'finished_at')::bigint
from (select tenant_id, old_record(body) as body from records where kind = 'replay') r;

-- Deliveries were kept as their ids turned round, in hexadecimal, so that the newest came first.
insert into email_reports
select r.tenant_id, old_id(convert_from(r.key, 'UTF8')),
    translate(convert_from(o.key, 'UTF8'), '0123456789abcdef', 'fedcba9876543210')::uuid,
    r.body ->> 'code', r.body ->> 'reason', r.body ->> 'error', r.body ->> 'code' = 'BOUNCE_TEMPORARY',
    (r.body ->> 'at')::bigint, coalesce(r.until, (r.body ->> 'at')::bigint)
from (select tenant_id, key, until, old_record(body) as body from records
      where kind = 'email_feedback') r
left join records o on o.kind = 'email_feedback_order' and o.tenant_id = r.tenant_id and o.body = r.key;

delete from records where kind in
    ('replay', 'replay_open', 'email_feedback', 'email_feedback_order', 'suppression');
drop function old_id;
drop function old_record;
