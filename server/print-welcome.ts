import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Config } from "./config.ts";
import { demoFile, type Demo } from "./seed-demo/seed-demo.ts";

/** Tells a person at a terminal where everything is, with a line to try each write. */
export function printWelcome(config: Config, seeded: boolean): void {
  const lines = [
    `Trunkline answers at ${config.public_url}`,
    `  API documents  ${config.public_url}/docs`,
  ];
  const demo = readDemo(config);
  if (demo) {
    lines.push(
      `  Demo tokens    ${demoFile(config.data_dir)}${seeded ? " (just made)" : ""}`,
      "",
      "Create a lead:",
      ...leadLine(config, demo),
      "",
      "Send a chat campaign (in the sandbox, so to nobody):",
      ...campaignLine(config, demo),
      "",
      "Call an agent and then a customer (in the sandbox, so nobody's phone rings):",
      ...callLine(config, demo),
      "",
      "Call many and talk to them by a menu (in the sandbox, too):",
      ...voiceLine(config, demo),
      "",
      "Watch what happens, as it happens:",
      ...watchLine(config, demo),
    );
  }
  console.log(`\n${lines.join("\n")}\n`);
}

function leadLine(config: Config, demo: Demo): string[] {
  return [
    `  curl -X POST ${config.public_url}/api/v1/crm/workspaces/${demo.workspace_id}/leads/create \\`,
    `    -H 'Authorization: Bearer ${demo.tokens["account"]}' \\`,
    `    -H 'Content-Type: application/json' \\`,
    `    -d '{"phone": "9876543210", "name": "Ada Lovelace"}'`,
  ];
}

function campaignLine(config: Config, demo: Demo): string[] {
  const campaign = {
    name: "First campaign",
    chat_number_id: demo.chat_number_id,
    template_id: demo.template_id,
    contacts: [{ phone_number: "919876543210", variables: { "1": "Ada" } }],
  };
  return [
    `  curl -X POST ${config.public_url}/api/v1/chat/campaigns \\`,
    `    -H 'Authorization: Bearer ${demo.tokens["account"]}' \\`,
    `    -H 'Idempotency-Key: ${randomUUID()}' \\`,
    `    -H 'Content-Type: application/json' \\`,
    `    -d '${JSON.stringify(campaign)}'`,
  ];
}

function callLine(config: Config, demo: Demo): string[] {
  const call = { to_number: "9876543210", from_number: demo.agent_number };
  return [
    `  curl -X POST ${config.public_url}/api/v1/clickToCallApis/clickToCall \\`,
    `    -H 'Authorization: Bearer ${demo.tokens["account"]}' \\`,
    `    -H 'Content-Type: application/json' \\`,
    `    -d '${JSON.stringify(call)}'`,
  ];
}

function voiceLine(config: Config, demo: Demo): string[] {
  const campaign = {
    campaign_name: "First calls",
    voice_file_id: demo.voice_file_id,
    call_type: "obd_ivr",
    sendTo: "Numbers",
    number: "9876543210,9876543211",
  };
  return [
    `  curl -X POST ${config.public_url}/api/v1/voice/voiceCampaign \\`,
    `    -H 'Authorization: Bearer ${demo.tokens["account"]}' \\`,
    `    -H 'Content-Type: application/json' \\`,
    `    -d '${JSON.stringify(campaign)}'`,
  ];
}

function watchLine(config: Config, demo: Demo): string[] {
  const authorization = `'Authorization: Bearer ${demo.tokens["account"]}'`;
  return [`  curl -N ${config.public_url}/api/v1/events -H ${authorization}`];
}

/** The demo of this data folder, or null where none was seeded. */
function readDemo(config: Config): Demo | null {
  if (config.seed === "none") return null;
  try {
    return JSON.parse(readFileSync(demoFile(config.data_dir), "utf8")) as Demo;
  } catch {
    return null;
  }
}
