// The request and response of a click-to-call (contract 2.4 and 4.4).
import Type, { type Static } from "typebox";
import { closed, id, optional, phone10 } from "../../lib/schemas.ts";

/** What happens when the agent does not answer (contract 4.4 agent_not_pick_policy). */
export const noPickPolicies = [
  "hangup",
  "next_in_group",
  "ring_all",
  "round_robin",
  "longest_idle",
  "retry_agent",
] as const;
export type NoPickPolicy = (typeof noPickPolicies)[number];

/** Ten years. */
export const auto_block_minutes_max = 5_256_000;
export const auto_block_reason = `must be minutes, in digits, at most ${auto_block_minutes_max}`;

/** An optional text without a format of its own, where empty means omitted. */
const text = (maxLength: number, description: string, example: string) =>
  optional(Type.String({ maxLength, description, examples: [example] }));

const retries = (description: string) =>
  optional(Type.Integer({ minimum: 1, maximum: 3, description, examples: [2] }));

const digit = (description: string) =>
  optional(
    Type.String({
      pattern: "^[0-9]$",
      description,
      examples: ["1"],
      "x-reason": "must be exactly 1 digit",
    }),
  );

const groupId = (description: string) =>
  optional(
    Type.String({
      pattern: "^[0-9]{0,19}$",
      description,
      examples: ["1"],
      "x-reason": "must be the ID of a group, in digits",
    }),
  );

/** The body of a click-to-call (contract 4.4). Null means omitted. */
export const NewClickToCall = closed(
  {
    to_number: phone10("The customer, called after the agent answers"),
    from_number: Type.String({
      maxLength: 40,
      description:
        "The agent, called first: an extension (2 to 6 digits), or a phone number (10 digits, or + and the country code)",
      examples: ["101", "9876500001", "+91 98765 00001"],
    }),
    cli_number: optional(phone10("The caller ID that the customer sees")),
    source: text(255, "Where the call comes from", "crm"),
    agent_not_pick_group: groupId("Agent group that is rung when the agent does not answer"),
    agent_not_pick_policy: text(
      255,
      `The policy when the agent does not answer: ${noPickPolicies.join(", ")}. Omitted or unknown: next_in_group with a group, hangup without`,
      "ring_all",
    ),
    max_retry: retries("Automatic retries of the call; omitted: none"),
    retry_after: optional(
      Type.Integer({
        minimum: 0,
        maximum: 1_440,
        description: "Minutes before each automatic retry, at least one also with 0; omitted: 5",
        examples: [5],
      }),
    ),
    customer_retry_count: retries("Manual retries of the customer; omitted: 3"),
    agent_retry_count: retries("Manual retries of the agent; omitted: 3"),
    extension_for_transfer: digit(
      "The key that transfers the customer to its extension when the agent presses * and this key",
    ),
    extension_for_dis: digit(
      "The key that transfers the customer to its extension when the customer presses it",
    ),
    schedulled_at: optional(
      Type.String({
        maxLength: 64,
        description:
          "When to place the call (ISO 8601; without an offset, in the account's time zone). Omitted, null or empty: now",
        examples: ["2099-01-31T09:30:00Z"],
      }),
    ),
    enable_chat: text(
      255,
      "Sends the customer the account's chat notification, unless empty, 0, false or no",
      "1",
    ),
    from_group_id: groupId(
      "The agent group of from_number, which rings if it is a free member; otherwise the longest idle member rings",
    ),
    to_group_id: groupId("The customer's group"),
    auto_block_time: optional(
      Type.String({
        pattern: "^[0-9]*$",
        maxLength: 64,
        description: `Minutes for which the customer is not called again after the call, at most ${auto_block_minutes_max}`,
        examples: ["60"],
        "x-reason": auto_block_reason,
      }),
    ),
    remark: text(2_000, "A note for the call record", "Asked for a call back"),
    reference: text(255, "Your own ID of the call, for the call record", "order-1017"),
    callback_method: optional(
      Type.String({
        pattern: "^(?:[Gg][Ee][Tt]|[Pp][Oo][Ss][Tt]|[Pp][Uu][Tt])?$",
        description: "The HTTP method of this call's callbacks: GET, POST or PUT",
        examples: ["POST"],
        "x-reason": "must be GET, POST or PUT",
      }),
    ),
  },
  {
    title: "NewClickToCall",
    description: "A call to place: the agent first, then the customer",
    examples: [{ to_number: "9876543210", from_number: "101", reference: "order-1017" }],
  },
);
export type NewClickToCall = Static<typeof NewClickToCall>;

/** The response to a submitted call (contract 2.4). */
export const ClickToCallResponse = Type.Object(
  {
    status: Type.Literal(200),
    message: Type.Literal("Campaign Submitted Successfully"),
    data: Type.Object({
      campaignId: id("The ID that all attempts of the call share, retries included"),
    }),
  },
  { title: "ClickToCallSubmission" },
);
export type ClickToCallResponse = Static<typeof ClickToCallResponse>;

/** Every error of the endpoint (contract 7.2). */
export const ClickToCallError = Type.Object(
  {
    status: Type.Integer({ description: "The HTTP status" }),
    message: Type.String({ description: "What is wrong; for fields, each with its reason" }),
  },
  { title: "ClickToCallError" },
);
