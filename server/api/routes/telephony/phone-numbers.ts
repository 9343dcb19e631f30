import Type from "typebox";
import { assignPhoneNumber } from "../../../telephony/numbers/assign-phone-number.ts";
import {
  NewNumberAssignment,
  NumberAssignment,
  numberPath,
  PhoneNumberPatch,
  PhoneNumberResponse,
} from "../../../telephony/numbers/phone-number-schema.ts";
import {
  listNumberAssignments,
  listPhoneNumbers,
  readPhoneNumber,
} from "../../../telephony/numbers/phone-numbers.ts";
import { routePhoneNumber } from "../../../telephony/numbers/route-phone-number.ts";
import { unassignPhoneNumber } from "../../../telephony/numbers/unassign-phone-number.ts";
import { closed, id, pageOf, pageQuery } from "../../../lib/schemas.ts";
import { route } from "../../route.ts";
import { manageAgents, seeAgents } from "./extensions.ts";
import { operate } from "./voice-nodes.ts";

const numbers = "/api/v1/phone-numbers";
const assignments = "/api/v1/number-assignments";
const tag = "Phone numbers";

export const phoneNumberRoutes = [
  route({
    method: "GET",
    url: numbers,
    id: "listPhoneNumbers",
    summary: "List the account's phone numbers",
    tag,
    access: seeAgents,
    query: closed(pageQuery),
    success: { 200: pageOf(PhoneNumberResponse) },
    handle: ({ app, caller, query }) => listPhoneNumbers(app.db.query, caller.account.id, query),
  }),
  route({
    method: "GET",
    url: `${numbers}/:number`,
    id: "readPhoneNumber",
    summary: "Read a phone number of the account",
    tag,
    access: seeAgents,
    params: numberPath,
    success: { 200: PhoneNumberResponse },
    handle: ({ app, caller, params: { number } }) =>
      readPhoneNumber(app.db.query, caller.account.id, number),
  }),
  route({
    method: "PATCH",
    url: `${numbers}/:number`,
    id: "routePhoneNumber",
    summary: "Route the incoming calls of a phone number to a menu, an agent group or none",
    tag,
    access: manageAgents,
    params: numberPath,
    body: PhoneNumberPatch,
    success: { 200: PhoneNumberResponse },
    handle: ({ app, actor, params: { number }, body, write }) =>
      write((tx) => routePhoneNumber(tx, actor, number, body, app.clock.now())),
  }),
  route({
    method: "GET",
    url: assignments,
    id: "listNumberAssignments",
    summary: "List phone numbers and the accounts that own them",
    tag,
    access: operate,
    query: closed({ ...pageQuery, account_id: Type.Optional(id("Of this account only")) }),
    success: { 200: pageOf(NumberAssignment) },
    handle: ({ app, query }) => listNumberAssignments(app.db.query, query),
  }),
  route({
    method: "POST",
    url: assignments,
    id: "assignPhoneNumber",
    summary: "Assign a phone number to an account",
    tag,
    access: operate,
    body: NewNumberAssignment,
    success: { 201: NumberAssignment },
    handle: ({ app, actor, body, write }) =>
      write((tx) => assignPhoneNumber(tx, actor, body, app.clock.now())),
  }),
  route({
    method: "DELETE",
    url: `${assignments}/:number`,
    id: "unassignPhoneNumber",
    summary: "Take a phone number from its account",
    tag,
    access: operate,
    params: numberPath,
    success: { 204: Type.Null() },
    handle: async ({ app, actor, params: { number }, write }) => {
      await write((tx) => unassignPhoneNumber(tx, actor, number, app.clock.now()));
    },
  }),
];
