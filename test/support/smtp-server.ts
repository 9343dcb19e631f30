// A mail server on this machine that keeps what it is sent, in plain text.
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { openSmtp } from "../../server/drivers/mail/open-smtp.ts";
import type { MailDriver } from "../../server/drivers/mail/driver.ts";

export type SmtpServer = {
  readonly url: string;
  /** Sends over it. */
  readonly mail: MailDriver;
  /** The mails so far: their recipients, and their text with its headers. */
  readonly mails: readonly { readonly to: readonly string[]; readonly text: string }[];
  /** Refuses all mails from now on, or takes them again. */
  refuse(refusing: boolean): void;
  close(): Promise<void>;
};

/** Starts a mail server; close it in `after`. */
export async function startSmtpServer(): Promise<SmtpServer> {
  const mails: { to: string[]; text: string }[] = [];
  const state = { refusing: false };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    void serve(socket, mails, state);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    mail: openSmtp({ url, from: "Trunkline <trunkline@test.example>" }),
    mails,
    refuse: (refusing) => void (state.refusing = refusing),
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

async function serve(
  socket: Socket,
  mails: { to: string[]; text: string }[],
  state: { readonly refusing: boolean },
): Promise<void> {
  const reply = (line: string) => void socket.write(`${line}\r\n`);
  let to: string[] = [];
  let lines: string[] | null = null;
  reply("220 test");
  for await (const line of createInterface({ input: socket, crlfDelay: Infinity })) {
    if (lines !== null) {
      if (line !== ".") {
        lines.push(line.replace(/^\./, ""));
        continue;
      }
      // Quoted-printable: a soft line break is `=` at the end.
      const text = lines.join("\n").replaceAll("=\n", "").replaceAll("=3D", "=");
      mails.push({ to, text });
      [to, lines] = [[], null];
      reply("250 taken");
    } else if (/^(?:EHLO|HELO|RSET|NOOP)/i.test(line)) reply("250 ok");
    else if (/^MAIL/i.test(line)) reply(state.refusing ? "451 later" : "250 ok");
    else if (/^RCPT TO:/i.test(line)) {
      to.push(/<(.*)>/.exec(line)![1]!);
      reply("250 ok");
    } else if (/^DATA/i.test(line)) {
      lines = [];
      reply("354 go on");
    } else if (/^QUIT/i.test(line)) {
      reply("221 bye");
      socket.end();
    } else reply("502 unknown");
  }
}
