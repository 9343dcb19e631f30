import type { App } from "../../engine/app.ts";
import { quotedName, type Mailer } from "../mailer.ts";
import { countWithin } from "../sessions/throttle.ts";

/** In a quarter of an hour, so that no mailbox fills with invitations. */
const mails_max = { address: 5, account: 200 } as const;

/** Throws rate-limited when an account or anybody invited this address too often. */
export async function countInvitationMail(
  app: App,
  { account_id, email }: { readonly account_id: number; readonly email: string },
): Promise<void> {
  const of_account = `invitations of ${account_id}`;
  const limits = new Map<string, number>([
    [`invitation to ${email.toLowerCase()}`, mails_max.address],
    [of_account, mails_max.account],
  ]);
  await countWithin(
    app.db,
    of_account,
    limits,
    app.clock.now(),
    (minutes) => `Too many invitations were mailed; try again in ${minutes} min`,
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
