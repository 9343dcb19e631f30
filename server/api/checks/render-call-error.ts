// Renders the errors of click-to-call, which have their own shape (contract 7.2).
import { isDatabaseUnavailable } from "../../lib/database/database-errors.ts";
import { errors_shown_max, refusals, type Refusal } from "../../lib/errors.ts";
import type { RenderError } from "./render-error.ts";

/** Renders `{status, message}`; the message names every invalid field. */
export const renderCallError: RenderError = (refusal) => {
  const status = statusOf(refusal);
  const fields = refusal.errors?.map(({ field, reason }) => `${field}: ${reason}`);
  if (fields && fields.length >= errors_shown_max) fields.push(refusal.message);
  const message = fields?.join("; ") ?? refusal.message;
  return { status, contentType: "application/json; charset=utf-8", body: { status, message } };
};

function statusOf({ type, cause }: Refusal): number {
  switch (type) {
    case "validation-failed":
    case "insufficient-credit":
    case "unsupported-media-type":
      return 400;
    // The call may have been submitted: a 503 would invite a retry.
    case "unavailable":
      return isDatabaseUnavailable(cause) ? 500 : 503;
    default:
      return refusals[type].status;
  }
}
