import Type from "typebox";
import { AuditEntry, listAudit } from "../../../accounts/audit/audit-trail.ts";
import { knownId } from "../../../lib/ids.ts";
import { closed, id, pageOf, pageQuery } from "../../../lib/schemas.ts";
import { route } from "../../route.ts";
import { readTimeRange, timeRangeQuery } from "../shared/time-range.ts";

export const auditRoutes = [
  route({
    method: "GET",
    url: "/api/v1/audit",
    id: "listAudit",
    from_replica: true,
    summary: "Read the audit trail, newest first",
    tag: "Audit trail",
    access: { anyOf: ["audit.read"] },
    query: closed({
      action: Type.Optional(Type.String({ maxLength: 100, description: "Such as token.revoked" })),
      user_id: Type.Optional(id("User who made the change")),
      subject_id: Type.Optional(
        Type.String({ maxLength: 100, description: "Id of the changed resource" }),
      ),
      ...timeRangeQuery,
      ...pageQuery,
    }),
    success: { 200: pageOf(AuditEntry) },
    handle: ({ app, caller, query }) =>
      listAudit(
        app.db.query,
        caller.account.id,
        {
          ...query,
          ...readTimeRange(query, caller.account.time_zone),
          user_id: query.user_id === undefined ? undefined : knownId(query.user_id),
        },
        query,
      ),
  }),
];
