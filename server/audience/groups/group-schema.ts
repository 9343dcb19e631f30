// Request and response schemas of groups.
import Type, { type Static } from "typebox";
import { shownName } from "../../accounts/accounts/account-schema.ts";
import { closed, id, mapOf, nullable, optional, pageQuery, timestamp } from "../../lib/schemas.ts";
import { CsvRejects, csvFile } from "../intake/csv-schema.ts";
import { member_name_characters_max, variable_characters_max } from "../intake/import-limits.ts";
import { personPhone } from "../suppressions/suppression-schema.ts";

const name = shownName("Unique in the account");

export const NewGroup = closed(
  { name },
  {
    title: "NewGroup",
    description: "A group to create, without members",
    examples: [{ name: "Newsletter" }],
  },
);
export type NewGroup = Static<typeof NewGroup>;

export const GroupPatch = closed(
  { name: Type.Optional(name) },
  {
    title: "GroupPatch",
    minProperties: 1,
    description: "The fields of the group to change",
    examples: [{ name: "Newsletter 2026" }],
  },
);
export type GroupPatch = Static<typeof GroupPatch>;

export const GroupResponse = Type.Object(
  {
    id: id("Group id"),
    name: Type.String(),
    members_count: Type.Integer(),
    created_at: timestamp("UTC"),
    updated_at: timestamp("UTC: when its name or members last changed"),
  },
  { title: "Group" },
);
export type GroupResponse = Static<typeof GroupResponse>;

export const variable_name_characters_max = 255;
const variables_max = 500;
/** Most members that one request adds; a CSV file may have more. */
export const members_added_max = 10_000;

const NewMember = closed(
  {
    phone_number: personPhone,
    name: optional(Type.String({ maxLength: member_name_characters_max })),
    variables: optional(
      mapOf(Type.String({ maxLength: variable_characters_max }), {
        maxProperties: variables_max,
        description: "The values of {{variables}} and template placeholders for this member",
      }),
    ),
  },
  { title: "NewGroupMember" },
);

export const NewMembers = closed(
  { members: Type.Array(NewMember, { minItems: 1, maxItems: members_added_max }) },
  {
    title: "NewGroupMembers",
    description: "Members to add; a member with the phone of an existing member replaces it",
    examples: [
      { members: [{ phone_number: "9876543210", name: "Ada", variables: { "1": "Ada" } }] },
    ],
  },
);
export type NewMembers = Static<typeof NewMembers>;

export const AddedMembers = Type.Object(
  {
    added_count: Type.Integer({ description: "New members" }),
    updated_count: Type.Integer({ description: "Existing members that were replaced" }),
    duplicate_count: Type.Integer({ description: "Entries with the phone of an earlier entry" }),
  },
  { title: "AddedGroupMembers" },
);
export type AddedMembers = Static<typeof AddedMembers>;

export const MemberResponse = Type.Object(
  {
    id: id("Member id"),
    phone_number: Type.String({ description: "E.164 digits, without a plus" }),
    name: nullable(Type.String()),
    variables: mapOf(Type.String()),
    created_at: timestamp("UTC"),
  },
  { title: "GroupMember" },
);
export type MemberResponse = Static<typeof MemberResponse>;

export const memberQuery = { phone_number: Type.Optional(personPhone), ...pageQuery };

/** The parts of an upload, in any order. */
export const MemberUpload = Type.Object(
  {
    file: csvFile,
    phone_number_column: Type.Optional(
      Type.String({ description: "Header of the column with the numbers. Default: phone_number" }),
    ),
    name_column: Type.Optional(
      Type.String({
        description: "Header of the column with the names. Default: name, if it exists",
      }),
    ),
  },
  { title: "GroupMemberUpload" },
);

export const MemberImport = Type.Object(
  {
    total_rows: Type.Integer({ description: "Rows below the header, without empty rows" }),
    added_count: Type.Integer({ description: "New members" }),
    updated_count: Type.Integer({ description: "Existing members that were replaced" }),
    ...CsvRejects,
  },
  { title: "GroupMemberImport" },
);
export type MemberImport = Static<typeof MemberImport>;
