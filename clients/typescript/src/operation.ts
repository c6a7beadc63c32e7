// A call of the API, before it is sent.

import { InvalidRequestError } from "./errors.js";
import type { Settings } from "./settings.js";

export interface Operation {
  method: string;
  url: string;
  takesTenant?: boolean;
  query?: object;
  body?: object;
  /** Fields of the answer. One that has none of them is not a gateway's. */
  required?: string[];
  /** Where the idempotency key goes: `header`, or a field of the body. */
  idempotency?: { field: string; key: string | null | undefined };
}

/** What is sent. All attempts send the same, and so the same idempotency key. */
export interface Request {
  url: string;
  init: { method: string; headers: Record<string, string>; body?: string; redirect: "manual" };
  isSafeToRepeat: boolean;
}

export function requestOf(operation: Operation, settings: Settings): Request {
  const headers: Record<string, string> = { ...settings.headers };
  if (settings.tenant !== undefined && operation.takesTenant) headers["X-Tenant"] = settings.tenant;
  let body = operation.body as Record<string, unknown> | undefined;
  if (operation.idempotency) {
    const { field } = operation.idempotency;
    // Without types, a key may be null; a repetition without one would be a second event.
    const key = operation.idempotency.key ?? crypto.randomUUID();
    const { idempotency_key: _, ...rest } = body ?? {};
    body = rest;
    if (field === "header") headers["Idempotency-Key"] = header(key);
    else body[field] = key;
  }
  const init: Request["init"] = { method: operation.method, headers, redirect: "manual" };
  if (body !== undefined) {
    init.body = encode(body);
    headers["Content-Type"] = "application/json";
  }
  return {
    url: settings.url + operation.url + search(operation.query),
    init,
    // A second POST or PATCH may do a thing twice, unless a key tells the gateway that it is the same one.
    isSafeToRepeat: ["GET", "PUT", "DELETE"].includes(operation.method) || operation.idempotency !== undefined,
  };
}

/** A value as one segment of a path. */
export function path(value: string): string {
  if (typeof value !== "string" || value === "" || value === "." || value === "..") {
    throw new InvalidRequestError(`${JSON.stringify(value)} is not an id or name: it must be a string that is not empty`);
  }
  return encodeURIComponent(value);
}

function header(key: string): string {
  if (!/^[!-~]+$/.test(key)) {
    throw new InvalidRequestError("idempotency_key must be visible ASCII characters without spaces");
  }
  return key;
}

function encode(body: unknown): string {
  try {
    return JSON.stringify(body);
  } catch (error) {
    throw new InvalidRequestError(`the body cannot be encoded as JSON: ${(error as Error).message}`, { cause: error });
  }
}

function timestamp(name: string, value: Date): string {
  if (Number.isNaN(value.getTime())) throw new InvalidRequestError(`${name} is an invalid Date`);
  return value.toISOString();
}

function search(query: object | undefined): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null);
  if (given.length === 0) return "";
  const plain = given.map(([name, value]) => [name, value instanceof Date ? timestamp(name, value) : String(value)]);
  return `?${new URLSearchParams(plain as [string, string][])}`;
}
