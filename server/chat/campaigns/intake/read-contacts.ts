import { createHash } from "node:crypto";
import { openPhoneReader } from "../../../lib/chat-phone-numbers.ts";
import type { FieldError } from "../../../lib/errors.ts";
import { parseJsonText } from "../../../lib/json-body.ts";
import { gatherRecipients, type Recipients } from "./gather-recipients.ts";
import { contactViolations, isContact, storageViolations } from "./validate-contact.ts";
import { contacts_max } from "./limits.ts";
import { recipientOf } from "./recipient-format.ts";
import { variablesText } from "./variables-text.ts";

export type ContactsOptions = {
  readonly account_id: number;
  readonly valid_only: boolean;
  readonly form: Recipients["form"];
};

/** The result of reading a list of contacts. */
export type ContactsReading = {
  /** Violations of their shape; with any, the recipients must not be used. */
  readonly violations: readonly FieldError[];
  readonly sent: number;
  readonly recipients: Recipients;
};

export type ContactsReader = {
  /** Adds one entry as JSON; throws `malformed-body` when it is not valid JSON. */
  entry(json: Buffer, index: number): void;
  /** Adds one parsed entry. */
  row(row: unknown, index: number): void;
  /** Ends the list. The digest covers its valid entries. */
  end(): ContactsReading & { readonly sha256: Buffer };
};

/** The most violations that are collected; a response contains fewer. */
const violations_max = 1_000;
const contact_bytes_max = 262_144;
const hashed_characters = 65_536;

/** Validates the shape of contacts and gathers the recipients among them. */
export function openContactsReader(options: ContactsOptions): ContactsReader {
  const readPhone = openPhoneReader(options);
  const recipients = gatherRecipients(options.form, options.account_id);
  const hash = createHash("sha256");
  const violations: FieldError[] = [];
  let sent = 0;
  let hash_input = "";

  const refuse = (found: readonly FieldError[]) =>
    void violations.push(...found.slice(0, violations_max - violations.length));

  const row = (value: unknown, index: number) => {
    sent++;
    if (!isContact(value)) {
      const room = violations_max - violations.length;
      if (room > 0) refuse(contactViolations(value, `contacts.${index}`, room));
      return;
    }
    const { phone_number, variables } = value;
    const text = variables ? variablesText(variables) : null;
    // The fingerprint also covers how the number was written, which is not stored.
    hash_input += `${JSON.stringify(phone_number)} ${text ?? (variables === null ? "null" : "")}\n`;
    if (hash_input.length > hashed_characters) {
      hash.update(hash_input);
      hash_input = "";
    }
    const recipient = recipientOf(readPhone, phone_number, text);
    recipients.take({ row: index + 1, value: phone_number, recipient });
  };

  return {
    row,
    entry(json, index) {
      if (index >= contacts_max) return void sent++;
      if (json.length > contact_bytes_max) {
        sent++;
        const reason = `has more than ${contact_bytes_max / 1_024} kB`;
        return refuse([{ field: `contacts.${index}`, reason }]);
      }
      const text = json.toString("utf8");
      const value = parseJsonText(text);
      if (text.includes("\\u") && isContact(value))
        refuse(storageViolations(value, `contacts.${index}`));
      row(value, index);
    },
    end() {
      if (sent > contacts_max)
        violations.unshift({
          field: "contacts",
          reason: `must have at most ${contacts_max} entries`,
        });
      const sha256 = hash.update(hash_input).digest();
      return { violations, sent, recipients: recipients.end(), sha256 };
    },
  };
}
