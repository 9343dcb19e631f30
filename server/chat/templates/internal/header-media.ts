import { statement, type Executor } from "../../../lib/database/database.ts";
import type { HeaderMedia } from "../template-schema.ts";

const findFirstSet = statement<{ set_at: Date | null }>(`
  select min(header_media_at) as set_at from chat_templates
  where account_id = $1 and header_media->>'id' = $2`);

/**
 * Returns the columns of a template that store its header media. A media ID that a template of the account has already
 * keeps the time at which it was first set, because the provider deletes the file 30 days after its upload.
 */
export async function headerMediaColumns(
  db: Executor,
  accountId: number,
  header_media: HeaderMedia | null | undefined,
  now: Date,
): Promise<{ header_media: string | null; header_media_at: Date | null }> {
  const media = headerMediaOf(header_media);
  const [first] = media?.id ? await findFirstSet(db, [accountId, media.id]) : [];
  return {
    header_media: media && JSON.stringify(media),
    header_media_at: media?.id ? (first?.set_at ?? now) : null,
  };
}

/** Returns the header media to store; null fields count as omitted. */
function headerMediaOf(
  media: HeaderMedia | null | undefined,
): { id?: string; link?: string; filename?: string } | null {
  if (!media) return null;
  const { id, link, filename } = media;
  return {
    ...(id ? { id } : {}),
    ...(link ? { link } : {}),
    ...(filename ? { filename } : {}),
  };
}
