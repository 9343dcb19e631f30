import { randomUUID } from "node:crypto";
import { ChatSendError, type ChatSender } from "../driver.ts";
import type { GraphClient } from "./graph-client.ts";
import { asId } from "./json.ts";

/** Long enough for Meta's largest documents, 100 MB. */
const upload_timeout_ms = 120_000;

/** Stores a file with Meta for 30 days and returns its media ID. */
export async function uploadMedia(
  client: GraphClient,
  from: ChatSender,
  file: { readonly bytes: Buffer; readonly mime_type: string; readonly name: string },
): Promise<string> {
  const boundary = `trunkline-${randomUUID()}`;
  const answer = await client.call({
    business_account_id: from.business_account_id,
    method: "POST",
    path: `/${encodeURIComponent(from.phone_number_id)}/media`,
    body: formData(boundary, file),
    content_type: `multipart/form-data; boundary=${boundary}`,
    timeout_ms: upload_timeout_ms,
  });
  const id = asId(answer["id"]);
  if (id === null) throw new ChatSendError("unknown", "the response has no media ID");
  return id;
}

function formData(
  boundary: string,
  file: { readonly bytes: Buffer; readonly mime_type: string; readonly name: string },
): Buffer {
  const name = file.name.replaceAll(/["\\\r\n]/g, "_");
  const type = file.mime_type.replaceAll(/[\r\n]/g, "");
  const part = (disposition: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n`;
  return Buffer.concat([
    Buffer.from(`${part('name="messaging_product"')}\r\nwhatsapp\r\n`),
    Buffer.from(`${part('name="type"')}\r\n${type}\r\n`),
    Buffer.from(`${part(`name="file"; filename="${name}"`)}Content-Type: ${type}\r\n\r\n`),
    file.bytes,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);
}
