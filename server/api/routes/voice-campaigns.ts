// Voice campaigns are launched here; what is read of them and done to them is in other files.
import { createVoiceCampaign, type CampaignOwner } from "../../voice/create-voice-campaign.ts";
import {
  NewVoiceCampaign,
  VoiceCampaignAnswer,
  VoiceCampaignUpload,
} from "../../voice/voice-campaign-schema.ts";
import type { AskedVoiceCampaign } from "../../voice/with-recipients.ts";
import type { FieldError } from "../../lib/errors.ts";
import { bodyOfForm, digestOfForm } from "../campaign-form.ts";
import { compileValidator } from "../compile-validator.ts";
import { fieldErrors } from "../field-errors.ts";
import { receiveUpload } from "../receive-upload.ts";
import { route, type Call } from "../route.ts";

const access = {
  feature: "voice",
  anyOf: ["voice.campaigns.create"],
  agent_denied: "permission-denied",
} as const;
const json_bytes_max = 16 * 1_048_576;

const isLaunch = compileValidator({ schema: NewVoiceCampaign, httpPart: "body" });

function shapeFaults(body: unknown): FieldError[] {
  return isLaunch(body) ? [] : fieldErrors(isLaunch.errors ?? []);
}

/** The parts of an upload; a list of numbers may be as long as in JSON. */
const parts = {
  file: "file",
  fields: Object.keys(NewVoiceCampaign.properties),
  fields_bytes_max: json_bytes_max,
  tells_faults: true,
} as const;

type Asked = Call<unknown, unknown, unknown>;

const ownerOf = ({ caller, actor }: Asked): CampaignOwner => ({
  account: caller.account,
  actor: { ...actor, user_id: caller.user_id },
});

/** Takes a launch in, in either form; one whose key was answered before goes no further. */
async function takeIn<Answer>(
  call: Asked,
  use: (asked: AskedVoiceCampaign) => Promise<Answer>,
): Promise<Answer | undefined> {
  const askedOf = (body: unknown, more: Omit<AskedVoiceCampaign, "body">): AskedVoiceCampaign => {
    const faults = [...more.faults, ...shapeFaults(body)];
    return { ...more, body: body as NewVoiceCampaign, faults };
  };
  if (!call.request.isMultipart())
    return use(askedOf(call.body, { faults: [], fd: null, is_form: false }));
  return receiveUpload(call.caller.account.id, call.request, parts, async (upload) => {
    const { fields, faults } = upload;
    const fd = upload.file?.fd ?? null;
    if (await call.keyedBy(await digestOfForm(fields, fd))) return undefined;
    const body = bodyOfForm(fields, NewVoiceCampaign);
    return use(askedOf(body, { faults, fd, is_form: true }));
  });
}

export const voiceCampaignRoutes = [
  route({
    method: "POST",
    url: "/api/v1/voice/voiceCampaign",
    id: "launchVoiceCampaign",
    summary: "Launch a voice campaign",
    tag: "Voice",
    access,
    body_bytes_max: json_bytes_max,
    body: NewVoiceCampaign,
    form: VoiceCampaignUpload,
    success: { 201: VoiceCampaignAnswer },
    handle: (call) =>
      takeIn(call, (asked) => createVoiceCampaign(call.app, ownerOf(call), call, asked)),
  }),
];
