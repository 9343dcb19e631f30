// Where a retired word is the plain right word.

/** `where` is the beginning of a path, or a pattern of the line. */
export type AllowedUse = {
  readonly word: string;
  readonly where: string | RegExp;
  readonly why: string;
};

const caller = "customers hear and leave messages";
const checker = "the checker's own examples";
const contract = "the words of the interface specification";

export const allowedUses: readonly AllowedUse[] = [
  { word: "judge", where: "scripts/check/vocabulary", why: checker },
  { word: "told", where: "scripts/check/vocabulary", why: checker },
  { word: "wind down", where: "scripts/check/vocabulary", why: checker },
  { word: "nobody", where: "scripts/", why: "the Unix user nobody" },
  { word: "nobody", where: "server/embedded-postgres/", why: "the Unix user nobody" },
  { word: "nobody", where: /user `?nobody/, why: "the Unix user nobody" },
  { word: "perform", where: "migrations/functions/", why: "a statement of PL/pgSQL" },
  { word: "perform", where: "migrations/distributed/", why: "a statement of PL/pgSQL" },
  { word: "perform", where: "docs/contract.md", why: contract },
  { word: "hear", where: "docs/guides/", why: caller },
  { word: "leave", where: "docs/guides/voice-content.md", why: caller },
  { word: "nobody", where: "docs/guides/voice-content.md", why: "a prompt of the example" },
  { word: "act", where: "docs/compliance.md", why: "the name of a law" },
  {
    word: "hint",
    where: "server/lib/database/sql-functions.ts",
    why: "a field of PostgreSQL's errors",
  },
  { word: "hint", where: /--treat-config-hints-as-errors/, why: "an option of knip" },
  { word: "book", where: /"Book"/, why: "a button's label" },
  { word: "is no", where: /[Tt]here is no\b/, why: "says that something is missing" },
  { word: "is no", where: /\bis no longer\b/, why: "says that a state has ended" },
  {
    word: "turn",
    where: "server/drivers/ai-agent/realtime/",
    why: "turn_detection of the OpenAI Realtime protocol",
  },
  { word: "turn", where: /turn_detection/, why: "the same" },
];
