// The TypeScript client of Gancho, the webhook gateway.

export { Gancho, type CallOptions } from "./client.js";
export type { Options } from "./settings.js";
export { type Page, Pages } from "./pages.js";
export { verify, type ReceivedEvent } from "./verify.js";
export * from "./errors.js";
export type * from "./generated/types.js";
