import Type from "typebox";
import {
  acceptInvitation,
  openInvitation,
} from "../../../accounts/invitations/accept-invitation.ts";
import { createInvitation } from "../../../accounts/invitations/create-invitation.ts";
import {
  InvitationAcceptance,
  InvitationLink,
  InvitationResponse,
  IssuedInvitation,
  NewInvitation,
  OpenedInvitation,
} from "../../../accounts/invitations/invitation-schema.ts";
import { listInvitations } from "../../../accounts/invitations/invitations.ts";
import {
  countInvitationMail,
  mailInvitation,
} from "../../../accounts/invitations/mail-invitation.ts";
import { revokeInvitation } from "../../../accounts/invitations/revoke-invitation.ts";
import { grantorOf } from "../../../accounts/roles/grantor.ts";
import { SignInResponse } from "../../../accounts/sessions/session-schema.ts";
import { closed, pageOf, pageQuery, pathId } from "../../../lib/schemas.ts";
import { clientOf } from "../../checks/client-of.ts";
import { refuseCrossSite, refusePlainHttp } from "../../checks/session-cookie.ts";
import { publicRoute, route } from "../../route.ts";
import { answerSignIn } from "./answer-sign-in.ts";
import { showSecretOnce } from "../shared/show-secret-once.ts";

const tag = "Users";

export const invitationRoutes = [
  route({
    method: "GET",
    url: "/api/v1/invitations",
    id: "listInvitations",
    summary: "List the invitations that were neither accepted nor revoked",
    tag,
    access: { anyOf: ["users.read", "users.manage"] },
    query: closed(pageQuery),
    success: { 200: pageOf(InvitationResponse) },
    handle: ({ app, caller, query }) => listInvitations(app.db.query, caller.account.id, query),
  }),
  route({
    method: "POST",
    url: "/api/v1/invitations",
    id: "createInvitation",
    summary: "Invite a person by email; the answer shows the link once",
    tag,
    access: { anyOf: ["users.manage"] },
    body: NewInvitation,
    success: { 201: IssuedInvitation },
    handle: async (context) => {
      const { app, caller, body } = context;
      const { id: account_id, name: account } = caller.account;
      const isMailed =
        app.mailer.enabled && (await countInvitationMail(app, { account_id, email: body.email }));
      const invitation = await showSecretOnce(context, "path", async (tx) => ({
        ...(await createInvitation(tx, grantorOf(context), body, app.clock.now())),
        emailed: false,
      }));
      const { email, path } = invitation;
      if (path === null || !isMailed) return invitation;
      return { ...invitation, emailed: await mailInvitation(app, { email, path, account }) };
    },
  }),
  route({
    method: "DELETE",
    url: "/api/v1/invitations/:id",
    id: "revokeInvitation",
    summary: "Revoke an invitation",
    tag,
    access: { anyOf: ["users.manage"] },
    params: closed({ id: pathId("The invitation") }),
    success: { 204: Type.Null() },
    handle: async (context) => {
      const { app, params, write } = context;
      await write((tx) => revokeInvitation(tx, grantorOf(context), params.id, app.clock.now()));
    },
  }),
  publicRoute({
    method: "POST",
    url: "/api/v1/session/invitation/preview",
    id: "previewInvitation",
    summary: "Read the address and the account of an invitation by its link; does not use it up",
    tag,
    body: InvitationLink,
    success: { 200: OpenedInvitation },
    handle: ({ app, body: { link }, request }) => {
      const { address } = clientOf(request);
      return openInvitation(app.db.query, { link, address }, app.clock.now());
    },
  }),
  publicRoute({
    method: "POST",
    url: "/api/v1/session/invitation",
    id: "createSessionByInvitation",
    summary: "Accept an invitation, once: creates the user and sets the session's cookie",
    tag,
    body: InvitationAcceptance,
    success: { 200: SignInResponse },
    handle: async (context) => {
      const { app, body, request } = context;
      refuseCrossSite(request);
      refusePlainHttp(request);
      const cookie = await acceptInvitation(app, body, clientOf(request));
      return answerSignIn(context, { cookie, account: null });
    },
  }),
];
