import Type from "typebox";
import { searchOn } from "../../../lib/database/cursor.ts";
import { createEndpoint } from "../../../callbacks/endpoints/create-endpoint.ts";
import { deleteEndpoint } from "../../../callbacks/endpoints/delete-endpoint.ts";
import {
  CreatedEndpoint,
  EndpointResponse,
  endpointFilter,
  EndpointPatch,
  EndpointSecret,
  NewEndpoint,
  RotatedEndpoint,
  SentTest,
} from "../../../callbacks/endpoints/endpoint-schema.ts";
import { listEndpoints, readEndpoint } from "../../../callbacks/endpoints/endpoints.ts";
import { validateVisible } from "../../../callbacks/endpoints/hidden-types.ts";
import { validateEndpoint } from "../../../callbacks/endpoints/validate-endpoint.ts";
import { readSecret } from "../../../callbacks/endpoints/read-secret.ts";
import { rotateSecret } from "../../../callbacks/endpoints/rotate-secret.ts";
import { sendTestEvent } from "../../../callbacks/endpoints/send-test-event.ts";
import { updateEndpoint } from "../../../callbacks/endpoints/update-endpoint.ts";
import { notifyJob } from "../../../engine/add-job.ts";
import { eventCatalogue } from "../../../engine/event-catalogue.ts";
import { closed, pageOf, pageQuery, pathId } from "../../../lib/schemas.ts";
import { route, type Access } from "../../route.ts";
import { showSecretOnce } from "../shared/show-secret-once.ts";

const endpoints = "/api/v1/callbacks/endpoints";
const endpoint = `${endpoints}/:id`;
const tag = "Callbacks";
const see: Access = { anyOf: ["callbacks.read", "callbacks.manage"] };
const manage: Access = { anyOf: ["callbacks.manage"] };
const params = closed({ id: pathId("The endpoint") });

const EventTypes = Type.Object(
  {
    data: Type.Array(
      Type.Object({ type: Type.String(), summary: Type.String() }, { title: "EventType" }),
    ),
  },
  { title: "EventTypeList" },
);

const readRoutes = [
  route({
    method: "GET",
    url: "/api/v1/callbacks/event-types",
    id: "listEventTypes",
    summary: "List the event types that endpoints can subscribe to",
    tag,
    access: see,
    success: { 200: EventTypes },
    handle: async () => ({
      data: Object.entries(eventCatalogue).map(([type, { summary }]) => ({ type, summary })),
    }),
  }),
  route({
    method: "GET",
    url: endpoints,
    id: "listCallbackEndpoints",
    summary: "List callback endpoints, without their secrets",
    tag,
    access: see,
    query: closed({ ...endpointFilter, ...pageQuery }),
    success: { 200: pageOf(EndpointResponse) },
    handle: ({ app, caller, query }) => {
      const { limit = 50, cursor, ...filter } = query;
      return searchOn({ limit, cursor }, (at) =>
        listEndpoints(app.db.query, caller.account.id, filter, at),
      );
    },
  }),
  route({
    method: "GET",
    url: endpoint,
    id: "readCallbackEndpoint",
    summary: "Read a callback endpoint, without its secret",
    tag,
    access: see,
    params,
    success: { 200: EndpointResponse },
    handle: ({ app, caller, params: { id } }) => readEndpoint(app.db.query, caller.account.id, id),
  }),
];

const writeRoutes = [
  route({
    method: "POST",
    url: endpoints,
    id: "createCallbackEndpoint",
    summary: "Create a callback endpoint; the response contains its secret",
    tag,
    access: manage,
    body: NewEndpoint,
    success: { 201: CreatedEndpoint },
    validate: ({ app, caller, body }) => [
      ...validateEndpoint(app, body),
      ...validateVisible(caller.permissions, body),
    ],
    handle: (context) =>
      showSecretOnce(context, "secret", (tx) =>
        createEndpoint(
          tx,
          context.actor,
          context.body,
          context.app.clock.now(),
          context.app.secrets,
        ),
      ),
  }),
  route({
    method: "PATCH",
    url: endpoint,
    id: "updateCallbackEndpoint",
    summary: "Change, disable or enable a callback endpoint",
    tag,
    access: manage,
    params,
    body: EndpointPatch,
    success: { 200: EndpointResponse },
    validate: ({ app, body }) => validateEndpoint(app, body),
    handle: async ({ app, caller, actor, params: { id }, body, write }) => {
      const { permissions } = caller;
      const answer = await write((tx) =>
        updateEndpoint(tx, { actor, permissions }, id, body, app.clock.now()),
      );
      app.notifications.send("callback_work", String(caller.account.id));
      return answer;
    },
  }),
  route({
    method: "DELETE",
    url: endpoint,
    id: "deleteCallbackEndpoint",
    summary: "Delete a callback endpoint with its deliveries",
    tag,
    access: manage,
    params,
    success: { 204: Type.Null() },
    handle: async ({ app, caller, actor, params: { id }, write }) => {
      await write((tx) => deleteEndpoint(tx, actor, id, app.clock.now()));
      app.notifications.send("callback_work", String(caller.account.id));
      notifyJob(app, caller.account.id);
    },
  }),
  route({
    method: "POST",
    url: `${endpoint}/test`,
    id: "sendTestCallback",
    summary: "Send a test event to an endpoint",
    tag,
    access: manage,
    params,
    success: { 202: SentTest },
    handle: ({ app, actor, params: { id }, write }) =>
      write((tx) => sendTestEvent(tx, actor, id, app.clock.now())),
  }),
];

const secretRoutes = [
  route({
    method: "GET",
    url: `${endpoint}/secret`,
    id: "readCallbackSecret",
    summary: "Read the secret that signs the callbacks to an endpoint",
    tag,
    access: manage,
    params,
    success: { 200: EndpointSecret },
    handle: ({ app, actor, params: { id }, write }) =>
      write((tx) => readSecret(tx, actor, id, app.clock.now(), app.secrets)),
  }),
  route({
    method: "POST",
    url: `${endpoint}/rotate`,
    id: "rotateCallbackSecret",
    summary: "Rotate an endpoint's secret; the old one also signs for 24 hours",
    tag,
    access: manage,
    params,
    success: { 200: RotatedEndpoint },
    handle: (context) =>
      showSecretOnce(context, "secret", (tx) =>
        rotateSecret(
          tx,
          context.actor,
          context.params.id,
          context.app.clock.now(),
          context.app.secrets,
        ),
      ),
  }),
];

export const callbackEndpointRoutes = [...readRoutes, ...writeRoutes, ...secretRoutes];
