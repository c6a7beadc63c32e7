-- Which targets a claim takes from: once around the tenants after `start`, and in each tenant's turn
-- once around its targets, beginning where the last turn was cut short. Looks at no more than `looks`
-- targets; a turn in the middle of which they run out is given to the next claim as `turn_…`.
-- Of `proven_targets` it takes `per_proven` at the most, so that a claim is not filled by a few targets that
-- have never answered. The arrays are sorted. The function of this name
-- with fewer parameters stays for nodes of the version before.
--
-- Answers with rows in the order of the walk. `event` is null where `take` deliveries of a target are
-- to be taken, else:
--   resumed  the turn began behind this target, where an earlier one was cut short
--   left     more of the tenant is due than is taken
--   cut      the turn ended behind this target because the tenant's share, or the room, was used up
--   wrap     every tenant to the last has had its turn
--   turn     the looks ran out in the middle of a turn, behind this target; `take` is 1 if it had
--            come to the tenant's last target before
--   whole    the walk is all the way round
--   full     there is no more room
--   far      the looks ran out
-- One of the last three is the last row. It names the last tenant whose turn has ended since the walk
-- went on with the first.
create function claim_round(
    in_lane smallint, at bigint, most int, per_target int, per_proven int, per_tenant int, looks int,
    start uuid, turn_tenant uuid, turn_from uuid, turn_at uuid, turn_wrapped boolean,
    resume_tenants uuid[], resume_targets uuid[],
    skip_tenants uuid[], skip_targets uuid[], proven_targets uuid[]
) returns table (tenant_id uuid, target_id uuid, take int, event text)
language plpgsql stable
-- Each session keeps the plans of these statements, and makes them when the tables may be nearly empty: a plan
-- that reads and sorts all that is pending is as good as any other then, and a disaster a minute later. Only the
-- index `deliveries_pending` has the order that is asked for without sorting.
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off
as $$
declare
    lowest  constant uuid := '00000000-0000-0000-0000-000000000000';
    highest constant uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
    ended   uuid := start;              -- the last tenant whose turn has ended
    wrapped boolean := start is null;
    total   int := 0;
    -- The turn that is under way, if any.
    tenant  uuid := turn_tenant;
    first   uuid := turn_from;          -- the target behind which it began
    place   uuid := turn_at;            -- the target visited last
    around  boolean := turn_wrapped;
    share   int := per_tenant;
    -- The next target behind this key, as the index said last.
    after_tenant  uuid;
    after_target  uuid;
    known_tenant  uuid;
    known_target  uuid;
    next_tenant   uuid;
    next_target   uuid;
    next_due      bigint;
    -- Places in the arrays: the walk passes the tenants in their order, so these only rise until it
    -- wraps. Functions that search an array are no help: they copy it for each call.
    skip_place   int := 1;
    resume_place int := 1;
    low  int;
    high int;
    room int;
    due  int;
begin
    if tenant = any (skip_tenants) then
        ended := tenant;
        tenant := null;
    end if;
    loop
        target_id := null; take := null;
        if tenant is not null and (share <= 0 or total >= most) then
            tenant_id := tenant; target_id := place; event := 'cut';
            return next;
            ended := tenant;
            tenant := null;
            target_id := null;
        end if;
        if total >= most or looks <= 0 then
            if tenant is not null then
                tenant_id := tenant; target_id := place; take := around::int; event := 'turn';
                return next;
            end if;
            tenant_id := ended; target_id := null; take := null;
            event := case when total >= most then 'full' else 'far' end;
            return next;
            return;
        end if;

        if tenant is not null then
            after_tenant := tenant;
            after_target := coalesce(place, lowest);
        else
            after_tenant := coalesce(ended, lowest);
            after_target := case when ended is null then lowest else highest end;
        end if;
        if known_tenant is null or (known_tenant, known_target) > (after_tenant, after_target)
            or (next_tenant, next_target) <= (after_tenant, after_target)
        then
            looks := looks - 1;
            select d.tenant_id, d.target_id, d.due_at into next_tenant, next_target, next_due
            from deliveries d
            where d.state = 2 and d.lane = in_lane
              and (d.tenant_id, d.target_id) > (after_tenant, after_target)
            order by d.tenant_id, d.target_id, d.due_at limit 1;
            known_tenant := after_tenant;
            known_target := after_target;
        end if;

        if tenant is null then
            if next_tenant is null then
                ended := null;
                tenant_id := null; event := 'wrap';
                return next;
                if wrapped then
                    event := 'whole';
                    return next;
                    return;
                end if;
                wrapped := true;
                skip_place := 1;
                resume_place := 1;
                continue;
            elsif wrapped and start is not null and next_tenant > start then
                tenant_id := start; event := 'whole';
                return next;
                return;
            end if;
            while skip_tenants[skip_place] < next_tenant loop
                skip_place := skip_place + 1;
            end loop;
            if skip_tenants[skip_place] = next_tenant then
                ended := next_tenant;
                continue;
            end if;
            while resume_tenants[resume_place] < next_tenant loop
                resume_place := resume_place + 1;
            end loop;
            tenant := next_tenant;
            share := per_tenant;
            first := null;
            if resume_tenants[resume_place] = tenant then
                first := resume_targets[resume_place];
                tenant_id := tenant; target_id := first; event := 'resumed';
                return next;
            end if;
            place := first;
            around := first is null;
        elsif next_tenant is distinct from tenant then
            if around then
                ended := tenant;
                tenant := null;
            else
                around := true;
                place := null;
            end if;
        elsif around and first is not null and next_target > first then
            ended := tenant;
            tenant := null;
        else
            place := next_target;
            continue when next_due > at;
            low := 1;
            high := cardinality(skip_targets);
            while low < high loop
                if skip_targets[(low + high) / 2] < place then
                    low := (low + high) / 2 + 1;
                else
                    high := (low + high) / 2;
                end if;
            end loop;
            continue when skip_targets[low] = place;
            low := 1;
            high := cardinality(proven_targets);
            while low < high loop
                if proven_targets[(low + high) / 2] < place then
                    low := (low + high) / 2 + 1;
                else
                    high := (low + high) / 2;
                end if;
            end loop;
            room := case when proven_targets[low] = place then per_proven else per_target end;
            room := least(room, share, most - total);
            select count(*) into due from (
                select 1 from deliveries d
                where d.state = 2 and d.lane = in_lane and d.tenant_id = tenant
                  and d.target_id = place and d.due_at <= at
                order by d.due_at limit room + 1) few;
            tenant_id := tenant; target_id := place; take := least(due, room); event := null;
            return next;
            total := total + take;
            share := share - take;
            if due > room then
                take := null; event := 'left';
                return next;
            end if;
        end if;
    end loop;
end $$;
