import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Permission } from "../../accounts/permissions.ts";
import type { EventType } from "../../engine/event-catalogue.ts";
import { recordEvent } from "../../engine/record-event.ts";
import type { Tx } from "../../lib/database/database.ts";
import { invalid, invalidField } from "../../lib/errors.ts";
import { resetDeliveryState } from "./internal/reset-delivery-state.ts";
import type { EndpointResponse, EndpointPatch } from "./endpoint-schema.ts";
import { endpoint_columns, endpointResponse } from "./endpoints.ts";
import { hiddenTypes, hiddenViolations } from "./hidden-types.ts";
import { lockEndpoint } from "./lock-endpoint.ts";

/**
 * Changes an endpoint. Enabling it or changing its URL resets its failures and makes its pending deliveries
 * due. The body is validated before. Refuses: not-found; validation-failed (fields of a campaign's endpoint
 * other than `enabled`; a URL or types by which events, also past ones, go where they did not, and the permissions do not
 * show them).
 */
export async function updateEndpoint(
  tx: Tx,
  { actor, permissions }: { actor: Actor; permissions: ReadonlySet<Permission> },
  id: number,
  patch: EndpointPatch,
  now: Date,
): Promise<EndpointResponse> {
  const { account_id } = actor;
  // Before the lock, which stops the endpoint's deliveries: there may be many to look through. Later ones have its types.
  const delivered =
    patch.url === undefined
      ? undefined
      : await findDelivery(tx, account_id, id, hiddenTypes(permissions, null));
  const before = await lockEndpoint(tx, account_id, id);
  if (before.kind === "campaign") refuseAllButEnabled(patch);
  refuseHidden({ permissions, delivered }, before, patch);
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

type Hidden = {
  readonly permissions: ReadonlySet<Permission>;
  /** The type of a delivery that the permissions do not show. */
  readonly delivered: string | undefined;
};

function refuseHidden(
  { permissions, delivered }: Hidden,
  before: Receiving,
  { url = before.url, types = before.types }: Partial<Receiving>,
): void {
  const hidden = hiddenTypes(permissions, types);
  const is_moved = url !== before.url;
  const violations = hiddenViolations(
    is_moved
      ? hidden
      : hidden.filter((type) => before.types !== null && !before.types.includes(type)),
  );
  if (violations.length > 0) throw invalid(violations);
  // The new URL receives what is pending and what is replayed, also of types that the endpoint had before.
  const former = hiddenTypes(permissions, before.types)[0] ?? delivered;
  if (is_moved && former !== undefined)
    throw invalidField(
      "url",
      `must stay, as the endpoint has or had types of events that your permissions do not show, such as ${former}`,
    );
}

/** Returns the type of a delivery to the endpoint that is one of these. */
async function findDelivery(
  tx: Tx,
  account_id: number,
  endpoint_id: number,
  types: readonly EventType[],
): Promise<string | undefined> {
  if (types.length === 0) return undefined;
  const delivery = await tx
    .selectFrom("callback_deliveries")
    .select("type")
    .where("account_id", "=", account_id)
    .where("endpoint_id", "=", endpoint_id)
    .where("type", "in", types)
    .limit(1)
    .executeTakeFirst();
  return delivery?.type;
}

/** A campaign's endpoint keeps the URL that campaigns were launched with, and receives their calls' events. */
function refuseAllButEnabled(patch: EndpointPatch): void {
  const others = Object.keys(patch).filter((field) => field !== "enabled");
  const reason = "cannot be changed: the endpoint is the callback_url of voice campaigns";
  if (others.length > 0) throw invalid(others.map((field) => ({ field, reason })));
}
