// Every operation of the API has a method.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { operator } from "./servers.mjs";

test("every operation has a method", () => {
  const document = JSON.parse(readFileSync(process.env.GANCHO_TEST_OPENAPI));
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  const methods = Object.values(operator).flatMap((group) =>
    Object.getOwnPropertyNames(Object.getPrototypeOf(group)).filter((name) => name !== "constructor"),
  );
  assert.equal(methods.length, operations.length);
});
