import Type from "typebox";
import { people_permissions, visibleParts } from "../../people/people-access.ts";
import {
  EntryKindsQuery,
  PersonEntry,
  PersonFound,
  readEntryKinds,
} from "../../people/person-schema.ts";
import { readPersonTimeline } from "../../people/person-timeline.ts";
import { searchPeople } from "../../people/search-people.ts";
import { closed, pageOf, pageQuery } from "../../lib/schemas.ts";
import { readPhoneQuery } from "./shared/phone-query.ts";
import { route } from "../route.ts";

const access = { anyOf: people_permissions } as const;

export const peopleRoutes = [
  route({
    method: "GET",
    url: "/api/v1/people",
    id: "listPeople",
    from_replica: true,
    summary: "Search for a person by number, name or email; at most ten answers",
    description:
      "Digits match the start of a number, with or without the account's country code, in leads, contacts, messages " +
      "that arrived, replies, calls and suppressions, and a whole number also in groups and in all messages of the " +
      "200 newest campaigns; four or more also match the end of a number of the 5,000 newest leads, contacts, group " +
      "members, replies and calls, each. Other text matches a part of name or email of the 5,000 newest leads and " +
      "contacts, and of the name of the 5,000 newest group members. Only what the token's permissions cover is " +
      "searched and shown.",
    tag: "People",
    access,
    query: closed({
      q: Type.String({ minLength: 1, maxLength: 100, description: "Digits of a number, or text" }),
    }),
    success: {
      200: Type.Object(
        { data: Type.Array(PersonFound, { maxItems: 10 }) },
        { title: "PersonList" },
      ),
    },
    handle: async ({ app, caller, query }) => ({
      // An unescaped plus in a query arrives as a space.
      data: await searchPeople(app, caller, query.q.replace(/^ (?=\d)/, "+")),
    }),
  }),
  route({
    method: "GET",
    url: "/api/v1/people/timeline",
    id: "listPersonTimeline",
    from_replica: true,
    summary:
      "List a person's history over leads, messages, calls, suppressions and groups, newest first",
    description:
      "Finds the person by every spelling of the number. Each part needs its own permission: leads crm.read, " +
      "messages, replies and their answers chat.read, calls calls.read, suppressions suppressions.read, groups " +
      "groups.read; .manage of the last three counts too. Leads and their notes come from the person's 100 newest " +
      "leads; messages that did not arrive, from the account's 200 newest campaigns; answers, from the person's 500 " +
      "newest replies; groups, from the account's 500 newest.",
    tag: "People",
    access,
    query: closed({
      phone_number: Type.String({
        maxLength: 64,
        description: "Ten digits of the account's country, or + and the country code",
      }),
      kinds: Type.Optional(EntryKindsQuery),
      ...pageQuery,
    }),
    success: { 200: pageOf(PersonEntry) },
    handle: async ({ app, caller, query: { phone_number, kinds, limit = 50, cursor } }) => {
      const { id: account_id, country_code } = caller.account;
      const { phone } = readPhoneQuery(phone_number, country_code);
      const person = { account_id, phone: phone! };
      const visible = { parts: visibleParts(caller), kinds: readEntryKinds(kinds) };
      return readPersonTimeline(app, person, visible, { limit, cursor });
    },
  }),
];
