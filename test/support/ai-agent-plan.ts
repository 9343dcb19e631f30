import type { AiAgentPlan } from "../../server/drivers/ai-agent/driver.ts";

/** A realtime AI agent that only talks. */
export const talking_agent: AiAgentPlan = {
  driver: "realtime",
  language: "en",
  greeting: "Hello",
  instructions: "You sell tea.",
  model: null,
  voice: null,
  rules: [],
  fallback: "",
  closing: "",
  fields: [],
  may_transfer: false,
  silence_seconds: 100,
  max_seconds: 600,
};
