-- The core: tenants and their endpoints, what was accepted, what is to be brought where, and what
-- became of it. Times are microseconds since 1970; ids are 16 bytes in order of time.
--
-- Every key leads with the tenant and every join carries it, so that Citus can distribute the tables
-- by tenant_id (`tenants`, `records`, `nodes`, `pauses`, `writers` and `schema_migrations` stay on one
-- node or become reference tables). For the same reason there are no foreign keys.

-- Slugs are listed in the order of their bytes, whatever the language of the database.
create table tenants (
    tenant_id           uuid    not null primary key,
    slug                text    collate "C" not null unique,
    name                text    not null,
    plan                text    not null,
    default_profile     text    not null,
    strict_event_types  boolean not null,
    publish_rate_count  bigint,
    publish_rate_per_us bigint,
    created_at          bigint  not null
);

create table endpoints (
    tenant_id      uuid    not null,
    id             uuid    not null,
    name           text    not null,
    url            text    not null,
    events         text[]  not null,
    sealed_secret  bytea   not null,
    profile        text    not null,
    is_active      boolean not null,
    in_order       boolean not null,
    plan           text,             -- see plan_text.rs
    timeout_us     bigint,
    max_in_flight  bigint,
    rate_count     bigint,
    rate_per_us    bigint,
    created_at     bigint  not null,
    old_secrets    text    not null, -- see old_secret_text.rs
    sealed_headers bytea,
    metadata       text    not null,
    failing_since  bigint,
    warned_at      bigint,
    disabled       smallint,         -- 1 gone, 2 failing
    updated_at     bigint  not null,
    version        bigint  not null,
    primary key (tenant_id, id)
);

-- Append-only, but for `deliveries`, which grows when an event is sent again. It names the parcel's
-- deliveries: an index on the deliveries' side would have to be written twice for each of them.
-- `subject` and `external_id` are bytes because text refuses the character 0.
create table parcels (
    tenant_id   uuid     not null,
    id          uuid     not null,
    created_at  bigint   not null,
    number      bigint,
    kind        smallint not null,
    is_test     boolean  not null,
    event_type  text     not null,
    subject     bytea,
    external_id bytea,
    deliveries  uuid[]   not null,
    body        bytea    not null,
    primary key (tenant_id, id)
);
-- Compressing a body costs more time than all the rest of accepting it.
alter table parcels alter column body set storage external;
create index parcels_by_external_id on parcels (tenant_id, external_id)
    where external_id is not null;
create index parcels_unmatched on parcels (tenant_id, id) where deliveries = '{}';

-- The fixed columns come first and are aligned, so that a row is small. Room is left on each page,
-- so that the settled version of a row finds place beside the first.
create table deliveries (
    tenant_id       uuid     not null,
    id              uuid     not null,
    target_id       uuid     not null,
    parcel_id       uuid     not null,
    due_at          bigint   not null,
    created_at      bigint   not null,
    owner           bigint   not null, -- the node that holds it, or held it last
    attempts        integer  not null default 0,
    attempts_before integer  not null default 0,
    lost_leases     integer  not null default 0,
    lane            smallint not null,
    state           smallint not null, -- 2 pending, 3 leased, 4 waiting, 5 delivered, 6 dead
    was_dead        boolean  not null default false, -- it has, or once had, a dead letter
    order_key       bytea,             -- its subject, only where it is kept in order
    order_number    bigint,            -- likewise: its parcel's number, which says whose turn it is
    primary key (tenant_id, id)
) with (fillfactor = 60);
create index deliveries_failed on deliveries (tenant_id, target_id, id) where state = 6;
-- A claim walks this one, target by target.
create index deliveries_pending on deliveries (lane, tenant_id, target_id, due_at, id) where state = 2;
create index deliveries_due on deliveries (lane, due_at) where state = 2;
create index deliveries_leased on deliveries (owner) where state = 3;
create index deliveries_in_order on deliveries (tenant_id, target_id, order_key, order_number)
    where order_key is not null and state in (2, 3, 4);
create index deliveries_to_expire on deliveries (lane, created_at) where state in (2, 4);

-- In which spans of time a target got deliveries: see spans.rs.
create table spans (
    tenant_id uuid not null,
    target_id uuid not null,
    from_id   uuid not null,
    to_id     uuid not null,
    primary key (tenant_id, target_id, from_id)
);
create index spans_by_time on spans (from_id);

-- Append-only.
create table attempts (
    tenant_id        uuid    not null,
    delivery_id      uuid    not null,
    number           integer not null,
    response_status  integer,
    started_at       bigint  not null,
    latency_us       bigint  not null,
    next_at          bigint,
    code             text,
    reason           text,
    request_headers  bytea   not null,
    response_headers bytea   not null,
    response_body    bytea   not null,
    primary key (tenant_id, delivery_id, number)
);

create table dead_letters (
    tenant_id       uuid     not null,
    delivery_id     uuid     not null,
    lane            smallint not null,
    failed_attempts integer  not null,
    code            text     not null,
    reason          text     not null check (reason <> ''),
    failed_at       bigint   not null,
    moved_at        bigint   not null,
    expires_at      bigint   not null,
    primary key (tenant_id, delivery_id)
);
create index dead_letters_of_tenant on dead_letters (tenant_id, moved_at, delivery_id);
create index dead_letters_by_time on dead_letters (moved_at, delivery_id);

-- The last number given to a parcel of a subject. Its row is also the lock under which the order of
-- a subject's deliveries is decided.
create table subjects (
    tenant_id uuid   not null,
    subject   bytea  not null,
    last      bigint not null,
    primary key (tenant_id, subject)
) with (fillfactor = 70);

create table once_keys (
    tenant_id uuid   not null,
    key       bytea  not null,
    content   bytea  not null,
    parcel_id uuid   not null,
    made_at   bigint not null,
    until     bigint not null,
    primary key (tenant_id, key)
);
create index once_keys_by_time on once_keys (until);

create table nodes (
    id      bigint      generated always as identity primary key,
    name    text        not null,
    beat_at timestamptz not null,
    is_dead boolean     not null default false
);

create table pauses (
    kind      smallint not null, -- 1 a lane, 2 a tenant, 3 an endpoint
    lane      smallint not null, -- 0 where it is not a lane that is paused
    tenant_id uuid     not null, -- zero likewise
    target_id uuid     not null,
    since     bigint   not null,
    primary key (kind, lane, tenant_id, target_id)
);

-- Found by shelf, by kind alone, and by key alone where keys are made to be unique. Keys are bytes
-- because they are compared so, and because text refuses the character 0.
create table records (
    kind      text   not null,
    tenant_id uuid   not null, -- zero on the operator's shelves
    key       bytea  not null,
    body      bytea  not null,
    version   bigint not null,
    primary key (kind, tenant_id, key)
);
create index records_by_key on records (kind, key);

create table usage (
    tenant_id uuid   not null,
    period    text   not null,
    used      bigint not null,
    granted   bigint not null, -- of the last that was asked for: here to be returned by the statement
    primary key (tenant_id, period)
) with (fillfactor = 50);

-- One row per committer: the number of its last commit. When the answer to a commit is lost, this
-- row says whether it happened.
create table writers (
    id      uuid        primary key,
    last    bigint      not null,
    seen_at timestamptz not null default now()
) with (fillfactor = 20);

-- What was received, each line linked to the one before. Outlives the parcels it speaks of.
create table ledger (
    number    bigint primary key,
    parcel_id uuid   not null unique,
    entry     bytea  not null,
    link      bytea  not null
);
create function ledger_is_append_only() returns trigger language plpgsql as $$
begin raise exception 'the ledger is append-only'; end $$;
create trigger ledger_is_not_changed before update or delete or truncate on ledger
    for each statement execute function ledger_is_append_only();

-- Its end: one row, so that writers come one after the other. The link before the first line is the
-- hash of nothing.
create table ledger_head (
    is_here boolean primary key default true check (is_here),
    number  bigint  not null,
    link    bytea   not null
) with (fillfactor = 10);
insert into ledger_head (number, link) values
    (0, '\xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');

-- Plans a claim: which targets have due deliveries, and how many to take from each, so that every
-- tenant and every target has its turn. It only reads; taking is done by whoever calls it.
--
-- The tenants come in turn after `start`, once around. Within a tenant the targets come in turn
-- after the one in `resume_targets`, once around, until the tenant has had `per_tenant`. It looks at
-- no more than `looks` targets. Rows with `take` are to be taken. Rows without say how the walk
-- went: `ends` is 'cut' for a tenant left with targets not looked at (`target_id` is the last that
-- was), 'left' where a target had more than its share, 'full' and 'far' where the walk stopped
-- before it was around because it had enough or had looked at enough; then `tenant_id` is the last
-- tenant visited. Without 'full' or 'far' it went all the way round.
create function claim_walk(
    in_lane smallint, at bigint, most int, per_target int, per_tenant int, looks int,
    start uuid, resume_tenants uuid[], resume_targets uuid[],
    skip_tenants uuid[], skip_targets uuid[]
) returns table (tenant_id uuid, target_id uuid, take int, ends text)
language plpgsql stable as $$
declare
    tenant  uuid := start;     -- the tenant visited last; null before the first
    wrapped boolean := start is null;
    total   int := 0;
begin
    loop
        if total >= most or looks <= 0 then
            tenant_id := tenant; target_id := null; take := null;
            ends := case when total >= most then 'full' else 'far' end;
            return next;
            return;
        end if;
        looks := looks - 1;
        declare
            came uuid;         -- the next tenant
            first uuid;        -- where its turn begins
            target uuid;       -- the target visited last; null before the first
            head record;
            turn int := per_tenant;
            room int;
            due int;
            around boolean;
        begin
            -- Two statements, because one with `tenant is null or …` could not use the index.
            if tenant is null then
                select d.tenant_id into came from deliveries d
                where d.state = 2 and d.lane = in_lane order by d.tenant_id limit 1;
            else
                select d.tenant_id into came from deliveries d
                where d.state = 2 and d.lane = in_lane and d.tenant_id > tenant
                order by d.tenant_id limit 1;
            end if;
            if came is null and not wrapped then
                wrapped := true;
                tenant := null;
                continue;
            end if;
            exit when came is null or (wrapped and start is not null and came > start);
            tenant := came;
            continue when came = any (skip_tenants);

            first := resume_targets[array_position(resume_tenants, came)];
            target := first;
            around := first is null;
            loop
                if turn <= 0 or total >= most or looks <= 0 then
                    tenant_id := came; target_id := target; take := null; ends := 'cut';
                    return next;
                    exit;
                end if;
                looks := looks - 1;
                if target is null then
                    select d.target_id, d.due_at into head from deliveries d
                    where d.state = 2 and d.lane = in_lane and d.tenant_id = came
                    order by d.target_id, d.due_at limit 1;
                else
                    select d.target_id, d.due_at into head from deliveries d
                    where d.state = 2 and d.lane = in_lane and d.tenant_id = came
                      and d.target_id > target
                    order by d.target_id, d.due_at limit 1;
                end if;
                if head.target_id is null and not around then
                    around := true;
                    target := null;
                    continue;
                end if;
                exit when head.target_id is null or (around and first is not null and head.target_id > first);
                target := head.target_id;
                continue when head.due_at > at or target = any (skip_targets);

                room := least(per_target, turn, most - total);
                select count(*) into due from (
                    select 1 from deliveries d
                    where d.state = 2 and d.lane = in_lane and d.tenant_id = came
                      and d.target_id = target and d.due_at <= at
                    order by d.due_at limit room + 1) few;
                tenant_id := came; target_id := target; take := least(due, room); ends := null;
                return next;
                total := total + take;
                turn := turn - take;
                if due > room then
                    take := null; ends := 'left';
                    return next;
                end if;
            end loop;
        end;
    end loop;
end $$;
