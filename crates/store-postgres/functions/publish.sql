-- Installed by every start, in {schema}, for the tables in {tables}. It runs with the rights of its owner: whoever may
-- call it needs none on the tables. Its search path is fixed, so that no object of the caller is taken for ours.
--
-- It writes to `intake` alone. A transaction of an application may stay open for hours, and whatever it has locked
-- stays locked: a row in `once_keys` would stop nodes.
create or replace function {schema}.publish(
    tenant text,
    type text,
    data json,
    idempotency_key text default null,
    subject text default null,
    external_id text default null,
    deliver_at timestamptz default null
) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, {tables}, pg_temp
as $publish$
declare
    owner    record;
    settings jsonb;
    body     bytea;
    at       bigint := extract(epoch from clock_timestamp()) * 1000000;
    due      bigint := extract(epoch from publish.deliver_at) * 1000000;
    event    uuid;
    hash     bytea;
    hashed   bytea;
    first    record;
    quota    bigint;
    used     bigint;
begin
    select t.tenant_id, t.plan, t.strict_event_types into owner
    from tenants t where t.slug = publish.tenant;
    if not found then
        select t.tenant_id, t.plan, t.strict_event_types into owner
        from tenants t where t.tenant_id = intake_id_of('ten', publish.tenant);
    end if;
    if not found then
        raise exception using errcode = 'WH404', constraint = 'unknown_tenant',
            message = format('unknown_tenant: no tenant has the slug or id %L', publish.tenant);
    end if;
    -- Its events may leave with it for another cell, which alone can accept them then.
    if exists (select from moving_tenants m where m.tenant_id = owner.tenant_id and m.state in (2, 3, 4)) then
        raise exception using errcode = 'WH503', constraint = 'tenant_moved',
            message = format('tenant_moved: the tenant %L is being moved to another database, or was: publish there',
                publish.tenant);
    end if;
    select s.settings into settings from intake_settings s;

    if publish.type is null or publish.data is null then
        raise exception using errcode = 'WH422', constraint = 'missing_field',
            message = format('missing_field: %I is null', case when publish.type is null then 'type' else 'data' end);
    elsif length(publish.type) not between 1 and 128
        or publish.type !~ '^[A-Za-z0-9_-]+([.][A-Za-z0-9_-]+)*$' then
        raise exception using errcode = 'WH422', constraint = 'invalid_field',
            message = format('invalid_field: %L is not a valid event type: use letters, digits, _ and -, in parts '
                'separated by single dots, at most 128 characters', publish.type);
    elsif publish.type like 'webhook.%' then
        raise exception using errcode = 'WH422', constraint = 'reserved_event_type',
            message = 'reserved_event_type: event types that start with webhook. are reserved: choose another name';
    elsif publish.deliver_at > now() + interval '366 days' then
        raise exception using errcode = 'WH422', constraint = 'invalid_field',
            message = 'invalid_field: deliver_at is more than a year ahead';
    end if;
    for first in select * from (values ('idempotency_key', publish.idempotency_key),
        ('subject', publish.subject), ('external_id', publish.external_id)) as f(name, value)
        where length(f.value) not between 1 and 256
    loop
        raise exception using errcode = 'WH422', constraint = 'invalid_field',
            message = format('invalid_field: %s must have 1 to 256 characters', first.name);
    end loop;
    body := convert_to(btrim(publish.data::text, E' \t\r\n'), 'UTF8');
    if octet_length(body) > (settings ->> 'max_bytes')::bigint then
        raise exception using errcode = 'WH413', constraint = 'too_large',
            message = format('too_large: data has %s bytes: the maximum is %s', octet_length(body),
                settings ->> 'max_bytes');
    end if;
    if owner.strict_event_types and not (settings -> 'event_types' ? publish.type) and not exists (
        select from records r where r.kind = 'event_type' and r.key = convert_to(publish.type, 'UTF8')
            and r.tenant_id in (owner.tenant_id, '00000000-0000-0000-0000-000000000000'))
    then
        raise exception using errcode = 'WH422', constraint = 'unknown_event_type',
            message = format('unknown_event_type: %L is not a registered event type: register it first', publish.type);
    end if;
    quota := settings -> 'plans' ->> owner.plan;
    if quota is not null then
        select u.used into used from usage u
        where u.tenant_id = owner.tenant_id and u.period = to_char(now() at time zone 'UTC', 'YYYY-MM');
        if coalesce(used, 0) >= quota then
            raise exception using errcode = 'WH403', constraint = 'plan_limit',
                message = format('plan_limit: the plan %s allows %s events per month, and %s are used', owner.plan,
                    quota, coalesce(used, 0));
        end if;
    end if;

    if publish.idempotency_key is not null then
        hash := sha256(intake_part('publish') || intake_part(publish.idempotency_key));
        hashed := sha256(intake_part(publish.type) || int8send(octet_length(body)) || body
            || intake_part(publish.subject) || intake_part(publish.external_id) || intake_part(due::text));
    end if;
    -- A node may move the event with the same key from `intake` to `once_keys` at any moment. So it is looked for there
    -- after ours is in `intake`, where it keeps others out.
    loop
        event := intake_next_id(at);
        insert into intake (tenant_id, id, event_type, subject, external_id, idempotency_key, key, content, deliver_at,
            body, size, published_at)
        values (owner.tenant_id, event, publish.type, publish.subject, publish.external_id, publish.idempotency_key,
            hash, hashed, due, body, octet_length(body), at)
        on conflict (tenant_id, key) where state = 1 and key is not null do nothing;
        exit when found and hash is null;
        if found then
            select o.parcel_id as id, o.content into first from once_keys o
            where o.tenant_id = owner.tenant_id and o.key = hash and o.until > at;
            exit when not found;
            delete from intake i where i.tenant_id = owner.tenant_id and i.id = event;
        else
            select i.id, i.content into first from intake i
            where i.tenant_id = owner.tenant_id and i.key = hash and i.state = 1;
            continue when not found;
        end if;
        if first.content <> hashed then
            raise exception using errcode = 'WH422', constraint = 'idempotency_mismatch',
                message = format('idempotency_mismatch: the idempotency key was already used for another event (%s): '
                    'use a new key', intake_id_text('evt', first.id));
        end if;
        return intake_id_text('evt', first.id);
    end loop;
    perform pg_notify('gancho_intake', '');
    return intake_id_text('evt', event);
end $publish$;
