// The people of this process who talk to AI agents: limits, access that ends, and the stop of the process.
import type { WebSocket } from "ws";
import type { App } from "../../engine/app.ts";
import { Refusal, unavailable } from "../../lib/errors.ts";
import { close_codes, converse } from "./talk/converse.ts";
import type { TalkChecks } from "./talk-schema.ts";

/** A talk costs a few percent of a core, and holds recognitions that calls need. */
const talks_max = 20;
const talks_of_account_max = 3;
/** How often access is checked besides on notifications, which may be lost. */
const check_ms = 15_000;

type Talker = {
  readonly account_id: number;
  /** Throws once access is revoked. */
  readonly reauthorize: () => Promise<void>;
  readonly checks: TalkChecks;
};

export type Talks = {
  /** Throws 429 or 503 unless another person of the account may talk now. */
  refuseTooMany(account_id: number): void;
  /** Connects a person to an AI agent until one of them ends it or access is revoked. */
  open(socket: WebSocket, talker: Talker): void;
  /** Ends all talks; none can be opened afterwards. */
  close(): void;
};

/** Opens the talks of this process. */
export function openTalks(app: App): Talks {
  const talkers = new Map<WebSocket, Talker>();
  let isClosed = false;
  const check = async (socket: WebSocket, { reauthorize }: Talker) => {
    try {
      await reauthorize();
    } catch (error) {
      // During an outage of the database, the next check decides.
      if (error instanceof Refusal && error.type !== "unavailable")
        socket.close(close_codes.refused, "access was revoked");
    }
  };
  app.notifications.on("token", (subject) => {
    for (const [socket, talker] of talkers)
      if (subject.startsWith(`${talker.account_id}:`)) void check(socket, talker);
  });
  return {
    refuseTooMany(account_id) {
      if (isClosed || talkers.size >= talks_max)
        throw unavailable(new Error("this process has the maximum of open talks"));
      const own = [...talkers.values()].filter((one) => one.account_id === account_id);
      if (own.length >= talks_of_account_max)
        throw new Refusal(
          "rate-limited",
          `This account has the maximum of ${talks_of_account_max} talks with AI agents; end one first`,
          { headers: { "retry-after": "5" } },
        );
    },
    open(socket, talker) {
      talkers.set(socket, talker);
      // A socket that is not pinged through a proxy is closed as idle.
      const checking = setInterval(() => {
        socket.ping();
        void check(socket, talker);
      }, check_ms);
      socket.on("close", () => {
        clearInterval(checking);
        talkers.delete(socket);
      });
      // An invalid frame; the socket closes by itself.
      socket.on("error", () => {});
      converse(app, talker.account_id, socket, talker.checks);
      void check(socket, talker);
    },
    close() {
      isClosed = true;
      for (const socket of talkers.keys())
        socket.close(close_codes.stopping, "the server is stopping");
    },
  };
}
