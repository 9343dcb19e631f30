import { graphError, type StubAnswer } from "./answers.ts";

export type StubTemplate = {
  readonly id: string;
  readonly name: string;
  readonly language: string;
  readonly category: string;
  readonly parameter_format: string;
  readonly components: readonly unknown[];
  readonly status: string;
  readonly quality_score: { readonly score: string };
  readonly rejected_reason: string;
};

export type Templates = {
  list(business_account_id: string, query: URLSearchParams): StubAnswer;
  create(business_account_id: string, body: Record<string, unknown>, status: string): StubAnswer;
  delete(business_account_id: string, name: string | null): StubAnswer;
  /** Changes fields of every language of a template; returns those changed. */
  change(
    business_account_id: string,
    name: string,
    fields: Partial<StubTemplate>,
  ): readonly StubTemplate[];
  clear(): void;
};

/** The templates of all business accounts, with Meta's paging. */
export function openTemplates(): Templates {
  const accounts = new Map<string, StubTemplate[]>();
  let last_id = 1_689_556_908_129_832;
  const of = (account: string) => accounts.get(account) ?? [];
  return {
    list(account, query) {
      const limit = Number(query.get("limit") ?? "25");
      const start = Number(query.get("after") ?? "0");
      const page = of(account).slice(start, start + limit);
      const end = start + page.length;
      const more = end < of(account).length ? { next: `https://stub.test/?after=${end}` } : {};
      const paging = page.length === 0 ? {} : { paging: { cursors: { after: `${end}` }, ...more } };
      return { status: 200, body: { data: page, ...paging } };
    },
    create(account, body, status) {
      const { name, language, category, components } = body;
      if (
        typeof name !== "string" ||
        typeof language !== "string" ||
        typeof category !== "string" ||
        !Array.isArray(components)
      )
        return graphError(100);
      if (of(account).some((one) => one.name === name && one.language === language))
        return graphError(100, 2_388_024);
      last_id += 1;
      const made: StubTemplate = {
        id: String(last_id),
        name,
        language,
        category,
        parameter_format: body["parameter_format"] === "NAMED" ? "NAMED" : "POSITIONAL",
        components,
        status,
        quality_score: { score: "UNKNOWN" },
        rejected_reason: "NONE",
      };
      accounts.set(account, [...of(account), made]);
      return { status: 200, body: { id: made.id, status, category } };
    },
    delete(account, name) {
      const left = of(account).filter((one) => one.name !== name);
      if (left.length === of(account).length) return graphError(100, 2_593_002);
      accounts.set(account, left);
      return { status: 200, body: { success: true } };
    },
    change(account, name, fields) {
      const changed = of(account).map((one) => (one.name === name ? { ...one, ...fields } : one));
      accounts.set(account, changed);
      return changed.filter((one) => one.name === name);
    },
    clear: () => accounts.clear(),
  };
}
