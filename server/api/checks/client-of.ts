import type { FastifyRequest } from "fastify";
import type { Client } from "../../accounts/audit/record-audit.ts";

/** Characters of the User-Agent that are kept. */
const user_agent_max = 200;

/** Returns who sent a request, for the audit trail. */
export function clientOf({ id, ip, headers }: FastifyRequest): Client {
  return {
    request_id: id,
    address: ip,
    user_agent: headers["user-agent"]?.slice(0, user_agent_max).toWellFormed() ?? null,
  };
}
