import type { FastifyRequest } from "fastify";
import { Refusal, unavailable } from "../../lib/errors.ts";
import { answerOnSocket } from "../checks/answer-on-socket.ts";

/** Ends a request whose body is still arriving: sends the refusal, unless it is `answered`, and disconnects. */
export function cutOff(request: FastifyRequest, why: Error, answered = false): void {
  const { raw } = request;
  if (answered || !raw.socket.writable) return void raw.socket.destroy();
  // Nothing more is read meanwhile.
  raw.pause();
  const refusal = why instanceof Refusal ? why : unavailable(why);
  answerOnSocket(raw.socket, refusal, request.id, () => raw.socket.destroy());
}
