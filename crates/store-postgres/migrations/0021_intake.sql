-- The intake: events that `gancho.publish` has stored in the transactions of applications, and that no
-- node has accepted yet. Applications have no rights here; they call the function (functions/publish.sql).
create table intake (
    tenant_id       uuid     not null,
    id              uuid     not null, -- of the event
    number          bigint   not null generated always as identity,
    state           smallint not null default 1, -- 1 waits for a node, 2 was rejected
    event_type      text     not null,
    subject         text,
    external_id     text,
    idempotency_key text,
    key             bytea,             -- the key and the content as in once_keys; null without a key
    content         bytea,
    deliver_at      bigint,
    body            bytea    not null,
    size            integer  not null,
    published_at    bigint   not null,
    taken_until     timestamptz,       -- a node is about to accept it
    code            text,              -- why it was rejected
    reason          text,
    rejected_at     bigint,
    primary key (tenant_id, id)
);
alter table intake alter column body set storage external;
create index intake_waiting on intake (tenant_id, number) where state = 1;
create index intake_taken on intake (tenant_id, taken_until) where state = 1 and taken_until is not null;
create unique index intake_keys on intake (tenant_id, key) where state = 1 and key is not null;
create index intake_rejected on intake (id) where state = 2;

-- What the function has to know of the nodes' settings: one row.
create table intake_settings (
    is_here  boolean primary key default true check (is_here),
    settings jsonb   not null
);

-- Ids as users see them: 26 characters of five bits each, of which the first two bits are zero.
create function intake_id_text(prefix text, id uuid) returns text
language plpgsql immutable as $$
declare
    bits text := '00' || ('x' || replace(id::text, '-', ''))::bit(128)::text;
    shown text := prefix || '_';
begin
    for place in 0 .. 25 loop
        shown := shown || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ',
            substr(bits, 5 * place + 1, 5)::bit(5)::int + 1, 1);
    end loop;
    return shown;
end $$;

-- The other way round; null for what is not an id.
create function intake_id_of(prefix text, shown text) returns uuid
language plpgsql immutable as $$
declare
    bits text := '';
begin
    if shown !~ ('^' || prefix || '_[0-7][0-9A-HJKMNP-TV-Z]{25}$') then
        return null;
    end if;
    for place in length(prefix) + 2 .. length(prefix) + 27 loop
        bits := bits || (strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(shown, place, 1)) - 1)::bit(5)::text;
    end loop;
    return lpad(to_hex(substr(bits, 3, 64)::bit(64)::bigint), 16, '0')::text
        || lpad(to_hex(substr(bits, 67, 64)::bit(64)::bigint), 16, '0');
end $$;

-- A part of what is hashed: its length and itself. One that is not there differs from an empty one.
create function intake_part(part text) returns bytea
language sql immutable as $$
    select case when part is null then '\xffffffffffffffff'::bytea
        else int8send(octet_length(convert_to(part, 'UTF8'))) || convert_to(part, 'UTF8') end
$$;

-- The next id of an event: 48 bits of time and 80 random ones.
create function intake_next_id(at bigint) returns uuid
language sql volatile as $$
    select (lpad(to_hex(at / 1000), 12, '0') || substr(replace(gen_random_uuid()::text, '-', ''), 1, 12)
        || substr(gen_random_uuid()::text, 1, 8))::uuid
$$;
