// What the generated groups of methods are made of.

import { isObject, unexpectedAnswer } from "./errors.js";
import type { Operation } from "./operation.js";
import { Pages } from "./pages.js";
import type { Transport } from "./transport.js";

export { path } from "./operation.js";

export abstract class Resource {
  // Not a property, so that logging a client does not log its key.
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  protected async _call<T>(operation: Operation): Promise<T> {
    const value = await this.#transport.send(operation);
    const { required } = operation;
    // Something else that answers JSON must not pass for an event that was published. An older gateway may lack a field.
    if (required && !(isObject(value) && required.some((name) => name in value))) {
      throw unexpectedAnswer(`it has no ${required.join(", ")}`);
    }
    return value as T;
  }

  protected _list<T>(operation: Operation): Pages<T> {
    return new Pages<T>(this.#transport, operation);
  }

  /** JSON values, one a line. */
  protected async *_lines<T>(operation: Operation): AsyncGenerator<T> {
    for await (const line of this.#transport.lines(operation)) {
      if (line.trim()) yield parsed(line) as T;
    }
  }

  /** Server-sent events whose data is JSON. */
  protected async *_events<T>(operation: Operation): AsyncGenerator<T> {
    let data: string[] = [];
    for await (const raw of this.#transport.lines(operation)) {
      const line = raw.replace(/\r$/, "");
      if (line.startsWith("data:")) {
        data.push(line.slice(5));
      } else if (line === "" && data.length > 0) {
        yield parsed(data.join("\n")) as T;
        data = [];
      }
    }
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw unexpectedAnswer(String(error));
  }
}
