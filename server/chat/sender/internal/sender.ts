import type { ChatDriver } from "../../../drivers/chat/driver.ts";
import type { App } from "../../../engine/app.ts";
import type { Lease } from "../../../engine/leases.ts";
import type { HoldReason, HoldScope } from "../../holds/holds.ts";
import type { MessagePlan } from "../../messages/message-plan.ts";
import type { Breaker } from "./breaker.ts";
import type { Result, SenderNumber, CampaignState } from "./sender-statements.ts";

export type SenderSettings = {
  /** Most requests of one number in flight. */
  readonly in_flight_max: number;
  /** How long to wait for an unknown outcome. */
  readonly settle_ms: number;
};

/** A running campaign in the sender's memory. */
export type CampaignWork = {
  readonly id: number;
  readonly plan: MessagePlan;
  breaker: Breaker;
  /** Messages take the provider's marketing route. */
  marketing: boolean;
  latest: CampaignState;
  /** Queued recipients up to this ID have been taken. */
  after: number;
  /** Messages marked for this campaign, for fair sharing among the number's campaigns. */
  served: number;
  /** The last batch was smaller than requested: take nothing more until the next poll. */
  dry: boolean;
};

/** An effect of an outcome beyond its recipient. */
export type Effect =
  | {
      readonly kind: "hold";
      readonly scope: HoldScope;
      readonly subject_id: number;
      readonly reason: HoldReason;
      readonly detail: string | null;
    }
  | { readonly kind: "fail_campaign"; readonly campaign_id: number; readonly failure: string }
  | { readonly kind: "suppress"; readonly phone: string };

/** The sender of one number while it holds the lease. */
export type Sender = {
  readonly app: App;
  readonly lease: Lease;
  readonly number_id: number;
  readonly settings: SenderSettings;
  /** Shared with the next sender, which records what a lost lease left unrecorded. */
  readonly results: Result[];
  readonly effects: Effect[];
  readonly campaigns: Map<number, CampaignWork>;
  number: SenderNumber;
  /** Undefined when this process has no credentials for it. */
  driver: ChatDriver | undefined;
  /** Ends the wait: a result, a notification or a stop has arrived. */
  wake(): void;
};
