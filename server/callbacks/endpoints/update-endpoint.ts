import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Permission } from "../../accounts/permissions.ts";
import { recordEvent } from "../../engine/record-event.ts";
import type { Tx } from "../../lib/database/database.ts";
import { invalid } from "../../lib/errors.ts";
import { resetDeliveryState } from "./internal/reset-delivery-state.ts";
import type { EndpointResponse, EndpointPatch } from "./endpoint-schema.ts";
import { endpoint_columns, endpointResponse } from "./endpoints.ts";
import { hiddenTypes, hiddenViolations } from "./hidden-types.ts";
import { lockEndpoint } from "./lock-endpoint.ts";

/**
 * Changes an endpoint. Enabling it or changing its URL resets its failures and makes its pending deliveries
 * due. The body is validated before. Refuses: not-found; validation-failed (fields of a campaign's endpoint
 * other than `enabled`; a URL or types by which events go where they did not, and the permissions do not show them).
 */
export async function updateEndpoint(
  tx: Tx,
  { actor, permissions }: { actor: Actor; permissions: ReadonlySet<Permission> },
  id: number,
  patch: EndpointPatch,
  now: Date,
): Promise<EndpointResponse> {
  const { account_id } = actor;
  const before = await lockEndpoint(tx, account_id, id);
  if (before.kind === "campaign") refuseAllButEnabled(patch);
  refuseHidden(permissions, before, patch);
  const { enabled = before.enabled, url = before.url } = patch;
  const isDisabled = before.enabled && !enabled;
  const isEnabled = !before.enabled && enabled;
  const row = await tx
    .updateTable("callback_endpoints")
    .set({
      ...patch,
      adopted: true,
      updated_at: now,
      // Also of one that was disabled before for its failures, so that no launch enables it again.
      ...(patch.enabled === false ? { disabled_reason: "manual" } : {}),
      ...(isDisabled ? { disabled_at: now } : {}),
      ...(isEnabled ? { disabled_reason: null, disabled_at: null } : {}),
      ...(isEnabled || url !== before.url ? resetDeliveryState(account_id, id, now) : {}),
    })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .returning(endpoint_columns)
    .executeTakeFirstOrThrow();
  const changed = Object.keys(patch);
  const detail = { changed, ...(patch.enabled === undefined ? {} : { enabled }) };
  await recordAudit(tx, actor, {
    at: now,
    action: "callback_endpoint.updated",
    subject_id: id,
    detail,
  });
  if (isDisabled) {
    await recordEvent(tx, {
      account_id,
      type: "callback.endpoint.disabled",
      occurred_at: now,
      data: { endpoint_id: id, url, reason: "manual" },
    });
  }
  return endpointResponse(row);
}

type Receiving = { readonly url: string; readonly types: readonly string[] | null };

function refuseHidden(
  permissions: ReadonlySet<Permission>,
  before: Receiving,
  { url = before.url, types = before.types }: Partial<Receiving>,
): void {
  const hidden = hiddenTypes(permissions, types);
  const violations = hiddenViolations(
    url === before.url
      ? hidden.filter((type) => before.types !== null && !before.types.includes(type))
      : hidden,
  );
  if (violations.length > 0) throw invalid(violations);
}

/** A campaign's endpoint keeps the URL that campaigns were launched with, and receives their calls' events. */
function refuseAllButEnabled(patch: EndpointPatch): void {
  const others = Object.keys(patch).filter((field) => field !== "enabled");
  const reason = "cannot be changed: the endpoint is the callback_url of voice campaigns";
  if (others.length > 0) throw invalid(others.map((field) => ({ field, reason })));
}
