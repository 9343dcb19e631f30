// The rows of routes for chat numbers, templates, flows and holds.
import type { Permission } from "../../server/accounts/permissions.ts";
import { unique } from "../support/account-factory.ts";
import type { RouteRow } from "./route-rows.ts";
import type { Ids } from "./seed-ids.ts";

const chat = "/api/v1/chat";
const automation = "/api/v1/automation-flows";

const row = (may: readonly Permission[], request: RouteRow["request"]): RouteRow => ({
  features: ["bulk_chat"],
  may,
  request,
});
const see = (request: RouteRow["request"]) =>
  row(["chat.read", "chat.campaigns.create", "chat.manage"], request);
const manage = (request: RouteRow["request"]) => row(["chat.manage"], request);

const numberOf = (ids: Ids) => `${chat}/numbers/${ids.free_chat_number_id}`;
const templateOf = (ids: Ids) => `${chat}/templates/${ids.free_template_id}`;
const flowOf = (ids: Ids) => `${chat}/flows/${ids.chat_flow_id}`;
const automationOf = (ids: Ids) => `${automation}/${ids.automation_flow_id}`;

const numbers: Record<string, RouteRow> = {
  listChatNumbers: see(() => ({ path: `${chat}/numbers?limit=2` })),
  createChatNumber: manage(() => ({
    path: `${chat}/numbers`,
    json: {
      name: unique("number"),
      phone_number: "+91 98765 43210",
      driver: "sandbox",
      rate_per_second: 80,
    },
  })),
  readChatNumber: see((ids) => ({ path: numberOf(ids) })),
  updateChatNumber: manage((ids) => ({
    path: numberOf(ids),
    json: { name: unique("number"), rate_per_second: 100, active: false },
  })),
  deleteChatNumber: manage((ids) => ({ path: numberOf(ids) })),
  syncChatNumber: manage((ids) => ({ path: `${numberOf(ids)}/sync` })),
  uploadChatMedia: manage((ids) => ({ path: `${numberOf(ids)}/media`, form: mediaForm() })),
};

function mediaForm(): FormData {
  const form = new FormData();
  form.set("file", new Blob(["%PDF-1.7\n"], { type: "application/pdf" }), "a.pdf");
  return form;
}

const templates: Record<string, RouteRow> = {
  listChatTemplates: see(() => ({
    path: `${chat}/templates?limit=2&status=APPROVED&category=UTILITY&language=en&q=greet`,
  })),
  createChatTemplate: manage((ids) => ({
    path: `${chat}/templates`,
    json: {
      chat_number_id: ids.free_chat_number_id,
      name: unique("greeting").replaceAll("-", "_"),
      language: "en_US",
      category: "UTILITY",
      parameter_format: "POSITIONAL",
      components: [
        { type: "HEADER", format: "DOCUMENT", example: { header_handle: ["4::a"] } },
        { type: "BODY", text: "Hello {{1}}", example: { body_text: [["Ada"]] } },
        { type: "FOOTER", text: "Bye" },
        {
          type: "BUTTONS",
          buttons: [
            {
              type: "URL",
              text: "Track",
              url: "https://a.example/{{1}}",
              example: ["https://a.example/7"],
            },
          ],
        },
      ],
      variable_defaults: { "1": "there", button_0: "7" },
      header_media: { link: "https://a.example/a.pdf", filename: "a.pdf" },
    },
  })),
  syncChatTemplates: manage((ids) => ({
    path: `${chat}/templates/sync`,
    json: { chat_number_id: ids.free_chat_number_id },
  })),
  readChatTemplate: see((ids) => ({ path: templateOf(ids) })),
  updateChatTemplate: manage((ids) => ({
    path: templateOf(ids),
    json: { variable_defaults: { "1": "you" }, header_media: null },
  })),
  deleteChatTemplate: manage((ids) => ({ path: templateOf(ids) })),
};

const newFlow = (ids: Ids) => ({
  name: unique("flow"),
  active: true,
  opening: { type: "template", template_id: ids.free_template_id },
});
const flowPatch = () => ({
  name: unique("flow"),
  opening: {
    type: "interactive",
    header: "Hello",
    body: "Hello {{1}}",
    footer: "Bye",
    buttons: [{ id: "y", title: "Yes" }],
    variable_defaults: { "1": "there" },
  },
});

const flows: Record<string, RouteRow> = {
  listChatFlows: see(() => ({ path: `${chat}/flows?limit=2` })),
  createChatFlow: manage((ids) => ({ path: `${chat}/flows`, json: newFlow(ids) })),
  readChatFlow: see((ids) => ({ path: flowOf(ids) })),
  updateChatFlow: manage((ids) => ({ path: flowOf(ids), json: flowPatch() })),
  deleteChatFlow: manage((ids) => ({ path: flowOf(ids) })),
  listAutomationFlows: see(() => ({ path: `${automation}?limit=2` })),
  createAutomationFlow: manage((ids) => ({ path: automation, json: newFlow(ids) })),
  readAutomationFlow: see((ids) => ({ path: automationOf(ids) })),
  updateAutomationFlow: manage((ids) => ({ path: automationOf(ids), json: flowPatch() })),
  deleteAutomationFlow: manage((ids) => ({ path: automationOf(ids) })),
};

const holds: Record<string, RouteRow> = {
  listChatHolds: see((ids) => ({
    path: `${chat}/holds?limit=2&scope=number&subject_id=${ids.free_chat_number_id}`,
  })),
  liftChatHold: manage((ids) => ({
    path: `${chat}/holds/lift`,
    json: { scope: "number", subject_id: ids.free_chat_number_id, reason: "sender_restricted" },
  })),
};

export const chatRows: Record<string, RouteRow> = { ...numbers, ...templates, ...flows, ...holds };
