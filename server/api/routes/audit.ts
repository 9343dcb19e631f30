import Type from "typebox";
import { AuditEntry, listAudit } from "../../accounts/audit-trail.ts";
import { invalid, type FieldError } from "../../lib/errors.ts";
import { knownId } from "../../lib/ids.ts";
import { parseTime } from "../../lib/parse-time.ts";
import { closed, id, pageOf, pageQuery } from "../../lib/schemas.ts";
import { route } from "../route.ts";

const time = (description: string) => Type.Optional(Type.String({ maxLength: 64, description }));

export const auditRoutes = [
  route({
    method: "GET",
    url: "/api/v1/audit",
    id: "listAudit",
    summary: "Read the audit trail, newest first",
    tag: "Audit trail",
    access: { anyOf: ["audit.read"] },
    query: closed({
      action: Type.Optional(Type.String({ maxLength: 100, description: "Such as token.revoked" })),
      user_id: Type.Optional(id("Who did it")),
      subject_id: Type.Optional(
        Type.String({ maxLength: 100, description: "Id of what it was done to" }),
      ),
      from: time("From this time on; without an offset it is local to the account's zone"),
      to: time("Before this time"),
      ...pageQuery,
    }),
    success: { 200: pageOf(AuditEntry) },
    handle: ({ app, caller, query }) =>
      listAudit(
        app.db.query,
        caller.account.id,
        {
          ...query,
          ...timesOf(query, caller.account.time_zone),
          user_id: query.user_id === undefined ? undefined : knownId(query.user_id),
        },
        query,
      ),
  }),
];

function timesOf(
  query: { from?: string; to?: string },
  timeZone: string,
): { from: Date | undefined; to: Date | undefined } {
  const faults: FieldError[] = [];
  const read = (field: "from" | "to") => {
    const text = query[field];
    const at = text === undefined ? undefined : parseTime(text, timeZone);
    if (typeof at !== "string") return at;
    faults.push({ field, reason: at });
    return undefined;
  };
  const times = { from: read("from"), to: read("to") };
  if (faults.length > 0) throw invalid(faults);
  return times;
}
