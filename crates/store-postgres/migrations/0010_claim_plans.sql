-- Each session keeps the plans of this function's statements, and makes them when the tables may be nearly
-- empty. A plan that reads and sorts all that is pending is as good as any other then, and a disaster a minute
-- later. Only the index `deliveries_pending` has the order that is asked for without sorting.
alter function claim_round(
    smallint, bigint, int, int, int, int, uuid, uuid, uuid, uuid, boolean, uuid[], uuid[], uuid[], uuid[]
) set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off;
