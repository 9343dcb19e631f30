// A person's history over CRM, chat, voice and consent, newest first, found by every spelling of the number.
import type { App } from "../engine/app.ts";
import type { BoundedRows } from "../lib/database/cursor.ts";
import { searches } from "../lib/database/searches.ts";
import { decodePositions, encodePositions, startPositions } from "./internal/timeline-cursor.ts";
import { sources, type SourceEntry } from "./internal/timeline-sources.ts";
import type { Part } from "./people-access.ts";
import type { EntryKind, PersonEntry } from "./person-schema.ts";

/**
 * Returns a page of the entries of the visible kinds and parts; an empty one if nothing is known. `phone` is in E.164
 * digits. 422 on an invalid cursor.
 */
export async function readPersonTimeline(
  app: Pick<App, "db">,
  person: { readonly account_id: number; readonly phone: string },
  visible: { readonly parts: ReadonlySet<Part>; readonly kinds: ReadonlySet<EntryKind> },
  at: { limit: number; cursor?: string | undefined },
): Promise<{ data: PersonEntry[]; next_cursor: string | null }> {
  const positions =
    at.cursor === undefined
      ? startPositions(sources.length)
      : decodePositions(at.cursor, sources.length);
  const found = await searches.use(person.account_id, async () => {
    const entries: BoundedRows<SourceEntry>[] = [];
    for (const [i, { kind, part, read }] of sources.entries()) {
      const is_visible = visible.parts.has(part) && visible.kinds.has(kind);
      entries.push(
        is_visible
          ? await read(app.db.query, person, positions[i]!, at.limit + 1)
          : { rows: [], isCut: false },
      );
    }
    return entries;
  });
  const data: PersonEntry[] = [];
  while (data.length < at.limit) {
    const i = newestSource(found);
    if (i === null) break;
    const { position, ...entry } = found[i]!.rows.shift()!;
    positions[i] = position;
    data.push(entry);
  }
  const has_more = found.some(({ rows, isCut }) => rows.length > 0 || isCut);
  return { data, next_cursor: has_more ? encodePositions(positions) : null };
}

/**
 * Returns the source whose next entry is the newest; null if all are at their end, or if bytes have ended one, so that
 * its next entry is unknown.
 */
function newestSource(found: readonly BoundedRows<SourceEntry>[]): number | null {
  let newest: number | null = null;
  for (const [i, { rows, isCut }] of found.entries()) {
    const [next] = rows;
    if (!next && isCut) return null;
    if (next && (newest === null || next.at > found[newest]!.rows[0]!.at)) newest = i;
  }
  return newest;
}
