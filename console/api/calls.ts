import type { Sent } from "./answer.ts";
import { api, body } from "./client.ts";
import { keyed } from "./keyed.ts";
import { ApiProblem } from "./problem.ts";

/** Rings the agent and then, once the agent has answered, the customer. Returns the ID that its attempts share. */
export async function placeCall(call: Sent<"clickToCall">, key: string): Promise<number> {
  try {
    const { data } = await body(
      api.POST("/api/v1/clickToCallApis/clickToCall", { params: keyed(key), body: call }),
    );
    return data.campaignId;
  } catch (error) {
    throw error instanceof ApiProblem ? withFields(error) : error;
  }
}

/** Its errors name the fields in the message: `from_number: is required; cli_number: …` (contract 7.2). */
function withFields({ status, type, message, request_id }: ApiProblem): ApiProblem {
  const errors = Array.from(message.matchAll(/(\w+): ([^;]+)/g), ([, field, reason]) => ({
    field: field!,
    reason: reason!,
  }));
  return new ApiProblem(status, type, message, { errors, request_id });
}
