// Synthesizes a text for whoever writes it, as for a campaign's recipient.
import Type, { type Static } from "typebox";
import {
  fillText,
  script_characters_max,
  validateScript,
} from "../../calls/state-machine/script-text.ts";
import { SpeechError } from "../../drivers/speech/driver.ts";
import type { App } from "../../engine/app.ts";
import { encodeWav } from "../../lib/audio/wav.ts";
import { invalid, invalidField, unavailable } from "../../lib/errors.ts";
import { closed, mapOf, optional } from "../../lib/schemas.ts";
import { openShares } from "../../lib/shares.ts";
import { boundedText, default_language, language } from "./content-schema.ts";

export const SpeechPreview = closed(
  {
    text: boundedText(script_characters_max, "The text, with {{variables}}"),
    language: optional(language),
    variables: optional(
      mapOf(Type.String(), {
        maxProperties: 500,
        description: "Values for {{variables}}",
      }),
    ),
  },
  {
    title: "SpeechPreview",
    description: "A text to synthesize",
    examples: [{ text: "Hello {{name|there}}!", variables: { name: "Ada" } }],
  },
);
type SpeechPreview = Static<typeof SpeechPreview>;

/** Campaigns synthesize with the same driver, so previews take one slot at a time, shared fairly between accounts. */
const previews = openShares(1, 1, 5);

/**
 * Returns the audio as WAV. It is not stored, so that previews do not fill the account's storage.
 * Throws: 422 for a text that cannot be synthesized or lacks a value, 503 if the speech driver fails.
 */
export async function previewSpeech(
  { speech }: Pick<App, "speech">,
  accountId: number,
  { text: script, language: tag, variables }: SpeechPreview,
): Promise<Buffer> {
  const violation = validateScript(script);
  if (violation !== null) throw invalidField("text", violation);
  const { text, missing } = fillText(script, variables ?? {});
  if (missing.length > 0)
    throw invalid(
      missing.map((name) => ({
        field: `variables.${name}`,
        reason: "is required, because the text has no default",
      })),
    );
  const utterance = { text, language: tag ?? default_language };
  try {
    return encodeWav(await previews.use(accountId, () => speech.synthesize(utterance)));
  } catch (error) {
    if (!(error instanceof SpeechError)) throw error;
    if (error.failure === "rejected") throw invalidField("text", error.message);
    throw unavailable(error);
  }
}
