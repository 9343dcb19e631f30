// What the service sends to callback endpoints, for the OpenAPI document.
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
    "The same on every retry and replay: what was taken once can be passed over",
  ),
  header("webhook-timestamp", "Unix seconds of the attempt"),
  header(
    "webhook-signature",
    "`v1,` and the base64 HMAC-SHA256 of `id.timestamp.body` by the endpoint's secret; for a while two of them, separated by a space",
  ),
];

const responses = {
  "2XX": { description: "Taken" },
  "410": { description: "Nothing more is wanted: the endpoint is disabled" },
  default: {
    description: "Not taken: it is sent again, up to 8 times in all. Redirects are not followed",
  },
};

/** One entry for each type of event, by its type. */
export function describeWebhooks(): Record<string, object> {
  return Object.fromEntries(
    Object.entries(eventCatalogue).map(([type, { summary, data }]) => {
      const schema = {
        type: "object",
        required: ["type", "timestamp", "data"],
        properties: {
          type: { const: type },
          timestamp: { type: "string", format: "date-time", description: "When it happened" },
          data: toldOf(data),
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

const omitted = {
  type: "array",
  items: { type: "string" },
  description: "Fields that are left out, because the body would have had 20,000 bytes or more",
};

function toldOf({ properties, required }: { properties: object; required: readonly string[] }) {
  const anyOf = [{ required }, { required: ["omitted"] }];
  return { type: "object", properties: { ...properties, omitted }, anyOf };
}
