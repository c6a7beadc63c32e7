// Verifies webhooks that the gateway delivers.

import { Webhook } from "standardwebhooks";
import { ConfigurationError, SignatureError } from "./errors.js";

/** An event whose signature is right. */
export interface ReceivedEvent<T = unknown> {
  /** The header `webhook-id`: the same for all attempts to deliver it, so it tells repetitions apart. */
  id: string;
  type: string;
  /** When the event was published. */
  timestamp: string;
  data: T;
  /** The whole body, for a webhook whose profile has no envelope. */
  payload: unknown;
}

type HeaderSource = Headers | Record<string, string | string[] | undefined>;

/**
 * The event in a request; throws a `SignatureError` if its signature is wrong.
 *
 * @param body The body exactly as it was received, not parsed and encoded again.
 * @param headers The request's headers: of `fetch`, of `node:http`, of Express.
 * @param secret The webhook's secret (`whsec_…`), or several of which one must match.
 */
export function verify<T = unknown>(
  body: string | Uint8Array,
  headers: HeaderSource,
  secret: string | readonly string[],
): ReceivedEvent<T> {
  const text = typeof body === "string" ? body : new TextDecoder().decode(body);
  const given = headers instanceof Headers ? [...headers.entries()] : Object.entries(headers);
  const lower: Record<string, string> = {};
  for (const [name, value] of given) {
    if (value !== undefined) lower[name.toLowerCase()] = Array.isArray(value) ? value.join(" ") : value;
  }
  // A variable of the environment that is not set is undefined.
  const secrets = typeof secret === "string" ? [secret] : (secret ?? []);
  if (secrets.length === 0 || secrets.some((one) => !one)) {
    throw new ConfigurationError("no secret: pass the one that creating the webhook returned");
  }
  let failure: unknown;
  for (const candidate of secrets) {
    let webhook: Webhook;
    try {
      webhook = new Webhook(candidate);
    } catch (error) {
      throw new ConfigurationError("the secret is not one of Standard Webhooks (whsec_…)", { cause: error });
    }
    try {
      const payload = webhook.verify(text, lower);
      const { type, timestamp, data } = Object(payload) as ReceivedEvent<T>;
      return { id: lower["webhook-id"] ?? "", type, timestamp, data, payload };
    } catch (error) {
      failure = error;
    }
  }
  throw new SignatureError((failure as Error).message, { cause: failure });
}
