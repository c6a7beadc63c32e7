// What a client is made with.

import { ConfigurationError } from "./errors.js";
import { type Send, isNode, sendWithFetch, sendWithNode } from "./http.js";

export interface Options {
  /** URL of the gateway's API. Default: `GANCHO_URL`. */
  url?: string;
  /** API key of a tenant. Default: `GANCHO_API_KEY`. */
  apiKey?: string;
  /** The operator's token, instead of an API key. */
  token?: string;
  /** Slug or id of the tenant that the operator acts for. Default: `GANCHO_TENANT`. */
  tenant?: string;
  /** Milliseconds that one attempt may take. Default: 20,000. */
  timeout?: number;
  /** Milliseconds that a call may take, retries and the waits between them included. Default: 60,000. */
  deadline?: number;
  /** Attempts after the first one. Default: 5. */
  maxRetries?: number;
  /** Sends requests with this instead of `node:http`. */
  fetch?: typeof fetch;
}

export interface Settings {
  url: string;
  headers: Record<string, string>;
  tenant: string | undefined;
  timeout: number;
  deadline: number;
  maxRetries: number;
  send: Send;
  fetch: typeof fetch;
  signal: AbortSignal | undefined;
}

export const version = "0.1.0";

const printable = /^[!-~]+$/;

/** Milliseconds: a longer timer, also one without end, fires at once. */
const maxTimer = 2 ** 31 - 1;

export function settingsOf(options: Options): Settings {
  const environment = globalThis.process?.env ?? {};
  if (options.apiKey && options.token) {
    throw new ConfigurationError("give an apiKey or the operator's token, not both");
  }
  const url = (options.url || environment.GANCHO_URL || "").trim();
  const key = (options.apiKey || options.token || environment.GANCHO_API_KEY || "").trim();
  if (!url) throw new ConfigurationError("no URL: pass url or set GANCHO_URL, e.g. to http://127.0.0.1:3000");
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw new ConfigurationError(`"${url}" is not a URL: it must start with http:// or https://`);
  }
  if (parsed.protocol !== "http:" && parsed.protocol !== "https:") {
    throw new ConfigurationError(`"${url}" is not a URL: it must start with http:// or https://`);
  }
  if (parsed.search || parsed.hash || parsed.username || parsed.password) {
    throw new ConfigurationError("the URL must be the gateway's address alone, without ?, # and a password");
  }
  if (!key) {
    throw new ConfigurationError("no API key: pass apiKey (or token as the operator), or set GANCHO_API_KEY");
  }
  if (!printable.test(key)) {
    throw new ConfigurationError("the API key has characters that no key has: check that it was copied alone");
  }
  return checked({
    url: url.replace(/\/+$/, "").replace(/\/v1$/, ""),
    headers: { Authorization: `Bearer ${key}`, "User-Agent": `gancho-typescript/${version}` },
    tenant: options.tenant || environment.GANCHO_TENANT || undefined,
    timeout: options.timeout ?? 20_000,
    deadline: options.deadline ?? 60_000,
    maxRetries: options.maxRetries ?? 5,
    send: isNode && !options.fetch ? sendWithNode : sendWithFetch(options.fetch ?? globalThis.fetch),
    fetch: options.fetch ?? globalThis.fetch,
    signal: undefined,
  });
}

export function checked(settings: Settings): Settings {
  if (settings.tenant !== undefined && !printable.test(settings.tenant)) {
    throw new ConfigurationError(`"${settings.tenant}" is not the slug or id of a tenant`);
  }
  if (!(settings.timeout > 0) || !(settings.deadline > 0) || !(settings.maxRetries >= 0)) {
    throw new ConfigurationError("timeout and deadline must be above 0, and maxRetries must not be negative");
  }
  return { ...settings, timeout: Math.min(settings.timeout, maxTimer), deadline: Math.min(settings.deadline, maxTimer) };
}
