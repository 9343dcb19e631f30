import type { Mail, MailDriver } from "../drivers/mail/driver.ts";
import type { Log } from "../lib/log.ts";
import { openSlots } from "../lib/slots.ts";

/** Sends the mails of invitations and password resets. */
export type Mailer = {
  /** Whether a mail server is set. */
  readonly enabled: boolean;
  /** Sends a mail; false if there is no mail server or it did not take the mail. */
  send(mail: Mail): Promise<boolean>;
  /** Runs work after the response, so that its duration reveals nothing. */
  later(work: () => Promise<void>): void;
  /** Waits for the work in progress. */
  close(): Promise<void>;
};

const connections_max = 4;
const waiting_max = 50;

/** Opens a mailer; `driver` is null without a mail server. */
export function openMailer(driver: MailDriver | null, log: Log): Mailer {
  const slots = openSlots(connections_max, waiting_max);
  const working = new Set<Promise<void>>();
  return {
    enabled: driver !== null,
    async send(mail) {
      if (!driver) return false;
      try {
        await slots.use(() => driver.send(mail));
        return true;
      } catch (err) {
        log.warn({ err }, "the mail server did not take a mail");
        return false;
      }
    },
    later(work) {
      if (working.size >= waiting_max) {
        log.warn("a mail was dropped because too many wait");
        return;
      }
      const running = work()
        .catch((err: unknown) => log.warn({ err }, "could not prepare a mail"))
        .finally(() => working.delete(running));
      working.add(running);
    },
    async close() {
      await Promise.all(working);
    },
  };
}

const name_characters_max = 60;

/** Returns a name in quotation marks, on one line and shortened: an account must not write the text of our mails. */
export function quotedName(name: string): string {
  const line = name.replaceAll(/[\p{Cc}\s"]+/gu, " ").trim();
  const [...characters] = line;
  const isLong = characters.length > name_characters_max;
  return `"${isLong ? `${characters.slice(0, name_characters_max).join("")}…` : line}"`;
}
