import type { App } from "../../engine/app.ts";
import { Refusal } from "../../lib/errors.ts";
import { quotedName, type Mailer } from "../mailer.ts";
import { countWithin } from "../sessions/throttle.ts";

/** In a quarter of an hour, so that no mailbox fills with invitations. */
const mails_max = { address: 5, account: 200 } as const;

/**
 * Counts an invitation, and returns whether its address may get a mail: no account's invitations may keep others from
 * creating theirs. Throws rate-limited when this account invited too often.
 */
export async function countInvitationMail(
  app: App,
  { account_id, email }: { readonly account_id: number; readonly email: string },
): Promise<boolean> {
  const of_account = `invitations of ${account_id}`;
  const count = (subject: string, limit: number) =>
    countWithin(
      app.db,
      of_account,
      new Map([[subject, limit]]),
      app.clock.now(),
      (minutes) => `Too many invitations were mailed; try again in ${minutes} min`,
    );
  await count(of_account, mails_max.account);
  return count(`invitation to ${email.toLowerCase()}`, mails_max.address).then(
    () => true,
    (error: unknown) => {
      if (error instanceof Refusal && error.type === "rate-limited") return false;
      throw error;
    },
  );
}

/** Mails the link of an invitation; false if there is no mail server or it did not take the mail. */
export function mailInvitation(
  { mailer, public_url }: { readonly mailer: Mailer; readonly public_url: string },
  invitation: { readonly email: string; readonly path: string; readonly account: string },
): Promise<boolean> {
  return mailer.send({
    to: invitation.email,
    subject: "Invitation to Trunkline",
    text: `You are invited to join ${quotedName(invitation.account)} on Trunkline. To choose a name and a password, open:

${public_url}${invitation.path}

The link works once, for three days.
`,
  });
}
