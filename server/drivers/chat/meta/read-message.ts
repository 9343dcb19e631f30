// Reads a customer's message.
import type { WebhookEvent, WebhookPerson } from "../driver.ts";
import { asRecord, asRecords, asText, type JsonRecord } from "./json.ts";
import { linksOf, readBsuid, readNumber, readTime, type SenderReader } from "./read-person.ts";

/** Returns the events of a message: the reply, and the phone of its sender's BSUID if both are known. */
export function readMessage(message: JsonRecord, senderOf: SenderReader): readonly WebhookEvent[] {
  const provider_message_id = asText(message["id"]);
  const type = asText(message["type"]);
  const at = readTime(message["timestamp"]);
  if (type === "system" && at !== null) return readSystem(message, at);
  const sender = senderOf(message);
  if (provider_message_id === null || type === null || at === null || sender === null)
    return [{ kind: "unread", reason: `message ${type ?? ""}`.slice(0, 100) }];
  const content = message[type];
  // https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/edit
  const edited = type === "edit" ? asRecord(asRecord(content)?.["message"]) : null;
  const said = edited ?? message;
  const said_type = asText(said["type"]) ?? type;
  return [
    ...linksOf(sender.from, sender.bsuid, sender.parent_bsuid),
    ...sharedNumber(type, sender, content),
    {
      kind: "reply",
      provider_message_id,
      ...sender,
      at,
      type,
      ...readContent(said_type, asRecord(said[said_type]) ?? {}),
      content: type === "text" ? null : (content ?? message["errors"] ?? null),
      answers:
        asText(asRecord(said["context"])?.["id"]) ??
        (type === "reaction" ? asText(asRecord(content)?.["message_id"]) : null),
    },
  ];
}

function readContent(
  type: string,
  content: JsonRecord,
): { readonly text: string | null; readonly payload: string | null } {
  switch (type) {
    case "text":
      return { text: asText(content["body"]), payload: null };
    case "button":
      return { text: asText(content["text"]), payload: asText(content["payload"]) };
    case "order":
      return { text: asText(content["text"]), payload: null };
    case "interactive": {
      const chosen = asRecord(content["button_reply"]) ?? asRecord(content["list_reply"]);
      if (chosen) return { text: asText(chosen["title"]), payload: asText(chosen["id"]) };
      const form = asRecord(content["nfm_reply"]);
      return { text: asText(form?.["body"]), payload: asText(form?.["response_json"]) };
    }
    default:
      return { text: asText(content["caption"]), payload: null };
  }
}

/** Reads the sender's own number, which a `REQUEST_CONTACT_INFO` button shares. */
function sharedNumber(
  type: string,
  { bsuid, parent_bsuid }: WebhookPerson,
  content: unknown,
): readonly WebhookEvent[] {
  if (type !== "contacts") return [];
  return asRecords(content)
    .filter(({ origin }) => origin === "contact_request")
    .flatMap(({ phones }) => {
      const { wa_id, phone } = asRecords(phones)[0] ?? {};
      const number = readNumber(wa_id) ?? asText(phone)?.replaceAll(/[^\d+]/g, "");
      return linksOf(number, bsuid, parent_bsuid);
    });
}

/** Reads that a customer has a new phone number, or new BSUIDs because of it. */
function readSystem(message: JsonRecord, at: Date): readonly WebhookEvent[] {
  const system = asRecord(message["system"]) ?? {};
  const type = asText(system["type"]) ?? "";
  const after = {
    from: readNumber(system["wa_id"]) ?? readNumber(system["new_wa_id"]),
    bsuid: readBsuid(system["user_id"]),
  };
  // Before August 2026, the text alone named the previous BSUID: "User Ann changed from US.1 to US.2".
  const named = / changed from (\S+\.\S+) to /.exec(asText(system["body"]) ?? "")?.[1];
  const previous = [system["previous_user_id"], message["from_user_id"], named]
    .map(readBsuid)
    .find((bsuid) => bsuid !== null && bsuid !== after.bsuid);
  const before = { from: readNumber(message["from"]), bsuid: previous ?? null };
  const previous_parent = readBsuid(system["previous_parent_user_id"]) ?? before.bsuid;
  const parent = readBsuid(system["parent_user_id"]);
  const moves = [{ before, after }];
  if (parent !== null)
    moves.push({
      before: { ...before, bsuid: previous_parent },
      after: { ...after, bsuid: parent },
    });
  const isMove = type === "user_changed_number" || type === "user_changed_user_id";
  const read = moves.filter((move) =>
    [move.before, move.after].every(({ from, bsuid }) => isMove && (from ?? bsuid) !== null),
  );
  if (read.length === 0)
    return [{ kind: "unread", reason: `system message ${type}`.slice(0, 100) }];
  return read.map((move) => ({ kind: "moved", at, ...move }));
}
