// The client.

import { Resources } from "./generated/resources.js";
import { type Options, type Settings, checked, settingsOf } from "./settings.js";
import { Transport } from "./transport.js";

/** What can differ from call to call. */
export interface CallOptions {
  /** Slug or id of the tenant that the operator acts for; null for none. */
  tenant?: string | null;
  /** Milliseconds that one attempt may take. */
  timeout?: number;
  /** Milliseconds that a call may take, retries and the waits between them included. */
  deadline?: number;
  /** Attempts after the first one. */
  maxRetries?: number;
  /** Cancels the calls. */
  signal?: AbortSignal;
}

const made = Symbol("settings");

/** A client of a gateway. It keeps connections open, and is meant to be made once. */
export class Gancho extends Resources {
  readonly #settings: Settings;

  constructor(options: Options & { [made]?: Settings } = {}) {
    const settings = options[made] ?? settingsOf(options);
    super(new Transport(settings));
    this.#settings = settings;
  }

  /** A client with other settings that uses the same connections. */
  with(options: CallOptions): Gancho {
    const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
    const settings: Settings = { ...this.#settings, ...given };
    settings.tenant ??= undefined;
    return new Gancho({ [made]: checked(settings) });
  }
}
