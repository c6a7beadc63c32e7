// Measures how fast one process publishes, with the client's defaults.
//
// usage: node bench.mjs [EVENTS]
//
// GANCHO_URL and GANCHO_API_KEY say where to. For each way it prints events a second and the client's own CPU time an
// event: what is left of the time, the client waits for the gateway.

import { Gancho } from "@gancho/client";

const events = Number(process.argv[2] ?? 10_000);
const batch = 1000;
const gancho = new Gancho();

const data = (n) => ({ id: `inv_${n}`, amount: 4200, customer: { name: "Ana", country: "PT" } });

async function single(count, concurrent) {
  let n = 0;
  const publisher = async () => {
    while (n < count) await gancho.events.publish("invoice.paid", data(n++));
  };
  await Promise.all(Array.from({ length: concurrent }, publisher));
}

async function batches(count, concurrent) {
  let start = 0;
  const publisher = async () => {
    while (start < count) {
      const from = start;
      start += batch;
      const list = Array.from({ length: Math.min(batch, count - from) }, (_, i) => ({
        type: "invoice.paid",
        data: data(from + i),
      }));
      const outcome = await gancho.events.publishBatch(list);
      if (outcome.refused > 0) throw new Error(JSON.stringify(outcome));
    }
  };
  await Promise.all(Array.from({ length: concurrent }, publisher));
}

async function measure(name, count, run) {
  const begin = performance.now();
  const cpu = process.cpuUsage();
  await run();
  const seconds = (performance.now() - begin) / 1000;
  const used = process.cpuUsage(cpu);
  const rate = Math.round(count / seconds).toLocaleString("en-US").padStart(8);
  const each = ((used.user + used.system) / count).toFixed(1).padStart(6);
  console.log(`${name.padEnd(32)} ${rate} events/s   ${each} µs CPU an event`);
}

await single(2000, 32);
await measure("32 at a time", events, () => single(events, 32));
await measure(`batches of ${batch}`, events * 10, () => batches(events * 10, 4));
