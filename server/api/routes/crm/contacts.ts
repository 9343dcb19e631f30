import { ContactResponse } from "../../../crm/contacts/contact-schema.ts";
import { searchOn } from "../../../lib/database/cursor.ts";
import { findContact } from "../../../crm/contacts/find-contact.ts";
import { LeadResponse } from "../../../crm/leads/lead-schema.ts";
import { listContacts } from "../../../crm/contacts/list-contacts.ts";
import { listLeads } from "../../../crm/leads/list-leads.ts";
import { ContactPatch, updateContact } from "../../../crm/contacts/update-contact.ts";
import { closed, crmPageOf, pageQuery, pathId, phone10 } from "../../../lib/schemas.ts";
import Type from "typebox";
import { readSearch, search } from "../shared/lead-filter.ts";
import { requireWorkspace } from "../shared/require-workspace.ts";
import { route } from "../../route.ts";

const workspaceId = pathId("The workspace");
const workspaceParams = closed({ workspaceId });
const contactParams = closed({ workspaceId, contactId: pathId("The contact") });

const contacts = "/api/v1/crm/workspaces/:workspaceId/contacts";
const contact = `${contacts}/:contactId`;
const reads = { features: ["crm"], anyOf: ["crm.read"] } as const;

export const contactRoutes = [
  route({
    method: "GET",
    url: contacts,
    id: "listContacts",
    from_replica: true,
    summary: "List and search contacts, newest first",
    tag: "Contacts",
    access: reads,
    params: workspaceParams,
    query: closed({
      phone: Type.Optional(phone10("The contact's number")),
      q: Type.Optional(search),
      ...pageQuery,
    }),
    success: { 200: crmPageOf(ContactResponse) },
    handle: async ({ app, caller, params, query: { limit = 50, cursor, q, ...rest } }) => {
      await requireWorkspace(app, caller.account.id, params.workspaceId);
      const { country_code } = caller.account;
      const filter = q === undefined ? rest : { ...rest, q: readSearch(q, country_code) };
      return searchOn({ limit, cursor }, (at) =>
        listContacts(app, caller.account.id, params.workspaceId, filter, at),
      );
    },
  }),
  route({
    method: "GET",
    url: contact,
    id: "readContact",
    summary: "Read a contact",
    tag: "Contacts",
    access: reads,
    params: contactParams,
    success: { 200: ContactResponse },
    handle: async ({ app, caller, params }) => {
      await requireWorkspace(app, caller.account.id, params.workspaceId);
      return findContact(app.db.query, caller.account.id, params.workspaceId, params.contactId);
    },
  }),
  route({
    method: "PATCH",
    url: contact,
    id: "updateContact",
    summary: "Change a contact's name, email or time zone",
    tag: "Contacts",
    access: { features: ["crm"], anyOf: ["crm.write"] },
    params: contactParams,
    body: ContactPatch,
    success: { 200: ContactResponse },
    precheck: ({ app, caller, params }) =>
      requireWorkspace(app, caller.account.id, params.workspaceId),
    handle: ({ app, actor, params, body, write }) =>
      write((tx) =>
        updateContact(
          tx,
          actor,
          { workspace_id: params.workspaceId, contact_id: params.contactId },
          body,
          app.clock.now(),
        ),
      ),
  }),
  route({
    method: "GET",
    url: `${contact}/leads`,
    id: "listContactLeads",
    from_replica: true,
    summary: "List the leads of a contact, newest first",
    tag: "Contacts",
    access: reads,
    params: contactParams,
    query: closed(pageQuery),
    success: { 200: crmPageOf(LeadResponse) },
    handle: async ({ app, caller, params, query: { limit = 50, cursor } }) => {
      await requireWorkspace(app, caller.account.id, params.workspaceId);
      await findContact(app.db.query, caller.account.id, params.workspaceId, params.contactId);
      const { contactId } = params;
      return searchOn({ limit, cursor }, (at) =>
        listLeads(app, caller.account.id, params.workspaceId, { contactId }, at),
      );
    },
  }),
];
