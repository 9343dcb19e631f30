/** What the list shows, in the page's address: filters survive a reload, Back, and a link that is shared. */
export type LeadsSearch = {
  readonly workspace?: number;
  readonly status?: number;
  readonly source?: number;
  readonly priority?: number;
  /** The user that the leads are assigned to. */
  readonly agent?: number;
  readonly q?: string;
  /** The saved view that was chosen; the filters and columns beside it are what is shown. */
  readonly view?: number;
  /** The columns shown, by their headers; without them, this browser's choice. */
  readonly columns?: readonly string[];
};

const filters = ["workspace", "status", "source", "priority", "agent"] as const;

export function readLeadsSearch({ columns, ...search }: Record<string, unknown>): LeadsSearch {
  const ids = ["view", ...filters].filter((id) => isId(search[id]));
  return {
    ...Object.fromEntries(ids.map((id) => [id, search[id]])),
    ...readText(search["q"]),
    ...(Array.isArray(columns) ? { columns: columns.map(String) } : {}),
  };
}

export function readLeadSearch({ workspace }: Record<string, unknown>): { workspace?: number } {
  return isId(workspace) ? { workspace } : {};
}

/** The workspace whose contacts are listed, and the search for some. */
export function readContactsSearch({ workspace, q }: Record<string, unknown>): {
  workspace?: number;
  q?: string;
} {
  return { ...(isId(workspace) ? { workspace } : {}), ...readText(q) };
}

/** The workspace that leads are imported to, and the import that is shown. */
export function readImportSearch(search: Record<string, unknown>): {
  workspace?: number;
  import?: number;
} {
  const ids = ["workspace", "import"].filter((id) => isId(search[id]));
  return Object.fromEntries(ids.map((id) => [id, search[id]]));
}

/** The address of a search for a number holds a number. */
function readText(q: unknown): { q?: string } {
  return (typeof q === "string" && q !== "") || typeof q === "number" ? { q: String(q) } : {};
}

function isId(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}
