import type { HeaderMedia } from "../template-schema.ts";

/** What is kept of a media header's file: nulls are as good as omitted. */
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
