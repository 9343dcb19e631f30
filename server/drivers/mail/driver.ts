/** A mail in plain text. */
export type Mail = { readonly to: string; readonly subject: string; readonly text: string };

/** Sends mails. */
export type MailDriver = {
  /** Resolves once the mail server took the mail; rejects if it did not, within seconds. */
  send(mail: Mail): Promise<void>;
};
