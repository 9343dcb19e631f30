import type { ChatDriver } from "../../../drivers/chat/driver.ts";
import type { App } from "../../../engine/app.ts";
import type { Lease } from "../../../engine/leases.ts";
import type { HoldReason, HoldScope } from "../../holds/holds.ts";
import type { MessagePlan } from "../../messages/message-plan.ts";
import type { Breaker } from "./breaker.ts";
import type { Result, SenderNumber, Survey } from "./sender-statements.ts";

export type SenderSettings = {
  /** Requests of one number under way at once. */
  readonly in_flight_max: number;
  /** How long an unknown outcome is waited for before it is given up. */
  readonly settle_ms: number;
};

/** One running campaign, as its number's sender knows it. */
export type CampaignWork = {
  readonly id: number;
  readonly plan: MessagePlan;
  breaker: Breaker;
  /** Messages take the provider's marketing route. */
  marketing: boolean;
  latest: Survey;
  /** Queued recipients up to this id are gone. */
  after: number;
  /** Messages marked for it, as it compares with the number's other campaigns. */
  served: number;
  /** A turn found less than it asked for: nothing more until the next survey. */
  dry: boolean;
};

/** What an outcome asks for beyond its recipient. */
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

/** The sender of one number, as long as it has the lease. */
export type Sender = {
  readonly app: App;
  readonly lease: Lease;
  readonly number_id: number;
  readonly settings: SenderSettings;
  /** Outlives this sender: what a lost lease kept from being recorded is recorded by the next one. */
  readonly results: Result[];
  readonly effects: Effect[];
  readonly campaigns: Map<number, CampaignWork>;
  number: SenderNumber;
  /** Absent where this process has no credentials for it. */
  driver: ChatDriver | undefined;
  /** Something is to be looked at: a result, a notification, a stop. */
  wake(): void;
};
