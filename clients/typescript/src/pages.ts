// Lists of any length.

import { isObject, unexpectedAnswer } from "./errors.js";
import type { Operation } from "./operation.js";
import type { Transport } from "./transport.js";

/** A page of a list. It may be empty and still not the last one. */
export interface Page<T> {
  data: T[];
  /** Where the next page starts; null on the last one. */
  next_cursor: string | null;
}

/** A list of any length: `for await` over it fetches page after page. */
export class Pages<T> implements AsyncIterable<T> {
  readonly #transport: Transport;
  readonly #operation: Operation;

  constructor(transport: Transport, operation: Operation) {
    this.#transport = transport;
    this.#operation = operation;
  }

  /** One page: the first one, or the one at a cursor. */
  async page(cursor?: string | null): Promise<Page<T>> {
    const query = cursor ? { ...this.#operation.query, cursor } : { ...this.#operation.query };
    const page = await this.#transport.send({ ...this.#operation, query });
    if (!isObject(page) || !Array.isArray(page.data)) throw unexpectedAnswer("it is not a page of a list");
    const next = page.next_cursor ?? null;
    if (next !== null && typeof next !== "string") throw unexpectedAnswer("it is not a page of a list");
    // A list that leads back to the same page would never end.
    if (next !== null && next === cursor) throw unexpectedAnswer("the next page of a list is the same one");
    return { data: page.data as T[], next_cursor: next };
  }

  async *pages(): AsyncGenerator<Page<T>> {
    let cursor: string | null = null;
    do {
      const page: Page<T> = await this.page(cursor);
      yield page;
      cursor = page.next_cursor;
    } while (cursor !== null);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for await (const page of this.pages()) yield* page.data;
  }
}
