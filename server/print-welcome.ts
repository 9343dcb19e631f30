import { randomUUID } from "node:crypto";
import { relative } from "node:path";
import type { Config } from "./config.ts";
import { demoFile, type Demo } from "./seed-demo/demo-file.ts";

/**
 * Prints the service's addresses, and with demo data a link that signs in once and one example request for each write.
 * Never prints a token: output is kept in logs and terminals.
 */
export function printWelcome(
  config: Config,
  demo: Demo | null,
  { seeded, sign_in_path }: { readonly seeded: boolean; readonly sign_in_path: string | null },
): void {
  const lines = [
    `Trunkline is running at ${config.public_url}`,
    `  API documentation  ${config.public_url}/docs`,
    `  Console            ${config.public_url}${sign_in_path ?? "/"}`,
  ];
  if (demo) {
    lines.push(
      ...(sign_in_path === null
        ? []
        : ["                     (this link signs you in once, within the hour)"]),
      `  Demo tokens        ${demoFile(config.data_dir)}${seeded ? " (just created)" : ""}`,
      "",
      "The demo account uses the sandbox: it sends no real messages and places no real calls.",
      "Paste these commands into another terminal in this folder. The first reads a token.",
      "",
      `  ${tokenCommand(config)}`,
      "",
      "Create a lead:",
      ...leadExample(config, demo),
      "",
      "Send a chat campaign to one recipient:",
      ...campaignExample(config, demo),
      "",
      "Place a click-to-call from an agent to a customer:",
      ...callExample(config, demo),
      "",
      "Start a voice campaign with an IVR menu:",
      ...voiceExample(config, demo),
      "",
      "Follow live events:",
      `  curl -N ${config.public_url}/api/v1/events -H "Authorization: Bearer $TOKEN"`,
    );
  }
  console.log(`\n${lines.join("\n")}\n`);
}

function leadExample(config: Config, demo: Demo): string[] {
  return [
    `  curl -X POST ${config.public_url}/api/v1/crm/workspaces/${demo.workspace_id}/leads/create \\`,
    `    -H "Authorization: Bearer $TOKEN" \\`,
    `    -H 'Content-Type: application/json' \\`,
    `    -d '{"phone": "9876543210", "name": "Ada Lovelace"}'`,
  ];
}

function campaignExample(config: Config, demo: Demo): string[] {
  const campaign = {
    name: "First campaign",
    chat_number_id: demo.chat_number_id,
    template_id: demo.template_id,
    contacts: [{ phone_number: "919876543210", variables: { "1": "Ada" } }],
  };
  return [
    `  curl -X POST ${config.public_url}/api/v1/chat/campaigns \\`,
    `    -H "Authorization: Bearer $TOKEN" \\`,
    `    -H 'Idempotency-Key: ${randomUUID()}' \\`,
    `    -H 'Content-Type: application/json' \\`,
    `    -d '${JSON.stringify(campaign)}'`,
  ];
}

function callExample(config: Config, demo: Demo): string[] {
  const call = { to_number: "9876543210", from_number: demo.agent_number };
  return [
    `  curl -X POST ${config.public_url}/api/v1/clickToCallApis/clickToCall \\`,
    `    -H "Authorization: Bearer $TOKEN" \\`,
    `    -H 'Content-Type: application/json' \\`,
    `    -d '${JSON.stringify(call)}'`,
  ];
}

function voiceExample(config: Config, demo: Demo): string[] {
  const campaign = {
    campaign_name: "First calls",
    voice_file_id: demo.voice_file_id,
    call_type: "obd_ivr",
    sendTo: "Numbers",
    number: "9876543210,9876543211",
  };
  return [
    `  curl -X POST ${config.public_url}/api/v1/voice/voiceCampaign \\`,
    `    -H "Authorization: Bearer $TOKEN" \\`,
    `    -H 'Content-Type: application/json' \\`,
    `    -d '${JSON.stringify(campaign)}'`,
  ];
}

/** The command by which README.md reads the token, too. */
function tokenCommand({ data_dir }: Config): string {
  const file = relative(process.cwd(), demoFile(data_dir));
  return `TOKEN=$(sed -n 's/^    "account": "\\(.*\\)",$/\\1/p' '${file}')`;
}
