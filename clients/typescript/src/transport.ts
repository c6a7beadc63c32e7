// Sends requests with fetch.

import { APIConnectionError, APITimeoutError, type APIError, RateLimitError, errorOf, notJson } from "./errors.js";
import { type Operation, type Request, requestOf } from "./operation.js";
import type { Settings } from "./settings.js";

/** Statuses that leave it open whether something was done. */
const uncertain = new Set([408, 502, 503, 504]);

/** Nothing of the request has left when one of these is the cause. */
const notSent = new Set([
  "ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT",
  "CERT_HAS_EXPIRED", "DEPTH_ZERO_SELF_SIGNED_CERT", "SELF_SIGNED_CERT_IN_CHAIN", "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

export class Transport {
  constructor(readonly settings: Settings) {}

  /** The JSON of the answer, after as many attempts as it takes. */
  async send(operation: Operation): Promise<unknown> {
    const { settings } = this;
    const request = requestOf(operation, settings);
    const end = performance.now() + settings.deadline;
    for (let failed = 1; ; failed++) {
      const timeout = Math.min(settings.timeout, end - performance.now());
      if (timeout <= 0) throw new APITimeoutError(`no answer within ${settings.deadline} ms (${failed - 1} attempts)`);
      const outcome = await this.attempt(request, timeout);
      if ("value" in outcome) return outcome.value;
      const { error, mayRepeat, retryAfter } = outcome;
      const backoff = Math.min(8000, 100 * 2 ** failed) * (0.5 + Math.random() / 2);
      const delay = Math.max(backoff, retryAfter);
      if (!mayRepeat || failed > settings.maxRetries || performance.now() + delay >= end) throw error;
      await sleep(delay, settings.signal);
    }
  }

  private async attempt(request: Request, timeout: number): Promise<Outcome> {
    const { url, signal, fetch } = this.settings;
    signal?.throwIfAborted();
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), timeout);
    const abort = () => controller.abort();
    signal?.addEventListener("abort", abort);
    try {
      const response = await fetch(request.url, { ...request.init, signal: controller.signal });
      const body = await response.text();
      if (response.ok) return { value: answerOf(response, body, url) };
      const error = errorOf(response, body, url);
      const mayRepeat = error instanceof RateLimitError || (uncertain.has(error.status) && request.isSafeToRepeat);
      return { error, mayRepeat, retryAfter: (error.retryAfter ?? 0) * 1000 };
    } catch (error) {
      signal?.throwIfAborted();
      if (controller.signal.aborted) {
        const late = new APITimeoutError(`${url} did not answer within ${Math.ceil(timeout)} ms`, { cause: error });
        return { error: late, mayRepeat: request.isSafeToRepeat, retryAfter: 0 };
      }
      if (!(error instanceof TypeError)) throw error;
      const mayRepeat = request.isSafeToRepeat || notSent.has(causeOf(error).code ?? "");
      return { error: connectionError(error, url), mayRepeat, retryAfter: 0 };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }

  /** The lines of an answer, as they arrive. It is not begun again when the connection breaks. */
  async *lines(operation: Operation): AsyncGenerator<string> {
    const { url, signal, fetch, timeout } = this.settings;
    const request = requestOf(operation, this.settings);
    const controller = new AbortController();
    const abort = () => controller.abort(signal?.reason);
    signal?.addEventListener("abort", abort);
    const timer = setTimeout(() => controller.abort(), timeout);
    try {
      const response = await fetch(request.url, { ...request.init, signal: controller.signal });
      clearTimeout(timer);
      if (!response.ok || !response.body) throw errorOf(response, await response.text(), url);
      const decoder = new TextDecoder();
      let rest = "";
      for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
        const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
        rest = lines.pop() ?? "";
        yield* lines;
      }
      if (rest) yield rest;
    } catch (error) {
      signal?.throwIfAborted();
      throw error instanceof TypeError ? connectionError(error, url) : error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      controller.abort();
    }
  }
}

type Outcome = { value: unknown } | { error: APIError | APIConnectionError; mayRepeat: boolean; retryAfter: number };

function answerOf(response: Response, body: string, url: string): unknown {
  if (response.status === 204) return undefined;
  if (!response.headers.get("content-type")?.startsWith("application/json")) throw notJson(response, url);
  try {
    return JSON.parse(body);
  } catch {
    throw notJson(response, url);
  }
}

/** What made fetch fail: it says only that it did. */
function causeOf(error: Error): { code?: string; message: string } {
  const cause = error.cause as (Error & { code?: string; errors?: Error[] }) | undefined;
  const first = cause?.errors?.[0] as (Error & { code?: string }) | undefined;
  const code = cause?.code ?? first?.code;
  return { ...(code === undefined ? {} : { code }), message: first?.message || cause?.message || error.message };
}

function connectionError(error: Error, url: string): APIConnectionError {
  return new APIConnectionError(`no connection to ${url}: ${causeOf(error).message}`, { cause: error });
}

function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, milliseconds);
    function done() {
      signal?.removeEventListener("abort", stop);
      resolve();
    }
    function stop() {
      clearTimeout(timer);
      reject(signal?.reason);
    }
    signal?.addEventListener("abort", stop, { once: true });
  });
}
