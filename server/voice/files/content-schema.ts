// Schemas that voice files, menus and AI agents share.
import Type from "typebox";
import { script_characters_max } from "../../calls/state-machine/script-text.ts";
import { closed, id, optional } from "../../lib/schemas.ts";

export const default_language = "en";

export const language = Type.String({
  maxLength: 35,
  pattern: "^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$",
  description: "Language tag, such as en, hi or en-IN. Default: en",
  "x-reason": "must be a language such as en, hi or en-IN",
});

/** Text of at most `characters_max` characters that is not blank. */
export const boundedText = (characters_max: number, description: string) =>
  Type.String({
    minLength: 1,
    maxLength: characters_max,
    pattern: "\\S",
    description,
    "x-reason": `must be text of at most ${characters_max} characters, not blank`,
  });

/** A text with variables that is synthesized for each recipient. */
export const script = boundedText(
  script_characters_max,
  "Synthesized for each recipient of an obd_smartvoice campaign: {{name}} is replaced by the recipient's value, {{name|there}} has a default",
);

/** A lead field that a call sets. */
export const leadField = (description: string) =>
  Type.String({
    pattern: "^(?!(?:constructor|prototype)$)[a-z][a-z0-9_]{0,62}$",
    description,
    "x-reason":
      "must be 1 to 63 characters of a-z, 0-9 and _, beginning with a letter, and not a reserved word",
  });

/** The target of a transfer; validateTransfer validates the rest. */
export const TransferInput = closed(
  {
    extension: optional(
      Type.String({
        pattern: "^[0-9]{2,6}$",
        description: "An extension of the account",
        "x-reason": "must be 2 to 6 digits",
      }),
    ),
    agent_group_id: optional(id("An agent group of the account")),
  },
  { description: "The transfer target: either an extension or an agent group" },
);
