-- Every delivery leaves row versions behind that lists and claims pass over until they are removed. By the defaults that
-- is when a fifth of the table has changed; here it is when a hundredth has. Inserted rows are marked as visible to all
-- early, so that the first reader does not have to do it.
alter table deliveries set (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0.05);
alter table parcels set (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0.05);
alter table attempts set (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0.05);
alter table spans set (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);
alter table once_keys set (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);
alter table intake set (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);

-- As before, with a bound on the rows that are read, however many tenants share a time bucket: the part of it that is read
-- is narrowed until it holds at most two rows for each one that is asked for.
create or replace function deliveries_of_all(below uuid, lowest uuid, looks int) returns table (
    tenant_id uuid, id uuid, target_id uuid, parcel_id uuid, created_at bigint, attempts int,
    lane smallint, state smallint, place bigint, reached uuid
) language plpgsql stable as $$
declare
    span_from uuid;
    span_to uuid;
    bucket uuid;               -- whose tenants are known
    tenants uuid[];
    part_from uuid;
    part uuid[];
    seen int;
    last uuid;
    looked bigint := 0;
begin
    loop
        span_from := null; span_to := null;
        select s.from_id, s.to_id into span_from, span_to from spans s
        where s.from_id < below order by s.from_id desc limit 1;
        exit when span_from is null or span_to <= lowest;
        if looks <= 0 then
            id := null; place := looked + 1; reached := below;
            return next;
            return;
        end if;
        if span_from is distinct from bucket then
            bucket := span_from;
            -- One step of the index for each.
            tenants := array(
                with recursive tenants_of_span(tenant_id) as (
                    (select s.tenant_id from spans s where s.from_id = span_from
                     order by s.tenant_id limit 1)
                    union all
                    select (select s.tenant_id from spans s
                        where s.from_id = span_from and s.tenant_id > t.tenant_id
                        order by s.tenant_id limit 1)
                    from tenants_of_span t where t.tenant_id is not null)
                select t.tenant_id from tenants_of_span t where t.tenant_id is not null);
        end if;
        part_from := span_from;
        while cardinality(tenants) > 2 loop
            -- In any order of tenants, so that none of them can make it take long.
            part := array(
                select n.id from (
                    select d.id
                    from (select t.tenant_id from unnest(tenants) as t(tenant_id) order by random()) t
                    cross join lateral (
                        select d.id from deliveries d
                        where d.tenant_id = t.tenant_id and d.id >= part_from
                          and d.id < least(span_to, below)
                        order by d.id desc limit looks + 1) d
                    limit 2 * looks) n
                order by n.id desc);
            exit when cardinality(part) < 2 * looks;
            part_from := part[looks];
        end loop;
        seen := 0;
        for tenant_id, id, target_id, parcel_id, created_at, attempts, lane, state in
            select d.tenant_id, d.id, d.target_id, d.parcel_id, d.created_at, d.attempts, d.lane, d.state
            from unnest(tenants) as t(tenant_id)
            cross join lateral (
                select d.* from deliveries d
                where d.tenant_id = t.tenant_id and d.id >= part_from
                  and d.id < least(span_to, below)
                order by d.id desc limit looks) d
            order by d.id desc limit looks
        loop
            seen := seen + 1;
            looked := looked + 1;
            place := looked;
            last := id;
            return next;
        end loop;
        -- There may be more in this span.
        below := case when seen = looks then last else part_from end;
        looks := looks - greatest(seen, 1);
    end loop;
end $$;
