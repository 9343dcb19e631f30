// Request and response schemas of voice files.
import Type, { type Static } from "typebox";
import { shownName } from "../../accounts/accounts/account-schema.ts";
import { machine_policies, type MachinePolicy } from "../../calls/state-machine/voice-plan.ts";
import { script_characters_max } from "../../calls/state-machine/script-text.ts";
import { closed, id, nullable, optional, timestamp } from "../../lib/schemas.ts";
import { boundedText, language, script } from "./content-schema.ts";

export const voice_file_statuses = ["processing", "ready", "rejected"] as const;
export type VoiceFileStatus = (typeof voice_file_statuses)[number];

/** The largest upload, in bytes. */
export const upload_bytes_max = 50 * 1_048_576;

const name = shownName("Display name");
const menu_id = id("A menu of the account, for obd_ivr campaigns");
const ai_agent_id = id("An AI agent of the account, for ai_bot campaigns");
const opt_out_key = Type.String({
  pattern: "^[0-9*#]$",
  description:
    "A recipient who presses it from the answer until the phone is hung up opts out; menus and AI agents define their own keys",
  "x-reason": "must be one of 0-9, * and #",
});
const answering_machine = Type.Enum(machine_policies, {
  type: "string",
  description:
    "What happens when a machine answers: play continues as with a person, hang_up hangs up, retry calls again later, off disables detection. Default: off",
});

const settings = {
  script: optional(script),
  menu_id: optional(menu_id),
  ai_agent_id: optional(ai_agent_id),
  opt_out_key: optional(opt_out_key),
  answering_machine: optional(answering_machine),
};
const creation_fields = { name, ...settings, language: optional(language) };

/** The body of a voice file's creation without an upload; validateVoiceFile validates the rest. */
export const NewVoiceFile = closed(
  {
    ...creation_fields,
    text: optional(
      boundedText(
        script_characters_max,
        "Text to synthesize, the same for every recipient; instead of an upload",
      ),
    ),
  },
  {
    title: "NewVoiceFile",
    description: "A voice file: a text, or at least a script, a menu or an AI agent",
    examples: [{ name: "Welcome", text: "Welcome to the demo.", opt_out_key: "9" }],
  },
);
export type NewVoiceFile = Static<typeof NewVoiceFile>;

/** The parts of an upload. */
export const VoiceFileUpload = closed(
  {
    file: Type.String({
      format: "binary",
      description:
        "WAV, MP3 or Ogg (Opus, Vorbis), detected by its content; at most 50 MB, 15 minutes",
    }),
    ...creation_fields,
  },
  { title: "VoiceFileUpload" },
);

/** A change of a voice file; null clears a field, and the audio cannot change. */
export const VoiceFilePatch = closed(
  {
    name: Type.Optional(name),
    ...settings,
    answering_machine: Type.Optional(answering_machine),
  },
  {
    title: "VoiceFilePatch",
    minProperties: 1,
    description: "The fields to change, for campaigns launched from now on; null clears a field",
    examples: [{ script: "Hello {{name|there}}, your order has arrived.", opt_out_key: null }],
  },
);
export type VoiceFilePatch = Static<typeof VoiceFilePatch>;

export const VoiceFileResponse = Type.Object(
  {
    id: id("Voice file id, the voice_file_id of campaigns"),
    name: Type.String(),
    status: Type.Enum(voice_file_statuses, { type: "string" }),
    reason: nullable(Type.String({ description: "Why it was rejected" })),
    format: nullable(
      Type.String({ description: "wav, mp3 or ogg; null: synthesized, or no audio" }),
    ),
    duration_ms: nullable(Type.Integer({ description: "Null: not ready, or no audio" })),
    text: nullable(Type.String()),
    language: Type.String({ description: "Language of the text and the script" }),
    script: nullable(Type.String()),
    menu_id: nullable(id("Menu id")),
    ai_agent_id: nullable(id("AI agent id")),
    opt_out_key: nullable(Type.String()),
    answering_machine: Type.Enum(machine_policies, { type: "string" }),
    active: Type.Boolean({ description: "False: archived" }),
    created_by: id("User id"),
    created_at: timestamp("UTC"),
    updated_at: timestamp("UTC"),
  },
  { title: "VoiceFile" },
);
export type VoiceFileResponse = Static<typeof VoiceFileResponse>;

/** The columns that voiceFileResponse needs, without the upload. */
export const voice_file_columns = [
  "id",
  "name",
  "status",
  "reason",
  "format",
  "duration_ms",
  "text",
  "language",
  "script",
  "menu_id",
  "ai_agent_id",
  "opt_out_key",
  "answering_machine",
  "active",
  "created_by",
  "created_at",
  "updated_at",
] as const;

type Row = Omit<VoiceFileResponse, "status" | "answering_machine" | "created_at" | "updated_at"> & {
  readonly status: string;
  readonly answering_machine: string;
  readonly created_at: Date;
  readonly updated_at: Date;
};

export function voiceFileResponse(row: Row): VoiceFileResponse {
  return {
    ...row,
    status: row.status as VoiceFileStatus,
    answering_machine: row.answering_machine as MachinePolicy,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
