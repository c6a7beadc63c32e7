// Sends a request as often as it takes.

import {
  APIConnectionError, APIError, APITimeoutError, RateLimitError, errorOf, isJson, maxAnswer, notJson, tooLarge,
} from "./errors.js";
import { type Answer, late, textOf } from "./http.js";
import { type Operation, type Request, requestOf } from "./operation.js";
import type { Settings } from "./settings.js";

/** Statuses that leave it open whether something was done. */
const uncertain = new Set([408, 502, 503, 504]);

/** Nothing of the request has left when one of these is the cause. */
const notSent = new Set([
  "ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT",
]);

/** What arrives bit by bit: server-sent events, or JSON a line. */
const stream = /^(text\/event-stream|application\/x-ndjson)/i;

/** Milliseconds. The gateway sends something at least every 15 seconds; a stream without it is a dead connection. */
const silence = 45_000;

/** Certificates do not get better by asking again. */
const certificate = /CERT|SELF_SIGNED|UNABLE_TO_/;

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
    const { url, signal, send } = this.settings;
    signal?.throwIfAborted();
    let answer: Answer;
    try {
      answer = await send(request, timeout, signal);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof APIError) return { error, mayRepeat: false, retryAfter: 0 };
      const failure = error instanceof APITimeoutError ? error : connectionError(error as Error, url);
      const { code = "" } = causeOf(error as Error);
      const mayRepeat = (request.isSafeToRepeat || notSent.has(code)) && !certificate.test(code);
      return { error: failure, mayRepeat, retryAfter: 0 };
    }
    if (answer.status >= 200 && answer.status < 300) return { value: valueOf(answer, url) };
    const error = errorOf(answer, url);
    const mayRepeat = error instanceof RateLimitError || (uncertain.has(error.status) && request.isSafeToRepeat);
    return { error, mayRepeat, retryAfter: (error.retryAfter ?? 0) * 1000 };
  }

  /** The lines of an answer, as they arrive. It is not begun again when the connection breaks. */
  async *lines(operation: Operation): AsyncGenerator<string> {
    const { url, signal, fetch, timeout } = this.settings;
    const request = requestOf(operation, this.settings);
    const controller = new AbortController();
    const abort = () => controller.abort(signal?.reason);
    signal?.addEventListener("abort", abort);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const limit = (time: number) => {
      clearTimeout(timer);
      timer = setTimeout(() => controller.abort(late(url, time)), time);
    };
    limit(timeout);
    try {
      const response = await fetch(request.url, { ...request.init, signal: controller.signal });
      const head = { status: response.status, headers: response.headers };
      if (!response.ok || !response.body) throw errorOf({ ...head, body: await textOf(response, url) }, url);
      if (!stream.test(response.headers.get("content-type") ?? "")) throw notJson(head, url);
      const decoder = new TextDecoder();
      let rest: string[] = [];
      let size = 0;
      limit(silence);
      for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
        clearTimeout(timer);
        const [first, ...others] = decoder.decode(chunk, { stream: true }).split("\n");
        rest.push(first ?? "");
        size += first?.length ?? 0;
        for (const part of others) {
          yield rest.join("");
          [rest, size] = [[part], part.length];
        }
        if (size > maxAnswer) throw tooLarge(head, url);
        limit(silence);
      }
      if (size > 0) yield rest.join("");
    } catch (error) {
      signal?.throwIfAborted();
      if (controller.signal.aborted) throw controller.signal.reason;
      // An answer that breaks off is a TypeError, as is one that does not come.
      throw error instanceof TypeError ? connectionError(error, url) : error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      controller.abort();
    }
  }
}

type Outcome = { value: unknown } | { error: APIError | APIConnectionError; mayRepeat: boolean; retryAfter: number };

function valueOf(answer: Answer, url: string): unknown {
  if (answer.status === 204) return undefined;
  if (!isJson(answer.headers)) throw notJson(answer, url);
  try {
    return JSON.parse(answer.body);
  } catch {
    throw notJson(answer, url);
  }
}

interface SystemError extends Error {
  code?: string;
  errors?: SystemError[];
}

/** What made a request fail: fetch says only that it did, and where several addresses were tried, each has an error. */
function causeOf(error: SystemError): { code: string | undefined; message: string } {
  const cause = (error.cause as SystemError | undefined) ?? error;
  const first = cause.errors?.[0] ?? cause;
  return { code: cause.code ?? first.code, message: first.message || cause.message || error.message };
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
