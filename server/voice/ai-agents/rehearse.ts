// Compares what an AI agent does in its rehearsals with what is expected of it.
import { isDeepStrictEqual } from "node:util";
import { fillAiAgentPlan } from "../../calls/state-machine/fill-ai-agent-plan.ts";
import type { AiAgentDrivers, AiAgentEvent } from "../../drivers/ai-agent/driver.ts";
import type { FieldError } from "../../lib/errors.ts";
import { closed } from "../../lib/schemas.ts";
import { fieldsOf } from "../files/validate-content.ts";
import { storedAiAgent } from "./ai-agent-schema.ts";
import { TriedAiAgent } from "./talk-schema.ts";
import {
  expectations,
  type Actual,
  type Rehearsal,
  type RehearsalResult,
  type RehearsalResults,
} from "./rehearsal-schema.ts";

/** An AI agent, saved or not, with its rehearsals. */
export const RehearsedAiAgent = closed(TriedAiAgent.properties, {
  title: "RehearsedAiAgent",
  description: "An AI agent, saved or not, with its rehearsals",
  examples: [
    {
      greeting: "Hello {{name|there}}.",
      rehearsals: [
        {
          name: "A greeting is all it says",
          steps: [{ wait_seconds: 3 }],
          expect: { outcome: "listening", says: ["Hello there."] },
        },
      ],
    },
  ],
});

/**
 * Holds the rehearsals of an AI agent that validateAiAgent and validateRehearsed accepted. Nothing is stored, and no call
 * is placed.
 */
export async function rehearse(
  drivers: AiAgentDrivers,
  agent: TriedAiAgent,
): Promise<RehearsalResults> {
  const { plan, rehearsals } = storedAiAgent(agent);
  const hold: Hold = ({ variables, steps }) =>
    drivers[plan.driver]!.rehearse!(fillAiAgentPlan(plan, variables ?? {}), steps);
  const data: RehearsalResult[] = [];
  for (const rehearsal of rehearsals) data.push(await resultOf(hold, rehearsal));
  return { passed: data.every(({ passed }) => passed !== false), data };
}

/** Refuses what cannot be rehearsed; the body may have any shape. */
export function validateRehearsed(drivers: AiAgentDrivers, body: unknown): FieldError[] {
  if (fieldsOf(body)?.["driver"] !== "realtime" || drivers.realtime?.rehearse) return [];
  return [{ field: "driver", reason: "must be scripted: a model never says the same twice" }];
}

type Hold = (rehearsal: Rehearsal) => Promise<readonly AiAgentEvent[]>;

async function resultOf(hold: Hold, rehearsal: Rehearsal): Promise<RehearsalResult> {
  const events = await hold(rehearsal);
  const actual = factsOf(events);
  const expected = rehearsal.expect ?? {};
  const compared = expectations.filter((fact) => (expected[fact] ?? null) !== null);
  const differences = compared.filter((fact) => !isDeepStrictEqual(expected[fact], actual[fact]));
  return {
    name: rehearsal.name,
    passed: compared.length === 0 ? null : differences.length === 0,
    differences,
    actual,
    transcript: events.filter((event) => event.type === "said"),
  };
}

function factsOf(events: readonly AiAgentEvent[]): Actual {
  const facts: Actual = { outcome: "listening", says: [], fields: {}, opted_out: false };
  for (const event of events) {
    if (event.type === "said" && event.who === "agent") facts.says.push(event.text);
    else if (event.type === "over") facts.outcome = event.reason;
    else if (event.type === "tool")
      switch (event.tool.name) {
        case "end_call":
          facts.outcome = "ended";
          break;
        case "transfer_to_agent":
          facts.outcome = "transferred";
          break;
        case "opt_out":
          facts.opted_out = true;
          break;
        case "set_lead_field":
          facts.fields[event.tool.field] = event.tool.value;
          break;
        case "schedule_callback":
          break;
      }
  }
  return facts;
}
