import type { App } from "../../engine/app.ts";
import { addressGroup } from "../../lib/addresses/address-group.ts";
import { statement } from "../../lib/database/database.ts";
import { Refusal } from "../../lib/errors.ts";
import { recordAudit, type Client } from "../audit/record-audit.ts";
import { quotedName, type Mailer } from "../mailer.ts";
import { holdUserOfEmail } from "./internal/lock-user.ts";
import { storeSignInLink } from "./sign-in-links.ts";
import type { ResetRequest } from "./session-schema.ts";
import { countWithin } from "./throttle.ts";

const link_minutes = 60;
/** By email and address, and by each alone, in a quarter of an hour. */
const requests_max = { both: 3, email: 6, address: 30 } as const;
/** Of one mail without `account_id`. */
const accounts_max = 10;

const findUsers = statement<{ account_id: number; user_id: number; name: string }>(`
  select u.account_id, u.id as user_id, a.name
  from sign_in_emails e
  join users u on u.account_id = e.account_id and u.id = e.user_id and u.active
  join accounts a on a.account_id = u.account_id
  left join user_passwords p on p.account_id = u.account_id and p.user_id = u.id
  where e.email = $1 and ($2::bigint is null or e.account_id = $2)
  order by p.user_id is null, u.account_id limit ${accounts_max}`);

/**
 * Mails a link for a new password to the users with an email address, of one account or of ten at most, those with a
 * password first. Answers before it looks them up: neither the
 * response nor its duration reveals whether there is one. Throws conflict without a mail server, rate-limited after too
 * many requests.
 */
export async function requestPasswordReset(
  app: App & { readonly mailer: Mailer; readonly public_url: string },
  { email, account_id = null }: ResetRequest,
  client: Client,
): Promise<void> {
  if (!app.mailer.enabled)
    throw new Refusal(
      "conflict",
      "This installation sends no mail; ask someone who manages users for a link",
    );
  const to = email.toLowerCase();
  const group = addressGroup(client.address);
  const limits = new Map<string, number>([
    [`reset ${to} from ${group}`, requests_max.both],
    [`reset address ${group}`, requests_max.address],
    [`reset email ${to}`, requests_max.email],
  ]);
  await countWithin(
    app.db,
    group,
    limits,
    app.clock.now(),
    (minutes) => `Too many requests for a new password; try again in ${minutes} min`,
  );
  app.mailer.later(() => mailLinks(app, { to, account_id }, client));
}

async function mailLinks(
  app: App & { readonly mailer: Mailer; readonly public_url: string },
  { to, account_id: wanted }: { readonly to: string; readonly account_id: number | null },
  client: Client,
): Promise<void> {
  const users = await findUsers(app.db.pool, [to, wanted]);
  const now = app.clock.now();
  const lines: string[] = [];
  for (const { account_id, user_id, name } of users) {
    const link = await app.db.query.transaction().execute(async (tx) => {
      // A change of the address since the look-up has voided the links of the user, but not this one.
      if (!(await holdUserOfEmail(tx, { account_id, user_id }, to))) return null;
      const expires_at = new Date(now.getTime() + link_minutes * 60_000);
      const actor = { account_id, user_id: null, token_id: null, ...client };
      await recordAudit(tx, actor, {
        at: now,
        action: "password_reset.requested",
        subject_id: user_id,
      });
      return storeSignInLink(tx, { account_id, user_id, expires_at, origin: "reset" }, now);
    });
    if (link === null) continue;
    lines.push(
      `${quotedName(name)} (account ${account_id}):\n${app.public_url}/sign-in/reset#${link}`,
    );
  }
  if (lines.length === 0) return;
  await app.mailer.send({
    to,
    subject: "A new password for Trunkline",
    text: `Someone asked for a new password for this email address. To choose one, open:

${lines.join("\n\n")}

The link works once, for ${link_minutes} minutes. The new password ends your sessions and removes your passkeys. If it was not you, ignore this mail: nothing has changed.
`,
  });
}
