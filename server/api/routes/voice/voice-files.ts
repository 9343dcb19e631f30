import Type from "typebox";
import { searchOn } from "../../../lib/database/cursor.ts";
import { notifyJob } from "../../../engine/add-job.ts";
import { readWholeFile } from "../../../lib/read-whole-file.ts";
import { closed, pageOf, pageQuery, pathId } from "../../../lib/schemas.ts";
import { archiveVoiceFile } from "../../../voice/files/archive-voice-file.ts";
import { createVoiceFile } from "../../../voice/files/create-voice-file.ts";
import { previewSpeech, SpeechPreview } from "../../../voice/files/preview-speech.ts";
import { validateSource, validateVoiceFile } from "../../../voice/files/validate-voice-file.ts";
import { updateVoiceFile } from "../../../voice/files/update-voice-file.ts";
import {
  NewVoiceFile,
  upload_bytes_max,
  voice_file_statuses,
  VoiceFileResponse,
  VoiceFilePatch,
  VoiceFileUpload,
} from "../../../voice/files/voice-file-schema.ts";
import {
  listVoiceFiles,
  findVoiceFileAudio,
  readVoiceFile,
} from "../../../voice/files/voice-files.ts";
import { shapeChecker, type CheckedBody } from "../../checks/check-shape.ts";
import { mergeErrors } from "../../field-errors.ts";
import { sendWav } from "../shared/send-wav.ts";
import { bodyOfForm, parseUpload } from "../../bodies/parse-upload.ts";
import {
  route,
  type Access,
  type RequestContext,
  type ParsedBody,
  type UnparsedRequest,
} from "../../route.ts";

const files = "/api/v1/voice/files";
const params = closed({ id: pathId("The voice file") });
const tag = "Voice";
export const seeContent: Access = {
  features: ["voice"],
  anyOf: ["voice.content.read", "voice.content.manage"],
};
export const manageContent: Access = { features: ["voice"], anyOf: ["voice.content.manage"] };

const { file: _, ...form_fields } = VoiceFileUpload.properties;
const FormBody = closed(form_fields);
const parts = {
  file: "file",
  fields: Object.keys(form_fields),
  file_bytes_max: upload_bytes_max,
  collects_violations: true,
} as const;
const checkBody = shapeChecker(NewVoiceFile);
const checkForm = shapeChecker(FormBody);
/** Time limit of an upload, which is written to disk. */
const statement_seconds = 60;

type VoiceFileSource = CheckedBody<NewVoiceFile> & { readonly fd: number | null };

/** Reads a voice file from JSON or multipart/form-data. */
async function parseSource(context: UnparsedRequest): Promise<ParsedBody<VoiceFileSource>> {
  const { request } = context;
  if (request.isMultipart())
    return parseUpload(context, parts, ({ fields, file, violations }) => {
      const checked = checkForm(bodyOfForm(fields, FormBody));
      const missing = file === null ? [{ field: "file", reason: "is required" }] : [];
      const found = [...violations, ...missing, ...checked.violations];
      return { body: checked.body, violations: found, fd: file?.fd ?? null };
    });
  const { body, violations } = checkBody(request.body);
  const found = [...violations, ...validateSource(request.body)];
  return { body: { body, violations: found, fd: null }, fingerprint: request.body };
}

async function create({
  app,
  actor,
  body: { body, fd },
  writeWithClient,
}: RequestContext<unknown, unknown, VoiceFileSource>): Promise<VoiceFileResponse> {
  const file = await writeWithClient(statement_seconds, async (tx) => {
    // Read here, where few uploads are in memory at once.
    const upload = fd === null ? null : await readWholeFile(fd);
    return createVoiceFile(tx, actor, { body, upload }, app.clock.now());
  });
  notifyJob(app, actor.account_id);
  return file;
}

export const voiceFileRoutes = [
  route({
    method: "GET",
    url: files,
    id: "listVoiceFiles",
    summary: "List voice files",
    tag,
    access: seeContent,
    query: closed({
      status: Type.Optional(
        Type.Enum(voice_file_statuses, {
          type: "string",
          description: "Only files with this status",
        }),
      ),
      ...pageQuery,
    }),
    success: { 200: pageOf(VoiceFileResponse) },
    handle: ({ app, caller, query }) =>
      searchOn({ ...query, limit: query.limit ?? 50 }, (list) =>
        listVoiceFiles(app.db.query, caller.account.id, list),
      ),
  }),
  route({
    method: "POST",
    url: files,
    id: "createVoiceFile",
    summary: "Create a voice file from an upload or a text; it is processed in the background",
    tag,
    access: manageContent,
    body: NewVoiceFile,
    form: VoiceFileUpload,
    success: { 201: VoiceFileResponse },
    parse: parseSource,
    validate: async ({ app, caller, body: { body, violations } }) =>
      mergeErrors(violations, await validateVoiceFile(app.db.query, caller.account.id, body)),
    handle: create,
  }),
  route({
    method: "GET",
    url: `${files}/:id`,
    id: "readVoiceFile",
    summary: "Read a voice file and its status",
    tag,
    access: seeContent,
    params,
    success: { 200: VoiceFileResponse },
    handle: ({ app, caller, params: { id } }) => readVoiceFile(app.db.query, caller.account.id, id),
  }),
  route({
    method: "GET",
    url: `${files}/:id/audio`,
    id: "readVoiceFileAudio",
    summary:
      "Download the audio of a voice file as WAV, or the range of bytes that a player asks for",
    tag,
    access: seeContent,
    params,
    success: { 200: { contentType: "audio/wav" }, 206: { contentType: "audio/wav" } },
    handle: async ({ app, caller, params: { id }, request, reply }) => {
      const wav = await findVoiceFileAudio(app.db.query, caller.account.id, id);
      return sendWav(request, reply, wav, `voice-file-${id}.wav`);
    },
  }),
  route({
    method: "PATCH",
    url: `${files}/:id`,
    id: "updateVoiceFile",
    summary: "Update a voice file; applies to campaigns launched from now on",
    tag,
    access: manageContent,
    params,
    body: VoiceFilePatch,
    success: { 200: VoiceFileResponse },
    validate: ({ app, caller, body }) => validateVoiceFile(app.db.query, caller.account.id, body),
    handle: ({ app, actor, params: { id }, body, write }) =>
      write((tx) => updateVoiceFile(tx, actor, id, body, app.clock.now())),
  }),
  route({
    method: "DELETE",
    url: `${files}/:id`,
    id: "deleteVoiceFile",
    summary: "Archive a voice file; campaigns that use it continue",
    tag,
    access: manageContent,
    params,
    success: { 204: Type.Null() },
    handle: async ({ app, actor, params: { id }, write }) => {
      await write((tx) => archiveVoiceFile(tx, actor, id, app.clock.now()));
    },
  }),
  route({
    method: "POST",
    url: "/api/v1/voice/speech/preview",
    id: "previewSpeech",
    summary: "Synthesize a text with a recipient's values as WAV, as a campaign would",
    tag,
    access: manageContent,
    body: SpeechPreview,
    success: { 200: { contentType: "audio/wav" } },
    handle: async ({ app, caller, body, reply }) => {
      const wav = await previewSpeech(app, caller.account.id, body);
      void reply.header("content-type", "audio/wav");
      return wav;
    },
  }),
];
