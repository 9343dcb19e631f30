// The errors of click-to-call, which have a shape of their own (contract 7.2).
import { isDatabaseUnavailable } from "../lib/database/database-errors.ts";
import { refusals, type Refusal } from "../lib/errors.ts";
import type { RenderError } from "./render-error.ts";

/** `{status, message}`; the message names every failing field. */
export const renderCallError: RenderError = (refusal) => {
  const status = statusOf(refusal);
  const fields = refusal.errors?.map(({ field, reason }) => `${field}: ${reason}`);
  const message = fields?.join("; ") ?? refusal.message;
  return { status, contentType: "application/json; charset=utf-8", body: { status, message } };
};

function statusOf({ type, cause }: Refusal): number {
  switch (type) {
    case "validation-failed":
    case "insufficient-credit":
    case "unsupported-media-type":
      return 400;
    // Whether the call was submitted may not be known: it is not to be sent again as a matter of course.
    case "unavailable":
      return isDatabaseUnavailable(cause) ? 500 : 503;
    default:
      return refusals[type].status;
  }
}
