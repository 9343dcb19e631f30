import { getRouteApi } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import {
  contactsOf,
  countNational,
  defaultMapping,
  readAudience,
  type Audience,
  type Contact,
} from "./read-audience.ts";
import { readFile, type LargeFile } from "./read-file.ts";

const shell = getRouteApi("/shell");

/** The part of a draft that says who is reached. */
export type AudienceDraft = {
  /** Where the recipients come from. */
  readonly source: "list" | "group";
  readonly group_id: string;
  /** Pasted, or read from a file. */
  readonly list: string;
  /** The chosen column of the numbers; empty: the one whose name says so. */
  readonly phone_column: string;
  /** The chosen column of a variable; an empty text is none. */
  readonly mapping: Readonly<Record<string, string>>;
};

export const empty_audience: AudienceDraft = {
  source: "list",
  group_id: "",
  list: "",
  phone_column: "",
  mapping: {},
};

export type FieldErrors = readonly { readonly field: string; readonly reason: string }[];

/** What the fields of the audience need of a composer. */
export type AudienceComposer = {
  readonly draft: AudienceDraft;
  /** A file that is too large to be shown. */
  readonly large: LargeFile | null;
  /** Percent of the file that have arrived. */
  readonly uploaded: number;
  readonly dryRun: { readonly isPending: boolean };
  /** The variables that columns can fill. */
  readonly keys: readonly string[];
  readonly audience: Audience;
  readonly mapping: Readonly<Record<string, number>>;
  readonly contacts: readonly Contact[];
  /** How many of them are written without their country code. */
  readonly national_count: number;
  readonly errors: FieldErrors;
  readonly change: (changed: Partial<AudienceDraft>) => void;
  /** Takes the recipients from a file; null: from the list again. */
  readonly choose: (chosen: File | null) => Promise<void>;
};

/** The recipients of a draft with their values, and the file that is too large for it. */
export function useAudience(
  draft: AudienceDraft,
  keys: readonly string[],
  change: AudienceComposer["change"],
) {
  const [large, setLarge] = useState<LargeFile | null>(null);
  const { phone_column, mapping: chosen } = draft;
  const text = large?.head ?? draft.list;
  const audience = useMemo(() => readAudience(text, phone_column), [text, phone_column]);
  const mapping = useMemo(
    () => mappingOf(keys, chosen, defaultMapping(audience, keys)),
    [chosen, audience, keys],
  );
  const { country_code } = shell.useRouteContext().me.account;
  const contacts = useMemo(
    () => contactsOf(audience, mapping, country_code),
    [audience, mapping, country_code],
  );
  const national_count = useMemo(
    () => countNational(audience, country_code),
    [audience, country_code],
  );
  return {
    large,
    audience,
    mapping,
    contacts,
    national_count,
    country_code,
    async choose(file: File | null) {
      const read = file ? await readFile(file) : "";
      const is_text = typeof read === "string";
      setLarge(is_text ? null : read);
      change({ list: is_text ? read : "", phone_column: "", mapping: {} });
    },
    drop: () => setLarge(null),
  };
}

/** The chosen columns over the default ones; an empty choice means the variable's default. */
function mappingOf(
  keys: readonly string[],
  chosen: AudienceDraft["mapping"],
  defaults: Readonly<Record<string, number>>,
): Record<string, number> {
  const columns = keys.flatMap((key) => {
    const column = chosen[key] ?? String(defaults[key] ?? "");
    return column === "" ? [] : [[key, Number(column)] as const];
  });
  return Object.fromEntries(columns);
}
