// What the model may ask of the call, and how it asks.
import { parseTime } from "../../../lib/parse-time.ts";
import type { AgentPlan, AgentTool } from "../driver.ts";

const value_characters_max = 500;

type ToolPlan = Pick<AgentPlan, "fields" | "may_transfer">;

/** The tools of a session, as the protocol describes functions. */
export function describeTools({ fields, may_transfer }: ToolPlan): readonly object[] {
  const tools = [
    describe("end_call", "Ends the call. Say goodbye first."),
    describe(
      "opt_out",
      "The caller does not want to be called again. Ends the call; confirm it to the caller first.",
    ),
    describe("schedule_callback", "The caller wants to be called again at another time.", {
      at: {
        type: "string",
        description: "ISO 8601 with an offset, such as 2026-01-31T09:30:00+05:30",
      },
    }),
  ];
  if (may_transfer) {
    const what = "Puts the caller through to a person. Say first that you will.";
    tools.push(describe("transfer_to_agent", what));
  }
  if (fields.length > 0) {
    const keys = fields.map(({ key }) => key);
    const what = `Notes what the caller answered: ${fields.map(({ key, question }) => `${key} (${question})`).join("; ")}`;
    tools.push(
      describe("set_lead_field", what, {
        field: { type: "string", enum: keys },
        value: { type: "string", maxLength: value_characters_max },
      }),
    );
  }
  return tools;
}

function describe(name: AgentTool["name"], description: string, properties: object = {}): object {
  const parameters = {
    type: "object",
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  };
  return { type: "function", name, description, parameters };
}

/** The tool that a function call asks for, or what is wrong with it, in words for the model. */
export function readTool(plan: ToolPlan, name: string, args: string): AgentTool | string {
  if (name === "end_call" || name === "opt_out") return { name };
  if (name === "transfer_to_agent")
    return plan.may_transfer ? { name } : "there is nobody to transfer to";
  const given = readArgs(args);
  if (given === null) return "the arguments are no JSON object";
  if (name === "set_lead_field") {
    const { field, value } = given;
    if (!plan.fields.some(({ key }) => key === field)) return "there is no such field";
    if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean")
      return "the value must be text";
    const text = String(value).toWellFormed().replaceAll("\0", "").trim();
    if (text === "" || text.length > value_characters_max)
      return `the value must have 1 to ${value_characters_max} characters`;
    return { name, field: String(field), value: text };
  }
  if (name === "schedule_callback") {
    const { at } = given;
    // Whose time zone would it be?
    if (typeof at !== "string" || !/(?:[Zz]|[+-]\d{2}:?\d{2})$/.test(at))
      return "at must be a time with an offset, such as 2026-01-31T09:30:00+05:30";
    const time = parseTime(at, "UTC");
    return typeof time === "string" ? `at ${time}` : { name, at };
  }
  return "there is no such function";
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
