"""Measures how fast one process publishes, with the client's defaults.

usage: bench.py [EVENTS]

GANCHO_URL and GANCHO_API_KEY say where to. For each way it prints events a second and the client's own CPU time an
event: what is left of the time, the client waits for the gateway.
"""

import asyncio
import sys
import time

from gancho import AsyncGancho, Gancho

EVENTS = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
CONCURRENT = 32
BATCH = 1000


def data(n):
    return {"id": f"inv_{n}", "amount": 4200, "customer": {"name": "Ana", "country": "PT"}}


def report(name, events, begin, cpu):
    seconds, used = time.perf_counter() - begin, time.process_time() - cpu
    print(f"{name:<32} {events / seconds:>8,.0f} events/s   {used / events * 1e6:>6.1f} µs CPU an event", flush=True)


async def single(gancho, events):
    numbers = iter(range(events))

    async def publisher():
        for n in numbers:
            await gancho.events.publish("invoice.paid", data(n))

    await asyncio.gather(*(publisher() for _ in range(CONCURRENT)))


async def batches(gancho, events):
    starts = iter(range(0, events, BATCH))

    async def publisher():
        for start in starts:
            batch = [{"type": "invoice.paid", "data": data(n)} for n in range(start, min(start + BATCH, events))]
            outcome = await gancho.events.publish_batch(batch)
            assert outcome.refused == 0, outcome

    await asyncio.gather(*(publisher() for _ in range(4)))


async def concurrent():
    async with AsyncGancho() as gancho:
        await single(gancho, 500)
        begin, cpu = time.perf_counter(), time.process_time()
        await single(gancho, EVENTS)
        report(f"async, {CONCURRENT} at a time", EVENTS, begin, cpu)
        begin, cpu = time.perf_counter(), time.process_time()
        await batches(gancho, EVENTS * 10)
        report(f"async, batches of {BATCH}", EVENTS * 10, begin, cpu)


def one_at_a_time():
    with Gancho() as gancho:
        gancho.events.publish("invoice.paid", data(0))
        begin, cpu = time.perf_counter(), time.process_time()
        for n in range(EVENTS // 10):
            gancho.events.publish("invoice.paid", data(n))
        report("sync, one at a time", EVENTS // 10, begin, cpu)
        begin, cpu = time.perf_counter(), time.process_time()
        for start in range(0, EVENTS * 5, BATCH):
            gancho.events.publish_batch([{"type": "invoice.paid", "data": data(n)} for n in range(start, start + BATCH)])
        report(f"sync, batches of {BATCH}", EVENTS * 5, begin, cpu)


asyncio.run(concurrent())
one_at_a_time()
