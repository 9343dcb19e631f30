import Type from "typebox";
import { notifyJob } from "../../engine/add-job.ts";
import { invalid, type FieldError } from "../../lib/errors.ts";
import { readWholeFile } from "../../lib/read-whole-file.ts";
import { closed, pageOf, pageQuery, pathId } from "../../lib/schemas.ts";
import { archiveVoiceFile } from "../../voice/files/archive-voice-file.ts";
import { createVoiceFile } from "../../voice/files/create-voice-file.ts";
import { validateSource, validateVoiceFile } from "../../voice/files/validate-voice-file.ts";
import { updateVoiceFile } from "../../voice/files/update-voice-file.ts";
import {
  NewVoiceFile,
  upload_bytes_max,
  voice_file_statuses,
  VoiceFileAnswer,
  VoiceFilePatch,
  VoiceFileUpload,
} from "../../voice/files/voice-file-schema.ts";
import {
  listVoiceFiles,
  readVoiceFile,
  readVoiceFileAudio,
} from "../../voice/files/voice-files.ts";
import { bodyOfForm, digestOfForm } from "../campaign-form.ts";
import { compileValidator } from "../compile-validator.ts";
import { fieldErrors } from "../field-errors.ts";
import { receiveUpload } from "../receive-upload.ts";
import { route, type Access, type Call } from "../route.ts";

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
  tells_violations: true,
} as const;
const isBody = compileValidator({ schema: NewVoiceFile, httpPart: "body" });
const isForm = compileValidator({ schema: FormBody, httpPart: "body" });
/** An upload takes its time to the disk. */
const statement_seconds = 60;

type Asked = Call<unknown, unknown, unknown>;

/** Creates it of either form; one whose key was answered before goes no further. */
function takeIn(call: Asked): Promise<VoiceFileAnswer | undefined> {
  const { request, caller } = call;
  if (!request.isMultipart()) {
    const shape = isBody(call.body) ? [] : fieldErrors(isBody.errors ?? []);
    return create(call, call.body, [...shape, ...validateSource(call.body)], null);
  }
  return receiveUpload(caller.account.id, request, parts, async ({ fields, file, violations }) => {
    const fd = file?.fd ?? null;
    if (await call.keyedBy(await digestOfForm(fields, fd))) return undefined;
    const body = bodyOfForm(fields, FormBody);
    const shape = isForm(body) ? [] : fieldErrors(isForm.errors ?? []);
    const missing = fd === null ? [{ field: "file", reason: "is required" }] : [];
    return create(call, body, [...violations, ...missing, ...shape], fd);
  });
}

async function create(
  { app, caller, actor, writeWithClient }: Asked,
  body: unknown,
  told: readonly FieldError[],
  fd: number | null,
): Promise<VoiceFileAnswer> {
  const validated = await validateVoiceFile(app.db.query, caller.account.id, body);
  const failing = new Set(told.map(({ field }) => field));
  const violations = [...told, ...validated.filter(({ field }) => !failing.has(field))];
  if (violations.length > 0) throw invalid(violations);
  const by = { ...actor, user_id: caller.user_id };
  const made = await writeWithClient(statement_seconds, async (tx) => {
    const source = {
      body: body as NewVoiceFile,
      // Read here, where few are at it at once.
      upload: fd === null ? null : await readWholeFile(fd),
    };
    return createVoiceFile(tx, by, source, app.clock.now());
  });
  notifyJob(app, caller.account.id);
  return made;
}

export const voiceFileRoutes = [
  route({
    method: "GET",
    url: files,
    id: "listVoiceFiles",
    summary: "List the voice files that campaigns may play",
    tag,
    access: seeContent,
    query: closed({
      status: Type.Optional(
        Type.Enum(voice_file_statuses, { type: "string", description: "Only these" }),
      ),
      ...pageQuery,
    }),
    success: { 200: pageOf(VoiceFileAnswer) },
    handle: ({ app, caller, query }) => listVoiceFiles(app.db.query, caller.account.id, query),
  }),
  route({
    method: "POST",
    url: files,
    id: "createVoiceFile",
    summary: "Upload a voice file, or have a text spoken; it is ready a little later",
    tag,
    access: manageContent,
    body: NewVoiceFile,
    form: VoiceFileUpload,
    success: { 201: VoiceFileAnswer },
    handle: (call) => takeIn(call),
  }),
  route({
    method: "GET",
    url: `${files}/:id`,
    id: "readVoiceFile",
    summary: "Read a voice file and whether it is ready",
    tag,
    access: seeContent,
    params,
    success: { 200: VoiceFileAnswer },
    handle: ({ app, caller, params: { id } }) => readVoiceFile(app.db.query, caller.account.id, id),
  }),
  route({
    method: "GET",
    url: `${files}/:id/audio`,
    id: "readVoiceFileAudio",
    summary: "Download what a voice file sounds like on calls",
    tag,
    access: seeContent,
    params,
    success: { 200: { contentType: "audio/wav" } },
    handle: async ({ app, caller, params: { id }, reply }) => {
      const wav = await readVoiceFileAudio(app.db.query, caller.account.id, id);
      void reply.header("content-type", "audio/wav");
      void reply.header("content-disposition", `attachment; filename="voice-file-${id}.wav"`);
      return wav;
    },
  }),
  route({
    method: "PATCH",
    url: `${files}/:id`,
    id: "updateVoiceFile",
    summary: "Change what belongs to a voice file, for campaigns launched from now on",
    tag,
    access: manageContent,
    params,
    body: VoiceFilePatch,
    success: { 200: VoiceFileAnswer },
    validate: ({ app, caller, body }) => validateVoiceFile(app.db.query, caller.account.id, body),
    handle: ({ app, actor, params: { id }, body, write }) =>
      write((tx) => updateVoiceFile(tx, actor, id, body, app.clock.now())),
  }),
  route({
    method: "DELETE",
    url: `${files}/:id`,
    id: "deleteVoiceFile",
    summary: "Archive a voice file; campaigns that have it go on",
    tag,
    access: manageContent,
    params,
    success: { 204: Type.Null() },
    handle: async ({ app, actor, params: { id }, write }) => {
      await write((tx) => archiveVoiceFile(tx, actor, id, app.clock.now()));
    },
  }),
];
