// The API's errors of fields as sentences. They begin in lower case, without a subject, and may name its own fields.

/** Words for what the API says in terms that people who fill in a form do not know. */
const own_words: readonly (readonly [RegExp, string])[] = [
  [/^must be an integer$/, "must be a whole number"],
  [
    /^must be exactly 10 digits$/,
    "must be ten digits, with or without the country code before them",
  ],
  [/^must be an IANA time zone.*$/, "must be a time zone of the list, such as Asia/Kolkata"],
  [
    /^must be 1 to 512 characters of a-z, 0-9 and _$/,
    "must be small letters a-z, digits and _ only",
  ],
  [
    /^is required because the file has no column (\w+)$/,
    "is required: the file has no column “$1”",
  ],
  [
    /^must be one of the countries that the operator allows, .*$/,
    "must be among the countries that the operator allows",
  ],
  [/^must be named with 1 to 64 /, "must have a name of 1 to 64 "],
  [/^must be reachable from start$/, "is never reached: let a key or another step lead to it"],
];

const audible_only = "Choose a voice file that has audio and is not archived.";

/** Sentences of their own, whatever the field is called. */
const sentences: Readonly<Record<string, string>> = {
  "is required, unless there is a script, menu_id or ai_agent_id; or upload a file":
    "Add audio here, or a script, a menu or an AI agent below.",
  "must be an active voice file of this account with audio": audible_only,
  "is not a voice file of this account with audio": audible_only,
};

/** Returns an error of the API as a sentence about the field with this label. The console's own sentences stay. */
export function fieldError(label: string, error: string): string {
  if (!/^[a-z]/.test(error)) return error;
  const [pattern, words] = own_words.find(([known]) => known.test(error)) ?? [];
  const said = pattern ? error.replace(pattern, words!) : error;
  return sentences[error] ?? `${label} ${said}.`;
}
