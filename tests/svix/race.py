"""Sends the same call many times at once, on PostgreSQL to two nodes: uids, idempotency keys and upserts hold across them
and across a restart, and a walk over pages goes on after one.

usage: race.py GANCHO [DATABASE_URL]
"""

import collections
import concurrent.futures
import shutil
import sys

from stage import Gateway, drop_database, new_database

CALLS = 24
ENDPOINT = {"url": "http://127.0.0.1:48999/"}


def at_once(nodes, path, body, method="POST", **more):
    """How often each status came back, and the ids."""
    with concurrent.futures.ThreadPoolExecutor(CALLS) as pool:
        calls = [pool.submit(nodes[n % len(nodes)].call, path, body, method, **more) for n in range(CALLS)]
        answers = [call.result() for call in calls]
    ids = {answer.get("id", answer.get("name")) for status, answer in answers if status < 300}
    return collections.Counter(status for status, _ in answers), ids


def uids(nodes):
    counts, ids = at_once(nodes, "/api/v1/app", {"name": "A", "uid": "a"})
    assert counts == {201: 1, 409: CALLS - 1}, counts
    counts, ids = at_once(nodes, "/api/v1/app/a/endpoint", {**ENDPOINT, "uid": "same"})
    assert counts == {201: 1, 409: CALLS - 1}, counts
    for node in nodes:
        assert {node.call("/api/v1/app/a/endpoint/same")[1]["id"]} == ids
    # A uid is the application's own.
    assert nodes[0].call("/api/v1/app", {"name": "B", "uid": "b"})[0] == 201
    assert nodes[-1].call("/api/v1/app/b/endpoint", {**ENDPOINT, "uid": "same"})[0] == 201
    status, moved = nodes[-1].call("/api/v1/app/a/endpoint", {**ENDPOINT, "uid": "other"})
    assert status == 201
    assert nodes[0].call("/api/v1/app/a/endpoint/other", {"uid": "same"}, "PATCH")[0] == 409
    assert nodes[0].call("/api/v1/app/a/endpoint/other", {"uid": None}, "PATCH")[1]["uid"] is None
    assert nodes[-1].call("/api/v1/app/a/endpoint/other")[0] == 404
    assert nodes[-1].call(f"/api/v1/app/a/endpoint/{moved['id']}")[0] == 200


def upserts(nodes):
    """One creates it, the others find it: nobody gets a conflict."""
    for path, body, method in (
        ("/api/v1/app?get_if_exists=true", {"name": "C", "uid": "c"}, "POST"),
        ("/api/v1/app/d", {"name": "D"}, "PUT"),
        ("/api/v1/app/a/endpoint/put", ENDPOINT, "PUT"),
        ("/api/v1/event-type/put.at.once", {"description": "Of many at once."}, "PUT"),
    ):
        counts, ids = at_once(nodes, path, body, method)
        assert counts == {201: 1, 200: CALLS - 1} and len(ids) == 1, f"{path}: {counts} {ids}"
    counts, ids = at_once(nodes, "/api/v1/app/e/msg", {"eventType": "x.y", "payload": {}, "application": {"name": "E"}})
    assert counts == {202: CALLS} and len(ids) == CALLS, counts


def keys(nodes):
    key = {"headers": {"idempotency-key": "k"}}
    before = len(nodes[0].call("/api/v1/app/a/endpoint")[1]["data"])
    counts, ids = at_once(nodes, "/api/v1/app/a/endpoint", ENDPOINT, **key)
    assert len(ids) == 1 and set(counts) <= {201, 409}, counts
    for node in nodes:
        assert {node.call("/api/v1/app/a/endpoint", ENDPOINT, **key)[1]["id"]} == ids
    assert nodes[-1].call("/api/v1/app/a/endpoint", {**ENDPOINT, "description": "x"}, **key)[0] == 409
    assert len(nodes[0].call("/api/v1/app/a/endpoint")[1]["data"]) == before + 1
    counts, ids = at_once(nodes, "/api/v1/app/a/msg", {"eventType": "x.y", "payload": {}}, **key)
    assert counts == {202: CALLS} and len(ids) == 1, counts
    counts, ids = at_once(nodes, "/api/v1/app/a/msg", {"eventType": "x.y", "payload": {}, "eventId": "e"})
    assert counts == {202: 1, 409: CALLS - 1}, counts
    # A failed call may be repeated with its key, and a response with a token is not kept.
    wrong = {"headers": {"idempotency-key": "w"}}
    assert nodes[0].call("/api/v1/app/a/endpoint", {"url": "no url"}, **wrong)[0] == 422
    assert nodes[-1].call("/api/v1/app/a/endpoint", ENDPOINT, **wrong)[0] == 201
    links = [nodes[0].call("/api/v1/auth/app-portal-access/a", {}, **key)[1]["token"] for _ in range(2)]
    assert links[0] != links[1]


def restart(nodes):
    node = nodes[0]
    wanted = {one["id"] for one in node.call("/api/v1/app/a/endpoint?limit=250")[1]["data"]}
    key = {"headers": {"idempotency-key": "k"}}
    kept = node.call("/api/v1/app/a/endpoint", ENDPOINT, **key)[1]["id"]
    seen, iterator = [], ""
    while True:
        status, page = node.call("/api/v1/app/a/endpoint?limit=2" + iterator)
        assert status == 200, page
        seen += [one["id"] for one in page["data"]]
        iterator = f"&iterator={page['iterator']}"
        if page["done"]:
            break
        if len(seen) == 2:
            node.restart()
    assert len(seen) == len(set(seen)) and set(seen) == wanted
    assert node.call("/api/v1/app/a/endpoint", ENDPOINT, **key)[1]["id"] == kept


def main():
    gancho, server = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    name, database = new_database(server) if server else (None, None)
    nodes = [Gateway(gancho, database)]
    try:
        if database:
            nodes.append(Gateway(gancho, database, lambda folder: shutil.copy(nodes[0].folder + "/master.key", folder)))
        uids(nodes)
        upserts(nodes)
        keys(nodes)
        restart(nodes)
    finally:
        for node in nodes:
            node.stop()
        if name:
            drop_database(server, name)
    print(f"{CALLS} calls at once to {len(nodes)} of {'PostgreSQL' if server else 'SQLite'}: uids and keys hold")


main()
