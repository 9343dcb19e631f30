/** What the list shows, in the page's address: filters survive a reload, Back, and a link that is shared. */
export type LeadsSearch = {
  readonly workspace?: number;
  readonly status?: number;
  readonly q?: string;
};

export function readLeadsSearch(search: Record<string, unknown>): LeadsSearch {
  const { workspace, status, q } = search;
  return {
    ...(isId(workspace) ? { workspace } : {}),
    ...(isId(status) ? { status } : {}),
    ...(typeof q === "string" && q !== "" ? { q } : {}),
  };
}

function isId(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}
