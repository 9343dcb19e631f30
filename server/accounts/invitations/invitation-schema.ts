// The invitation in API requests and responses.
import Type, { type Static } from "typebox";
import { closed, id, nullable, timestamp } from "../../lib/schemas.ts";
import { NewUser } from "../users/user-schema.ts";
import { LinkRequest, newPassword } from "../sessions/session-schema.ts";

const { name, email, role_id } = NewUser.properties;
const { link } = LinkRequest.properties;

export const NewInvitation = closed(
  { email, role_id },
  {
    title: "NewInvitation",
    description: "A person to invite; replaces an open invitation to the same address",
    examples: [{ email: "asha@example.com", role_id: 1 }],
  },
);
export type NewInvitation = Static<typeof NewInvitation>;

const fields = {
  id: id("Invitation id"),
  email: Type.String(),
  role_id: nullable(id("The role that the user will have")),
  invited_by: nullable(id("User id; null: an operator at the command line")),
  created_at: timestamp("UTC"),
  expires_at: timestamp("UTC; an expired invitation can be replaced by a new one"),
};

export const InvitationResponse = Type.Object(fields, { title: "Invitation" });
export type InvitationResponse = Static<typeof InvitationResponse>;

/** An invitation that was just created. */
export const IssuedInvitation = Type.Object(
  {
    ...fields,
    path: nullable(
      Type.String({
        description: "The page of the link, shown only here; null in a replayed response",
      }),
    ),
    emailed: Type.Boolean({
      description:
        "Whether the mail server took a mail with the link; false in a replayed response, and beyond five mails to the address in a quarter of an hour",
    }),
  },
  { title: "IssuedInvitation" },
);
export type IssuedInvitation = Static<typeof IssuedInvitation>;

export const InvitationLink = closed(
  { link },
  {
    title: "InvitationLink",
    description: "The link of an invitation",
    examples: [{ link: "1_1_0123" }],
  },
);

export const InvitationAcceptance = closed(
  { link, name, password: newPassword },
  {
    title: "InvitationAcceptance",
    description: "The link of an invitation, and the name and password that the user chooses",
    examples: [{ link: "1_1_0123", name: "Asha", password: "correct horse battery" }],
  },
);
export type InvitationAcceptance = Static<typeof InvitationAcceptance>;

export const OpenedInvitation = Type.Object(
  {
    email: Type.String({ description: "The address that the user will sign in with" }),
    account: Type.String({ description: "The account's name" }),
    expires_at: timestamp("UTC"),
  },
  { title: "OpenedInvitation" },
);
export type OpenedInvitation = Static<typeof OpenedInvitation>;
