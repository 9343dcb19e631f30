// The lead in API requests and responses (contract 2.1 and 4.1).
import Type, { type Static } from "typebox";
import { closed, id, mapOf, nullable, optional, phone10, timestamp } from "../../lib/schemas.ts";

const lead_name_max = 255;

const customFieldsIn = mapOf(Type.Unknown(), {
  description: "{ key: value } for custom fields defined on the workspace",
});

const leadFields = {
  phone: phone10("The lead's number"),
  name: optional(Type.String({ maxLength: lead_name_max, description: 'Default "Untitled"' })),
  email: optional(Type.String({ format: "email", maxLength: 254 })),
  assignedAgentId: optional(id("User id of the agent")),
  contactId: optional(id("Links an existing contact instead of matching on phone")),
  statusId: optional(id("Picklist option; omitted means the workspace default")),
  sourceId: optional(id("Picklist option; omitted means the lead has no source")),
  priorityId: optional(id("Picklist option; omitted means the workspace default")),
  customFields: optional(customFieldsIn),
};

/** The request body of a new lead (contract 4.1). */
export const NewLead = closed(leadFields, {
  title: "NewLead",
  description: "A lead to create",
  examples: [{ phone: "9876543210", name: "Ada Lovelace", email: "ada@example.com" }],
});
export type NewLead = Static<typeof NewLead>;

/** A picklist option as the contract shows it (2.1). */
export const OptionResponse = Type.Object(
  {
    id: id("Option id"),
    value: Type.String({ description: "Machine value" }),
    label: Type.String({ description: "Display text" }),
    color: nullable(Type.String({ description: "Hex color" })),
  },
  { title: "LeadOption" },
);

/** The lead, with nineteen fields (contract 2.1). */
export const LeadResponse = Type.Object(
  {
    id: id("Lead id"),
    workspaceId: id("Workspace the lead belongs to"),
    name: Type.String(),
    email: nullable(Type.String()),
    phone: Type.String({ description: "Exactly 10 digits" }),
    assignedAgentId: nullable(id("User id of the assigned agent")),
    contactId: id("Linked contact"),
    statusId: id("Picklist option"),
    sourceId: nullable(id("Picklist option; null when no source was given")),
    priorityId: id("Picklist option"),
    customFields: mapOf(Type.Unknown()),
    createdBy: id("Id of the creating user"),
    createdAt: timestamp("UTC"),
    updatedAt: timestamp("UTC"),
    status: OptionResponse,
    source: Type.Union([OptionResponse, Type.Null()]),
    priority: OptionResponse,
    contact: Type.Object(
      { id: id("Contact id"), name: Type.String(), phone: Type.String() },
      { title: "LeadContact" },
    ),
    collaborators: Type.Array(
      Type.Object(
        { id: id("User id"), name: Type.String(), email: Type.String() },
        { title: "Collaborator" },
      ),
    ),
  },
  { title: "Lead" },
);
export type LeadResponse = Static<typeof LeadResponse>;
