// The queues of jobs, with the handler of each kind.
import { clearGroup } from "./audience/groups/clear-group.ts";
import { clearEndpoint } from "./callbacks/endpoints/clear-endpoint.ts";
import { replayEvents } from "./callbacks/replays/replay-events.ts";
import { endExpiredRestriction } from "./chat/inbound/end-restriction.ts";
import { notifyCall } from "./chat/single-messages/notify-call.ts";
import { endThrottling } from "./chat/numbers/end-throttling.ts";
import { wakeCampaigns } from "./chat/campaigns/wake-campaigns.ts";
import { repeatSkipDuplicates } from "./chat/campaigns/skip-duplicate-people.ts";
import { settleUnknown } from "./chat/campaigns/settle-unknown.ts";
import { startCampaign } from "./chat/campaigns/start-campaign.ts";
import { syncTemplatesDaily } from "./chat/templates/sync-templates.ts";
import { drainCampaign } from "./chat/campaigns/drain-campaign.ts";
import { recordCallOutcome } from "./crm/leads/record-call-outcome.ts";
import { recordMissedCall } from "./crm/leads/record-missed-call.ts";
import type { JobHandlers } from "./engine/work-jobs.ts";
import { erasePerson } from "./retention/erase-person.ts";
import { decodeFile } from "./voice/files/decode-file.ts";
import { startVoiceCampaign } from "./voice/campaigns/start-voice-campaign.ts";
import { endTestCall } from "./voice/campaigns/cancel-voice-campaign.ts";
import { drainVoiceCampaign } from "./voice/campaigns/drain-voice-campaign.ts";

type JobQueue = {
  readonly name: string;
  readonly handlers: JobHandlers;
  /** Jobs of the queue that run at once in this process, and those of one account. */
  readonly loops: number;
  readonly account_loops: number;
};

/** Long work and work that others wait for have queues of their own; one account never has all loops of one. */
export const job_queues: readonly JobQueue[] = [
  {
    name: "audio-jobs",
    loops: 2,
    account_loops: 1,
    handlers: { "voice.decode_file": decodeFile },
  },
  {
    name: "erasures",
    loops: 2,
    account_loops: 1,
    handlers: { "retention.erase_person": erasePerson },
  },
  {
    name: "campaign-jobs",
    loops: 2,
    account_loops: 1,
    handlers: {
      "chat.start_campaign": startCampaign,
      "voice.start_campaign": startVoiceCampaign,
      "voice.end_test_call": endTestCall,
      "chat.wake_campaigns": wakeCampaigns,
      "chat.end_throttling": endThrottling,
      "chat.end_restriction": endExpiredRestriction,
    },
  },
  {
    name: "jobs",
    loops: 4,
    account_loops: 2,
    handlers: {
      "chat.drain_campaign": drainCampaign,
      "chat.skip_duplicates": repeatSkipDuplicates,
      "chat.settle_unknown": settleUnknown,
      "chat.sync_templates": syncTemplatesDaily,
      "chat.notify_call": notifyCall,
      "voice.drain_campaign": drainVoiceCampaign,
      "crm.record_call": recordCallOutcome,
      "crm.record_missed_call": recordMissedCall,
      "callbacks.clear_endpoint": clearEndpoint,
      "audience.clear_group": clearGroup,
      "callbacks.replay": replayEvents,
    },
  },
];
