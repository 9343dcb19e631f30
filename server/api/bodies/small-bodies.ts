// Bounds the memory of the bodies that are not large, each from its first byte until its answer is sent.
import type { FastifyReply, FastifyRequest } from "fastify";
import { addressGroup } from "../../lib/addresses/address-group.ts";
import { openBodyBudget } from "./body-budget.ts";
import { cutOff } from "./cut-off.ts";

/** Shorter bodies of accounts are not counted: the limit of connections bounds them. */
const uncounted_bytes_max = 16_384;
const megabyte = 1_048_576;

/** Anyone can send webhooks. Those of a provider arrive in milliseconds: the oldest is hardly ever one of them. */
const anonymous_limits = { bodies_max: 1_024, bytes_max: 64 * megabyte };
const limits_of_accounts = { bodies_max: Number.POSITIVE_INFINITY, bytes_max: 256 * megabyte };

/**
 * Returns a function that counts a body as it arrives; beyond the limit the oldest of the heaviest sender is
 * 503. Call it in the same tick in which the body is read: its first bytes are lost otherwise.
 */
export function openSmallBodies() {
  const anonymous = openBodyBudget(anonymous_limits);
  const ofAccounts = openBodyBudget(limits_of_accounts);
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const { raw, caller } = request;
    const bytes = declaredBytes(request);
    if (bytes <= (caller ? uncounted_bytes_max : 0)) return;
    const cut = (why: Error) => cutOff(request, why);
    const held = caller
      ? ofAccounts.open(String(caller.account.id), cut)
      : anonymous.open(addressGroup(request.ip), cut);
    raw.on("data", (chunk: Buffer) => held.add(chunk.length));
    raw.once("end", held.arrived);
    reply.raw.once("close", held.release);
  };
}

/** Returns the announced length of a body: infinite if it is not announced, 0 without a body. */
export function declaredBytes({ headers }: FastifyRequest): number {
  if (headers["transfer-encoding"] !== undefined) return Number.POSITIVE_INFINITY;
  return Number(headers["content-length"] ?? 0);
}
