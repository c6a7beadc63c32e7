// What the client throws. Every class derives from `GanchoError`.

import type { Answer } from "./http.js";

/** The base of all errors of this client. */
export class GanchoError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The client was made without a URL or a key, or with an invalid one. Nothing was sent. */
export class ConfigurationError extends GanchoError {}

/** An argument cannot be sent, such as a body that is not JSON. Nothing was sent. */
export class InvalidRequestError extends GanchoError {}

/** A webhook's signature is wrong, missing or too old. Answer 400 and do not use the body. */
export class SignatureError extends GanchoError {}

/** The gateway could not be reached, or the connection broke. */
export class APIConnectionError extends GanchoError {}

/** No answer came in time. A request that is not safe to repeat may have been carried out. */
export class APITimeoutError extends APIConnectionError {}

/** What is wrong with one field of the body. */
export interface FieldError {
  /** JSON pointer (RFC 6901) into the body; empty if the error is not about a field. */
  pointer: string;
  detail: string;
}

/** What a problem should be. A proxy may answer with problems of its own, in which any field may be anything. */
interface Problem {
  code?: unknown;
  title?: unknown;
  detail?: unknown;
  errors?: unknown;
  request_id?: unknown;
}

/** The gateway answered with an error (RFC 9457). */
export class APIError extends GanchoError {
  /** HTTP status. */
  readonly status: number;
  /** Stable, machine-readable code, see docs/errors.md. */
  readonly code: string;
  readonly title: string;
  /** What is wrong, and how to fix it. */
  readonly detail: string;
  /** One entry for each invalid field. */
  readonly errors: FieldError[];
  /** Id of the request, to report to the operator. */
  readonly requestId: string | null;
  /** Seconds to wait before the next request, where the gateway says so. */
  readonly retryAfter: number | null;

  constructor(status: number, problem: Problem, headers: Answer["headers"]) {
    const code = text(problem.code ?? "unexpected_response");
    const detail = text(problem.detail);
    const given: unknown[] = Array.isArray(problem.errors) ? problem.errors : [];
    const errors = given.filter(isObject).map((one) => ({ pointer: text(one.pointer), detail: text(one.detail) }));
    const requestId = text(problem.request_id ?? headers.get("x-request-id")) || null;
    const lines = errors.filter((error) => error.pointer).map((error) => `\n  ${error.pointer}: ${error.detail}`);
    super(`${status} ${code}: ${detail}${lines.join("")}${requestId ? `\n  request id: ${requestId}` : ""}`);
    this.status = status;
    this.code = code;
    this.title = text(problem.title);
    this.detail = detail;
    this.errors = errors;
    this.requestId = requestId;
    this.retryAfter = retryAfter(headers);
  }
}

/** 400, 408, 413 or 415: the request is malformed. */
export class BadRequestError extends APIError {}
/** 401: the API key or token is missing or wrong. */
export class AuthenticationError extends APIError {}
/** 403: the key lacks the scope, the operation is the operator's, or the plan's limit is reached. */
export class PermissionDeniedError extends APIError {}
/** 404: it does not exist for this tenant. */
export class NotFoundError extends APIError {}
/** 409: it exists already, or its state does not allow this. */
export class ConflictError extends APIError {}
/** 422: a field is invalid, missing or unknown; `errors` says which. */
export class ValidationError extends APIError {}
/** 429: too many requests; `retryAfter` says when to go on. */
export class RateLimitError extends APIError {}
/** 500 or above: the gateway, or a proxy before it, cannot answer now. */
export class ServerError extends APIError {}
/** The answer is not one of a gateway: the URL is probably that of something else. */
export class UnexpectedResponseError extends APIError {}

const byStatus: Record<number, typeof APIError> = {
  401: AuthenticationError,
  403: PermissionDeniedError,
  404: NotFoundError,
  409: ConflictError,
  422: ValidationError,
  429: RateLimitError,
};

/** The error that an answer other than 2xx stands for. */
export function errorOf({ status, headers, body }: Answer, url: string): APIError {
  const kind = headers.get("content-type") ?? "";
  let problem: Problem | undefined;
  if (kind.toLowerCase().startsWith("application/problem+json")) {
    try {
      problem = JSON.parse(body) as Problem;
    } catch {
      // It is reported as what no gateway answers.
    }
  }
  if (isObject(problem) && problem.code) {
    const Kind = status >= 500 ? ServerError : (byStatus[status] ?? BadRequestError);
    return new Kind(status, problem, headers);
  }
  if (status >= 500) {
    const detail = `${url} answered ${status} without saying why; a proxy before the gateway may have made this answer`;
    return new ServerError(status, { detail }, headers);
  }
  if (status === 429) {
    const detail = `${url} answered 429 without saying why; a proxy before the gateway may limit requests`;
    return new RateLimitError(status, { detail }, headers);
  }
  const detail =
    status >= 300 && status < 400 && headers.get("location")
      ? `${url} redirects to ${headers.get("location")}: set the URL of the gateway itself`
      : `${url} answered ${status} with ${kind || "no content"}: is this the URL of a Gancho API?`;
  return new UnexpectedResponseError(status, { detail }, headers);
}

/** For JSON that no gateway answers. */
export function unexpectedAnswer(what: string): APIError {
  const detail = `the answer is not what was asked for (${what}): is this the URL of a Gancho API, and of this version?`;
  return new UnexpectedResponseError(200, { detail }, { get: () => null });
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function text(value: unknown): string {
  return value === undefined || value === null ? "" : String(value);
}

export function notJson(response: Omit<Answer, "body">, url: string): APIError {
  const kind = response.headers.get("content-type") ?? "nothing";
  const detail = isJson(response.headers)
    ? `${url} answered with JSON that is malformed or ends early; a proxy before the gateway may have cut it`
    : `${url} answered with ${kind} instead of JSON: is this the URL of a Gancho API?`;
  return new UnexpectedResponseError(response.status, { detail }, response.headers);
}

export function isJson(headers: Answer["headers"]): boolean {
  return (headers.get("content-type") ?? "").toLowerCase().startsWith("application/json");
}

/** Bytes. The gateway's largest answers are pages of some MiB. */
export const maxAnswer = 64 << 20;

export function tooLarge({ status, headers }: Omit<Answer, "body">, url: string): APIError {
  const size = `more than ${maxAnswer >> 20} MiB`;
  const detail = `${url} answered with ${size}, as no gateway does: is this the URL of a Gancho API?`;
  return new UnexpectedResponseError(status, { detail }, headers);
}

/** Seconds, also of a date, which is compared with the server's own clock where it says what time it has. */
function retryAfter(headers: Answer["headers"]): number | null {
  const given = headers.get("retry-after")?.trim();
  if (!given) return null;
  let seconds = Number(given);
  if (Number.isNaN(seconds)) {
    const now = Date.parse(headers.get("date") ?? "");
    seconds = (Date.parse(given) - (Number.isNaN(now) ? Date.now() : now)) / 1000;
  }
  return Number.isFinite(seconds) ? Math.max(0, seconds) : null;
}
