// Pieces that voice files, menus and AI agents have in common.
import Type from "typebox";
import { spoken_characters_max } from "../../calls/state-machine/script-text.ts";
import { closed, id, optional } from "../../lib/schemas.ts";

export const default_language = "en";

export const language = Type.String({
  maxLength: 35,
  pattern: "^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$",
  description: "What it is spoken in, such as en, hi or en-IN; en unless said",
  "x-reason": "must be a language such as en, hi or en-IN",
});

/** Something that is said, of at most so many characters. */
export const spokenText = (characters_max: number, description: string) =>
  Type.String({
    minLength: 1,
    maxLength: characters_max,
    pattern: "\\S",
    description,
    "x-reason": `must be text of at most ${characters_max} characters, not blank`,
  });

/** Said to each recipient with values of their own. */
export const script = spokenText(
  spoken_characters_max,
  "Spoken to each recipient of an obd_smartvoice campaign: {{name}} becomes their value, {{name|there}} has a default",
);

/** What a caller's lead is to get a value for. */
export const leadField = (description: string) =>
  Type.String({
    pattern: "^(?!(?:constructor|prototype)$)[a-z][a-z0-9_]{0,62}$",
    description,
    "x-reason":
      "must be 1 to 63 characters of a-z, 0-9 and _, beginning with a letter, and not a reserved word",
  });

/** Who takes a call over; validateTransfer says what this schema cannot. */
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
  { description: "Who takes the call over: one of the two" },
);
