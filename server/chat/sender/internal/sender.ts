import type { ChatDriver } from "../../../drivers/chat/driver.ts";
import type { App } from "../../../engine/app.ts";
import type { Lease } from "../../../engine/leases.ts";
import type { FailureEffect } from "../../inbound/failure-effects.ts";
import type { MessagePlan } from "../../messages/message-plan.ts";
import type { Breaker } from "./breaker.ts";
import type { Result, SenderNumber, CampaignState } from "./sender-statements.ts";

export type SenderSettings = {
  /** Most requests of a number in flight, however high its rate. */
  readonly in_flight_max: number;
  /** How long to wait for an unknown outcome. */
  readonly settle_ms: number;
};

/** A running campaign in the sender's memory. */
export type CampaignWork = {
  readonly id: number;
  /** Null until the campaign's first batch: most campaigns of a number may be waiting. */
  plan: MessagePlan | null;
  breaker: Breaker;
  /** The provider required its marketing route, which is not stored yet. */
  marketing_required: boolean;
  latest: CampaignState;
  /** Queued recipients up to this ID have been taken. */
  after: number;
  /** Messages marked for this campaign and where it began, for fair sharing among the number's campaigns. */
  served: number;
  /** The last batch was smaller than requested: take nothing more until the next poll. */
  dry: boolean;
};

/** The sender of one number while it holds the lease. */
export type Sender = {
  readonly app: App;
  readonly lease: Lease;
  readonly number_id: number;
  readonly settings: SenderSettings;
  /** Shared with the next sender, which records what a lost lease left unrecorded. */
  readonly results: Result[];
  /** Not applied yet. */
  readonly effects: FailureEffect[];
  /** Recorded as deferred, but not checked for messages to their people under another address. */
  readonly deferred: Pick<Result, "campaign_id" | "id">[];
  readonly campaigns: Map<number, CampaignWork>;
  /** The most results of an iteration, less those long ago. */
  ended_lately: number;
  number: SenderNumber;
  /** Undefined when this process has no credentials for it. */
  driver: ChatDriver | undefined;
  /** Ends the wait: a result, a notification or a stop has arrived. */
  wake(): void;
};

const slow_number_in_flight = 250;

/**
 * Returns how many requests of the number may be in flight: a second's worth, so that slow responses
 * do not lower its rate.
 */
export function inFlightMax({ settings, number }: Pick<Sender, "settings" | "number">): number {
  return Math.min(settings.in_flight_max, Math.max(slow_number_in_flight, number.rate_per_second));
}
