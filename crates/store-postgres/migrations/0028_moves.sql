-- Moving tenants between cells: see moves.rs.

-- In the home cell: the moves, of each tenant the last. What is done is written here first and carried out then, so that
-- whoever finds a move that nobody carries out any more knows how to go on.
create table moves (
    tenant_id   uuid        primary key,
    source      integer     not null,
    target      integer     not null,
    step        smallint    not null, -- 1 copying, 2 closing, 3 removing, 4 done, 5 going back, 6 taken back
    run         bigint      not null, -- rises with everyone who takes it over
    lease_until timestamptz not null, -- until then it is being carried out
    place       text        not null default '', -- how far it has copied
    copied      bigint      not null default 0,  -- rows
    removed     bigint      not null default 0,
    closed_us   bigint,               -- how long nothing could be written
    error       text,                 -- why it does not go on
    began_at    timestamptz not null default clock_timestamp(),
    ended_at    timestamptz
);

-- In every cell: tenants that are leaving or arriving, and those that have left or arrived. The row of one that has left stays,
-- so that a node that does not know yet can write nothing more here; that of one that has arrived, so that a run of the
-- move that was thought dead cannot guard it again.
create table moving_tenants (
    tenant_id uuid     primary key,
    state     smallint not null, -- 0 lives here, 1 leaving: changes are noted, 2 closed, 3 arriving, 4 has left
    run       bigint   not null  -- only this run of the move may write
);

-- What has changed of tenants that are leaving, since they are being copied.
create table move_changes (
    id        bigint not null generated always as identity,
    tenant_id uuid   not null,
    relation  text   not null,
    key       jsonb  not null,
    primary key (tenant_id, id)
);

-- Notes changes of a tenant that is leaving, and keeps everyone but the move from changing one that is closed, arrives or
-- has left: what someone waits for is refused; what is done for all tenants together, as claiming, settling and pruning,
-- passes over its rows. Enabled in the cells where it is needed.
create function guard_moving_tenant() returns trigger language plpgsql as $$
declare
    tenant uuid := case tg_op when 'DELETE' then old.tenant_id else new.tenant_id end;
    stage  smallint;
    gone   boolean := tg_op = 'DELETE';
    skips  boolean := false;
begin
    select m.state into stage from moving_tenants m where m.tenant_id = tenant;
    if found and stage = 1 then
        -- Closing waits until nobody holds this lock; whoever gets it later finds the tenant closed.
        perform pg_advisory_xact_lock_shared(1735290991, hashtext(tenant::text));
        select m.state into stage from moving_tenants m where m.tenant_id = tenant;
    end if;
    if not found or stage = 0 or current_setting('gancho.move', true) = 'on' then
        null;
    elsif stage = 1 then
        if tg_table_name = 'tenants' and gone then
            raise exception using errcode = 'WH503', message = 'the tenant is being moved to another cell';
        end if;
        execute format('insert into move_changes (tenant_id, relation, key) select $1, $2, jsonb_build_object(%s)', tg_argv[0])
            using tenant, tg_table_name, case when gone then old else new end;
    else
        if tg_table_name = 'spans' and not gone then
            -- A span too many does no harm, and committers remember which they have written.
            return new;
        elsif tg_op = 'UPDATE' then
            skips := stage = 3 or tg_table_name in ('deliveries', 'subjects');
        elsif gone then
            -- Documents are pruned, and deleted by those who wait for it.
            skips := stage = 3 or case
                when tg_table_name = 'records'
                    then (to_jsonb(old) ->> 'until')::bigint <= extract(epoch from clock_timestamp()) * 1000000
                else tg_table_name not in ('tenants', 'endpoints', 'suppressions', 'replays', 'pauses') end;
        elsif tg_table_name = 'statistics' then
            -- Sums are made anew after the move.
            skips := stage = 3 or to_jsonb(new) ->> 'node' = '0';
        end if;
        if skips then
            return null;
        end if;
        raise exception using errcode = 'WH503', message = case stage
            when 4 then 'the tenant has moved to another cell' else 'the tenant is being moved to another cell' end;
    end if;
    return case when gone then old else new end;
end $$;

-- With the columns of their keys beside the tenant.
do $$
declare
    guarded record;
begin
    for guarded in select * from (values
        ('tenants', ''),
        ('endpoints', 'id'),
        ('pauses', 'kind lane target_id'),
        ('records', 'kind key'),
        ('subjects', 'subject'),
        ('once_keys', 'key'),
        ('usage', 'period'),
        ('suppressions', 'address'),
        ('email_reports', 'email_id'),
        ('replays', 'id'),
        ('parcels', 'id'),
        ('deliveries', 'id'),
        ('attempts', 'delivery_id number'),
        ('dead_letters', 'delivery_id'),
        ('spans', 'target_id from_id lane'),
        ('statistics', 'level chunk target_id lane at node part')) as g(name, keys)
    loop
        -- Its name comes first: triggers of one kind run in the order of their names.
        execute format('create trigger a_moving_tenant before insert or update or delete on %I
                for each row execute function guard_moving_tenant(%L)', guarded.name,
            array_to_string(array(select format('%L, ($3).%I', k, k)
                from unnest(string_to_array('tenant_id ' || guarded.keys, ' ')) k where k <> ''), ', '));
        execute format('alter table %I disable trigger a_moving_tenant', guarded.name);
    end loop;
end $$;

-- What is copied keeps its end.
create or replace function set_dead_letter_expiry() returns trigger language plpgsql as $$
declare
    keep bigint;
begin
    if current_setting('gancho.move', true) = 'on' then
        return new;
    end if;
    select keep_dead_us into keep from tenants where tenant_id = new.tenant_id;
    if keep is not null then
        new.expires_at := new.moved_at + keep;
    end if;
    return new;
end $$;
