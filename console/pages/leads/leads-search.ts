/** What the list shows, in the page's address: filters survive a reload, Back, and a link that is shared. */
export type LeadsSearch = {
  readonly workspace?: number;
  readonly status?: number;
  readonly source?: number;
  readonly priority?: number;
  /** The user that the leads are assigned to. */
  readonly agent?: number;
  readonly q?: string;
};

const ids = ["workspace", "status", "source", "priority", "agent"] as const;

export function readLeadsSearch(search: Record<string, unknown>): LeadsSearch {
  const { q } = search;
  return {
    ...Object.fromEntries(ids.filter((id) => isId(search[id])).map((id) => [id, search[id]])),
    // The address of a search for a number holds a number.
    ...((typeof q === "string" && q !== "") || typeof q === "number" ? { q: String(q) } : {}),
  };
}

export function readLeadSearch({ workspace }: Record<string, unknown>): { workspace?: number } {
  return isId(workspace) ? { workspace } : {};
}

function isId(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}
