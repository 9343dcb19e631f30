import { createTransport } from "nodemailer";
import { tracedCall } from "../../lib/tracing/traced-request.ts";
import type { MailDriver } from "./driver.ts";

const step_ms = 10_000;

/** Opens a mail server. Credentials are sent over TLS only. */
export function openSmtp({
  url,
  from,
}: {
  readonly url: string;
  readonly from: string;
}): MailDriver {
  const { protocol, hostname, port, username, password } = new URL(url);
  const transport = createTransport({
    host: hostname.replaceAll(/^\[|\]$/g, ""),
    ...(port === "" ? {} : { port: Number(port) }),
    secure: protocol === "smtps:",
    requireTLS: username !== "",
    ...(username === ""
      ? {}
      : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    connectionTimeout: step_ms,
    greetingTimeout: step_ms,
    socketTimeout: step_ms,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send({ to, subject, text }) {
      // As an object: an address as text could list several.
      const mail = { from, to: { name: "", address: to }, subject, text };
      await tracedCall("send mail", { "server.address": hostname }, () => transport.sendMail(mail));
    },
  };
}
