// The tools that the model may call, and the validation of its calls.
import { parseTime } from "../../../lib/parse-time.ts";
import type { AiAgentPlan, AiAgentTool, CallbackTerms } from "../driver.ts";

const value_characters_max = 500;

type ToolPlan = Pick<AiAgentPlan, "fields" | "may_transfer">;

/** Describes the tools of a session as functions of the protocol. */
export function describeTools({ fields, may_transfer }: ToolPlan): readonly object[] {
  const tools = [
    describe("end_call", "Ends the call. Say goodbye first."),
    describe(
      "opt_out",
      "The caller does not want to be called again. Call it at once, before you answer; then confirm it and say goodbye. The call ends after that.",
    ),
    describe(
      "schedule_callback",
      "The caller wants to be called again at another time. Promise it only once this function has accepted the time.",
      {
        at: {
          type: "string",
          description: "ISO 8601 with an offset, such as 2026-01-31T09:30:00+05:30",
        },
      },
    ),
  ];
  if (may_transfer) {
    const description = "Puts the caller through to a person. Say first that you will.";
    tools.push(describe("transfer_to_agent", description));
  }
  if (fields.length > 0) {
    const keys = fields.map(({ key }) => key);
    const description = `Records the caller's answers: ${fields.map(({ key, question }) => `${key} (${question})`).join("; ")}`;
    tools.push(
      describe("set_lead_field", description, {
        field: { type: "string", enum: keys },
        value: { type: "string", maxLength: value_characters_max },
      }),
    );
  }
  return tools;
}

function describe(name: AiAgentTool["name"], description: string, properties: object = {}): object {
  const parameters = {
    type: "object",
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  };
  return { type: "function", name, description, parameters };
}

/** Returns the tool that a function call requests, or an error text for the model. */
export function readTool(
  plan: ToolPlan,
  callbacks: CallbackTerms,
  name: string,
  args: string,
): AiAgentTool | string {
  if (name === "end_call" || name === "opt_out") return { name };
  if (name === "transfer_to_agent")
    return plan.may_transfer ? { name } : "this call cannot be transferred";
  const given = readArgs(args);
  if (given === null) return "the arguments must be a JSON object";
  if (name === "set_lead_field") {
    const { field, value } = given;
    if (!plan.fields.some(({ key }) => key === field)) return "the field does not exist";
    if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean")
      return "the value must be text";
    const text = String(value).toWellFormed().replaceAll("\0", "").trim();
    if (text === "" || text.length > value_characters_max)
      return `the value must have 1 to ${value_characters_max} characters`;
    return { name, field: String(field), value: text };
  }
  if (name === "schedule_callback") {
    const { at } = given;
    // Without an offset, the time zone would be ambiguous.
    if (typeof at !== "string" || !/(?:[Zz]|[+-]\d{2}:?\d{2})$/.test(at))
      return "at must be a time with an offset, such as 2026-01-31T09:30:00+05:30";
    const time = parseTime(at, "UTC");
    if (typeof time === "string") return `at ${time}`;
    return callbacks.refuse(time) ?? { name, at };
  }
  return "the function does not exist";
}

function readArgs(args: string): Readonly<Record<string, unknown>> | null {
  try {
    const given: unknown = JSON.parse(args);
    const isObject = typeof given === "object" && given !== null && !Array.isArray(given);
    return isObject ? (given as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
