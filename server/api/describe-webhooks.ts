// Describes the requests to callback endpoints for the OpenAPI document.
import { eventCatalogue } from "../engine/event-catalogue.ts";

const header = (name: string, description: string) => ({
  name,
  in: "header",
  required: true,
  description,
  schema: { type: "string" },
});

const parameters = [
  header(
    "webhook-id",
    "The same on every retry and replay of an event; use it to ignore duplicates",
  ),
  header("webhook-timestamp", "Time of the attempt, in Unix seconds"),
  header(
    "webhook-signature",
    "`v1,` and the base64 HMAC-SHA256 of `id.timestamp.body` under the endpoint's secret; after a rotation, two signatures separated by a space",
  ),
];

const responses = {
  "2XX": { description: "Delivered" },
  "410": { description: "Gone: the endpoint is disabled" },
  default: {
    description:
      "Failed: the request is retried, up to 8 attempts in total. Redirects are not followed",
  },
};

/** Returns an entry for each type of event, by its type. */
export function describeWebhooks(): Record<string, object> {
  return Object.fromEntries(
    Object.entries(eventCatalogue).map(([type, { summary, data }]) => {
      const schema = {
        title: `${pascalCase(type)}Event`,
        type: "object",
        required: ["type", "timestamp", "data"],
        properties: {
          type: { const: type },
          timestamp: {
            type: "string",
            format: "date-time",
            description: "When the event occurred",
          },
          data: payloadOf(data),
        },
      };
      const content = { "application/json": { schema } };
      const post = {
        summary,
        tags: ["Callbacks"],
        security: [],
        parameters,
        requestBody: { required: true, content },
        responses,
      };
      return [type, { post }];
    }),
  );
}

/** `call.recording.ready` becomes CallRecordingReady. */
function pascalCase(type: string): string {
  return type.replaceAll(/(?:^|[._])(\w)/g, (_, first: string) => first.toUpperCase());
}

const omitted = {
  type: "array",
  items: { type: "string" },
  description: "Fields that were omitted because the body would have had 20,000 bytes or more",
};

function payloadOf({ properties, required }: { properties: object; required: readonly string[] }) {
  const anyOf = [{ required }, { required: ["omitted"] }];
  return { type: "object", properties: { ...properties, omitted }, anyOf };
}
