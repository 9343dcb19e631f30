import assert from "node:assert/strict";
import { test } from "node:test";
import { startSmtpServer } from "../../../test/support/smtp-server.ts";
import { openSmtp } from "./open-smtp.ts";

test("a mail goes to one recipient, however the address and the subject are written", async (t) => {
  const smtp = await startSmtpServer();
  t.after(() => smtp.close());
  const to = "a@test.example";
  await smtp.mail.send({ to, subject: "Hi\r\nBcc: b@test.example", text: "Hello" });
  await smtp.mail
    .send({ to: "a@test.example,b@test.example", subject: "Hi", text: "Hello" })
    .catch(() => {});
  assert.deepEqual(smtp.mails[0]!.to, [to]);
  assert.doesNotMatch(smtp.mails[0]!.text, /^Bcc:/m);
  assert.match(smtp.mails[0]!.text, /^From: Trunkline <trunkline@test\.example>$/m);
  assert.ok(smtp.mails.every((mail) => mail.to.length === 1));
});

test("a mail that the server refuses, and a server that is gone, reject", async () => {
  const smtp = await startSmtpServer();
  const mail = { to: "a@test.example", subject: "Hi", text: "Hello" };
  smtp.refuse(true);
  await assert.rejects(smtp.mail.send(mail), /451/);
  await smtp.close();
  await assert.rejects(smtp.mail.send(mail), /ECONNREFUSED/);
});

test("a password is not sent, and no mail either, to a server without TLS", async (t) => {
  const smtp = await startSmtpServer();
  t.after(() => smtp.close());
  const url = smtp.url.replace("//", "//user:p%40ss@");
  const mail = openSmtp({ url, from: "trunkline@test.example" });
  await assert.rejects(
    mail.send({ to: "a@test.example", subject: "Hi", text: "Hello" }),
    /STARTTLS/,
  );
  assert.deepEqual(smtp.mails, []);
});
