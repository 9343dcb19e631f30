import Type from "typebox";
import {
  validateWhatsappCredential,
  WhatsappCredential,
  WhatsappCredentialResponse,
} from "../../../chat/credentials/credential-schema.ts";
import {
  deleteWhatsappCredential,
  listWhatsappCredentials,
  setWhatsappCredential,
} from "../../../chat/credentials/credentials.ts";
import { closed, pageOf, pageQuery, pathId } from "../../../lib/schemas.ts";
import { route } from "../../route.ts";
import { operate } from "../telephony/voice-nodes.ts";

const credentials = "/api/v1/whatsapp-credentials";
const params = closed({ account_id: pathId("The account") });
const tag = "Chat numbers";

export const whatsappCredentialRoutes = [
  route({
    method: "GET",
    url: credentials,
    id: "listWhatsappCredentials",
    summary: "List the accounts with a WhatsApp credential of their own, without its secrets",
    tag,
    access: operate,
    query: closed(pageQuery),
    success: { 200: pageOf(WhatsappCredentialResponse) },
    handle: ({ app, query }) => listWhatsappCredentials(app.db.query, query),
  }),
  route({
    method: "PUT",
    url: `${credentials}/:account_id`,
    id: "updateWhatsappCredential",
    summary: "Set the WhatsApp credential of an account",
    tag,
    access: operate,
    params,
    body: WhatsappCredential,
    success: { 200: WhatsappCredentialResponse },
    validate: ({ body }) => validateWhatsappCredential(body),
    handle: ({ app, actor, params: { account_id }, body, write }) => {
      const at = { now: app.clock.now(), secrets: app.secrets };
      return write((tx) => setWhatsappCredential(tx, actor, account_id, body, at));
    },
  }),
  route({
    method: "DELETE",
    url: `${credentials}/:account_id`,
    id: "deleteWhatsappCredential",
    summary: "Delete an account's WhatsApp credential; its numbers use the installation's",
    tag,
    access: operate,
    params,
    success: { 204: Type.Null() },
    handle: async ({ app, actor, params: { account_id }, write }) => {
      await write((tx) => deleteWhatsappCredential(tx, actor, account_id, app.clock.now()));
    },
  }),
];
