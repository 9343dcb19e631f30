// Uploads header media of templates to the provider, which returns a media ID.
import Type, { type Static } from "typebox";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { App } from "../../engine/app.ts";
import { invalidField } from "../../lib/errors.ts";
import { readWholeFile } from "../../lib/read-whole-file.ts";
import { closed } from "../../lib/schemas.ts";
import { callProvider, driverOf } from "./call-provider.ts";
import { findChatNumber } from "./chat-numbers.ts";
import { phoneRouteOf } from "./chat-routes.ts";

/** The maximum file size in bytes. Providers have lower limits for some types. */
export const media_bytes_max = 16 * 1_048_576;

/** The upload's parts. */
export const ChatMediaUpload = closed(
  {
    file: Type.String({
      format: "binary",
      description: "JPEG, PNG, MP4 or PDF, known by its content; at most 16 MB",
    }),
  },
  { title: "ChatMediaUpload" },
);

export const ChatMediaResponse = Type.Object(
  {
    id: Type.String({
      description: "For a template's header_media; the provider deletes the file after 30 days",
    }),
    mime_type: Type.String(),
    size_bytes: Type.Integer(),
  },
  { title: "ChatMedia" },
);
export type ChatMediaResponse = Static<typeof ChatMediaResponse>;

/**
 * Stores a file with the number's provider and returns its media ID. Errors: not-found;
 * validation-failed for a missing, unsupported or rejected file; unavailable.
 */
export async function uploadChatMedia(
  app: App,
  actor: Actor,
  numberId: number,
  file: { readonly fd: number; readonly name: string } | null,
): Promise<ChatMediaResponse> {
  const { account_id } = actor;
  const number = await findChatNumber(app.db.query, account_id, numberId);
  if (!file) throw invalidField("file", "is required");
  const bytes = await readWholeFile(file.fd);
  const mime_type = sniffType(bytes);
  if (mime_type === null) throw invalidField("file", "must be a JPEG, PNG, MP4 or PDF file");
  const driver = await driverOf(app, phoneRouteOf(number), account_id);
  const from = {
    phone_number_id: number.provider_phone_number_id,
    business_account_id: number.business_account_id,
  };
  const id = await callProvider("file", () =>
    driver.uploadMedia(from, { bytes, mime_type, name: file.name }),
  );
  const size_bytes = bytes.length;
  await app.db.query.transaction().execute((tx) =>
    recordAudit(tx, actor, {
      at: app.clock.now(),
      action: "chat_media.uploaded",
      subject_id: numberId,
      detail: { mime_type, size_bytes },
    }),
  );
  return { id, mime_type, size_bytes };
}

const jpeg = Buffer.from([0xff, 0xd8, 0xff]);
const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/**
 * The major brands of MP4 video files. The compatible brands show no difference: audio (M4A) names mp42 and isom, too.
 * Source: MP4 Registration Authority, "Brands", mp4ra.org/registered-types/brands.
 */
const mp4_brands: ReadonlySet<string> = new Set(
  "isom iso2 iso3 iso4 iso5 iso6 iso7 iso8 iso9 mp41 mp42 avc1 dash MSNV XAVC M4V".split(" "),
);

/** Detects the type by the first bytes, regardless of the file name; null for an unsupported type. */
function sniffType(bytes: Buffer): string | null {
  const begins = (mark: Buffer | string, at = 0) =>
    bytes.subarray(at, at + mark.length).equals(Buffer.from(mark));
  if (begins(jpeg)) return "image/jpeg";
  if (begins(png)) return "image/png";
  if (begins("%PDF-")) return "application/pdf";
  // Photos, audio, 3GP and QuickTime have the same container.
  if (begins("ftyp", 4) && mp4_brands.has(bytes.toString("latin1", 8, 12).trimEnd()))
    return "video/mp4";
  return null;
}
