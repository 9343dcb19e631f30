// The rows of routes for voice files, menus and AI agents.
import { unique } from "../support/account-factory.ts";
import type { RouteRow } from "./route-rows.ts";
import type { Ids } from "./seed-ids.ts";

const voice = "/api/v1/voice";

const see = (request: RouteRow["request"]): RouteRow => ({
  features: ["voice"],
  may: ["voice.content.read", "voice.content.manage"],
  request,
});
const manage = (request: RouteRow["request"]): RouteRow => ({
  features: ["voice"],
  may: ["voice.content.manage"],
  request,
});

const fileOf = (ids: Ids) => `${voice}/files/${ids.voice_file_id}`;
const menuOf = (ids: Ids) => `${voice}/menus/${ids.voice_menu_id}`;
const agentOf = (ids: Ids) => `${voice}/agents/${ids.ai_agent_id}`;

const settingsOf = (ids: Ids) => ({
  name: unique("file"),
  script: "Hello {{name|there}}",
  menu_id: ids.voice_menu_id,
  ai_agent_id: ids.ai_agent_id,
  opt_out_key: "9",
  answering_machine: "retry",
});
const graphOf = (ids: Ids) => ({
  start: "main",
  nodes: {
    main: {
      type: "menu",
      prompt: { voice_file_id: ids.voice_file_id },
      keys: { "1": "agent" },
      otherwise: "bye",
    },
    agent: { type: "transfer", to: { agent_group_id: ids.agent_group_id }, otherwise: "bye" },
    bye: { type: "hang_up" },
  },
});

/** The rows by route ID. */
export const voiceContentRows: Record<string, RouteRow> = {
  listVoiceFiles: see(() => ({ path: `${voice}/files?limit=2&status=ready` })),
  createVoiceFile: manage((ids) => ({
    path: `${voice}/files`,
    json: { ...settingsOf(ids), text: "Hello", language: "en" },
  })),
  readVoiceFile: see((ids) => ({ path: fileOf(ids) })),
  readVoiceFileAudio: see((ids) => ({ path: `${fileOf(ids)}/audio` })),
  previewSpeech: manage(() => ({ path: `${voice}/speech/preview`, json: { text: "Hello" } })),
  updateVoiceFile: manage((ids) => ({ path: fileOf(ids), json: settingsOf(ids) })),
  deleteVoiceFile: manage((ids) => ({ path: fileOf(ids) })),
  listVoiceMenus: see(() => ({ path: `${voice}/menus?limit=2` })),
  createVoiceMenu: manage((ids) => ({
    path: `${voice}/menus`,
    json: { name: unique("menu"), ...graphOf(ids) },
  })),
  previewVoiceMenu: see((ids) => ({
    path: `${voice}/menus/preview`,
    json: { ...graphOf(ids), presses: ["1"] },
  })),
  readVoiceMenu: see((ids) => ({ path: menuOf(ids) })),
  updateVoiceMenu: manage((ids) => ({
    path: menuOf(ids),
    json: { name: unique("menu"), ...graphOf(ids) },
  })),
  deleteVoiceMenu: manage((ids) => ({ path: menuOf(ids) })),
  listAiAgents: see(() => ({ path: `${voice}/agents?limit=2` })),
  previewAiAgent: { ...manage(() => ({ path: `${voice}/agents/talk` })), socket: true },
  previewAiAgentRehearsals: see(() => ({
    path: `${voice}/agents/rehearse`,
    json: { greeting: "Hello" },
  })),
  createAiAgent: manage((ids) => ({
    path: `${voice}/agents`,
    json: {
      name: unique("agent"),
      greeting: "Hello {{name|there}}",
      fields: [{ key: "city", question: "Which city?" }],
      transfer_to: { agent_group_id: ids.agent_group_id },
    },
  })),
  readAiAgent: see((ids) => ({ path: agentOf(ids) })),
  updateAiAgent: manage((ids) => ({
    path: agentOf(ids),
    json: { name: unique("agent"), transfer_to: { agent_group_id: ids.agent_group_id } },
  })),
  deleteAiAgent: manage((ids) => ({ path: agentOf(ids) })),
};
