import type { Tx } from "../../lib/database/database.ts";
import { invalidField } from "../../lib/errors.ts";
import { clampWindow } from "./internal/setting-bounds.ts";
import type { AccountLimits } from "./account-limits-schema.ts";
import type { AccountResponse } from "./account-schema.ts";
import type { CallCaps } from "./internal/call-caps-schema.ts";
import { findAccount, lockAccount } from "./accounts.ts";
import { recordAudit, type Actor } from "../audit/record-audit.ts";

/**
 * Sets the account's limits, on behalf of an operator. A calling window beyond new hours becomes what is within them,
 * and never if nothing is. Caps that are not given stay.
 * Throws not-found; validation-failed (calling_hours_allowed that end before they begin).
 */
export async function setAccountLimits(
  tx: Tx,
  actor: Actor,
  limits: AccountLimits,
  now: Date,
): Promise<AccountResponse> {
  const { call_caps, ...others } = limits;
  const { calling_hours_allowed: hours } = limits;
  const window = hours == null ? {} : await windowWithin(tx, actor, hours);
  const caps = call_caps && { call_caps: await mergeCaps(tx, actor, call_caps) };
  await tx
    .updateTable("accounts")
    .set({ ...others, ...caps, ...window, updated_at: now })
    .where("account_id", "=", actor.account_id)
    .execute();
  const account = await findAccount(tx, actor.account_id);
  await recordAudit(tx, actor, {
    at: now,
    action: "account.limits_set",
    subject_id: actor.account_id,
    detail: { ...limits, ...window },
  });
  return account;
}

async function mergeCaps(tx: Tx, { account_id }: Actor, given: CallCaps): Promise<string> {
  const { caps } = (await lockAccount(tx, account_id)).calls;
  return JSON.stringify({
    account: { ...caps.account, ...given.account },
    token: { ...caps.token, ...given.token },
    number: { ...caps.number, ...given.number },
  });
}

async function windowWithin(tx: Tx, { account_id }: Actor, hours: string) {
  const [first = "", last = ""] = hours.split("-");
  if (first >= last) throw invalidField("calling_hours_allowed", "must end after they begin");
  const { calls } = await lockAccount(tx, account_id);
  // Night calling ignores the window: it is as long as the hours.
  const window = calls.night_calling
    ? { calling_from: first, calling_to: last }
    : clampWindow(hours, calls);
  return { ...window, night_calling: false };
}
