import Type from "typebox";
import {
  FailureCount,
  minutesQuery,
} from "../../../audience/recipients/campaign-figures-schema.ts";
import { closed } from "../../../lib/schemas.ts";
import {
  countFailures,
  pace_minutes_max,
  readPace,
  VoiceMinute,
} from "../../../voice/campaigns/campaign-pace.ts";
import { findCampaignKey } from "../../../voice/campaigns/find-campaign-key.ts";
import { route, type Access } from "../../route.ts";
import { minutesBefore } from "../shared/time-range.ts";

const campaign = "/api/v1/voice/campaigns/:id";
const tag = "Voice";
const access: Access = {
  features: ["voice"],
  anyOf: ["voice.campaigns.read", "voice.campaigns.manage"],
};
const params = closed({
  id: Type.String({ maxLength: 64, description: "The id or campaignId of the launch" }),
});

export const voiceCampaignPaceRoutes = [
  route({
    method: "GET",
    url: `${campaign}/failures`,
    id: "readVoiceCampaignFailures",
    summary: "Count a campaign's recipients that were not reached by reason",
    description:
      "Recipients that failed or were skipped are counted among the 10,000 last ones, and so are those that were busy or declined; no_answer and suppressed exactly.",
    tag,
    access,
    params,
    success: { 200: Type.Object({ data: Type.Array(FailureCount) }) },
    handle: async ({ app, caller, params: { id } }) => {
      const key = await findCampaignKey(app.db.query, caller.account.id, id);
      return { data: await countFailures(app.db.query, key) };
    },
  }),
  route({
    method: "GET",
    url: `${campaign}/pace`,
    id: "readVoiceCampaignPace",
    summary:
      "Read how many calls a campaign placed in each of the last minutes; minutes without calls are left out",
    tag,
    access,
    params,
    query: closed({ minutes: minutesQuery(pace_minutes_max) }),
    success: { 200: Type.Object({ data: Type.Array(VoiceMinute) }) },
    handle: async ({ app, caller, params: { id }, query: { minutes = 60 } }) => {
      const key = await findCampaignKey(app.db.query, caller.account.id, id);
      const from = minutesBefore(app.clock.now(), minutes);
      return { data: await readPace(app.db.query, key, from) };
    },
  }),
];
