/** A mail server. */
export type SmtpSettings = {
  /** An smtp: or smtps: URL, with the credentials. */
  readonly url: string;
  /** The sender: an address, or `Name <address>`. */
  readonly from: string;
};

/** Validates the settings SMTP_URL and MAIL_FROM, of which both or neither must be set. */
export function smtpSettings(
  url: string | null,
  from: string | null,
  violation: (text: string) => void,
): SmtpSettings | null {
  if (url === null && from === null) return null;
  // Not echoed: it contains a password.
  if (url !== null && !(URL.canParse(url) && /^smtps?:\/\/[^/?#]+\/?$/.test(url)))
    violation("SMTP_URL: must have the form smtp://user:password@host:port or smtps://…");
  if (from !== null && !/^(?:[^<>\r\n]*<[^<>@\s]+@[^<>@\s]+>|[^<>@\s]+@[^<>@\s]+)$/.test(from))
    violation(`MAIL_FROM: "${from}" must be an email address, or a name with an <address>`);
  if (url !== null && from !== null) return { url, from };
  violation("SMTP_URL, MAIL_FROM: set both of them or none");
  return null;
}
