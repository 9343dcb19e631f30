// Refuses incoming calls, and records them as missed.
import type { IncomingCall } from "../../../drivers/voice/driver.ts";
import { readPersonPhone } from "../../../audience/intake/read-person-phone.ts";
import { addJob, notifyJob } from "../../../engine/add-job.ts";
import type { App } from "../../../engine/app.ts";
import { recordEvent } from "../../../engine/record-event.ts";
import { mayProceed, type Leader } from "../node/leader.ts";

/**
 * Records the missed call for the only account that uses the trunk's endpoint, and refuses the call even if that
 * fails. An endpoint of several accounts does not show which one is called: such a call is only refused.
 */
export async function refuseIncomingCall(leader: Leader, call: IncomingCall): Promise<void> {
  if (!mayProceed(leader)) return;
  try {
    await recordMissedCall(leader, call);
  } catch (err) {
    leader.app.log.error({ err }, "could not record a missed call");
  }
  try {
    if (mayProceed(leader)) await leader.session.refuse(call.channel);
  } catch (err) {
    leader.app.log.warn({ err }, "could not refuse an incoming call");
  }
}

async function recordMissedCall({ app, trunks }: Leader, call: IncomingCall): Promise<void> {
  const [trunk, ...others] = [...trunks.values()].filter(
    ({ endpoint }) => endpoint === call.endpoint,
  );
  const account_id = trunk?.only_account_id ?? null;
  const isShared = others.some(({ only_account_id }) => only_account_id !== account_id);
  if (!trunk || account_id === null || isShared)
    return app.log.info({ subject_id: trunk?.id ?? null }, "incoming call of no account refused");
  const now = app.clock.now();
  const phone = readPersonPhone(call.from, await findCountryCode(app, account_id));
  await app.db.query.transaction().execute(async (tx) => {
    await recordEvent(tx, {
      account_id,
      type: "call.missed",
      occurred_at: now,
      data: { phone_number: phone, called_number: call.to, trunk_id: trunk.id },
    });
    if (phone === null) return;
    const subject = `missed_call:${call.channel}`;
    const payload = { phone, called_number: call.to, at: now.toISOString() };
    const kind = "crm.record_missed_call";
    await addJob(tx, { account_id, kind, subject, run_at: now, payload }, now);
  });
  notifyJob(app, account_id);
}

async function findCountryCode({ db }: App, accountId: number): Promise<string> {
  const { country_code } = await db.query
    .selectFrom("accounts")
    .select("country_code")
    .where("account_id", "=", accountId)
    .executeTakeFirstOrThrow();
  return country_code;
}
