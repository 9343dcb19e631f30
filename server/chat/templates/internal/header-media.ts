import type { HeaderMedia } from "../template-schema.ts";

/** Returns the header media to store; null fields count as omitted. */
export function headerMediaOf(
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
