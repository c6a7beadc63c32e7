#!/usr/bin/env node
// Starts the program of the package for this machine.
"use strict";
const { spawn } = require("node:child_process");

const name = `@gancho/${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/gancho`);
} catch {
  console.error(`error: the package ${name} is not installed`);
  console.error("hint: gancho runs on Linux, x64 and arm64; install without --omit=optional");
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// Ctrl-C reaches the program itself. Twice, it would not wait for requests in flight.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`error: cannot start ${program}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
