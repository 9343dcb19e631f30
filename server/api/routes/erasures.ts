import { notifyJob } from "../../engine/add-job.ts";
import { closed, pageOf, pageQuery, pathId } from "../../lib/schemas.ts";
import { ErasureResponse, NewErasure } from "../../retention/erasure-schema.ts";
import { findErasure, listErasures } from "../../retention/erasures.ts";
import { validateErasure, requestErasure } from "../../retention/request-erasure.ts";
import { route } from "../route.ts";

const access = { anyOf: ["people.erase"] } as const;

export const erasureRoutes = [
  route({
    method: "POST",
    url: "/api/v1/erasures",
    id: "requestErasure",
    summary: "Request the erasure of a person's data, by phone number or WhatsApp user ID",
    tag: "Erasures",
    access,
    body: NewErasure,
    success: { 202: ErasureResponse },
    validate: ({ caller, body }) => validateErasure(body, caller.account.country_code),
    handle: async ({ app, caller, actor, body, write }) => {
      const { country_code, id } = caller.account;
      const erasure = await write((tx) =>
        requestErasure(tx, actor, body, country_code, app.clock.now()),
      );
      notifyJob(app, id);
      return erasure;
    },
  }),
  route({
    method: "GET",
    url: "/api/v1/erasures",
    id: "listErasures",
    summary: "List erasures, newest first",
    tag: "Erasures",
    access,
    query: closed(pageQuery),
    success: { 200: pageOf(ErasureResponse) },
    handle: ({ app, caller, query: { limit = 50, cursor } }) =>
      listErasures(app.db.query, caller.account.id, { limit, cursor }),
  }),
  route({
    method: "GET",
    url: "/api/v1/erasures/:id",
    id: "readErasure",
    summary: "Read an erasure: its progress and what it erased",
    tag: "Erasures",
    access,
    params: closed({ id: pathId("The erasure") }),
    success: { 200: ErasureResponse },
    handle: ({ app, caller, params }) => findErasure(app.db.query, caller.account.id, params.id),
  }),
];
