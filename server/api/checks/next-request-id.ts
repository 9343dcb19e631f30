import { randomBytes } from "node:crypto";

const process_prefix = randomBytes(6).toString("hex");
let request_number = 0;

/** Returns the ID of a request: unique across processes, and cheap. */
export function nextRequestId(): string {
  return `req_${process_prefix}${(++request_number).toString(36).padStart(6, "0")}`;
}
