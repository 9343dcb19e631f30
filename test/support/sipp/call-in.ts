// SIPp as a person who calls in, by default over the endpoint `deadtrunk`.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findAsteriskFiles } from "../../../scripts/asterisk/asterisk-files.ts";
import type { RunningAsterisk } from "../../../scripts/asterisk/start-asterisk.ts";
import { freeRtpPort } from "../sipp.ts";
import { pause } from "./scenario-elements.ts";

export type IncomingCall = {
  readonly from: string;
  readonly to: string;
  readonly key: string;
  /** The carrier has 127.0.0.1. */
  readonly address?: string;
  /** The call is expected to be busy (486). */
  readonly is_busy?: boolean;
};

/**
 * Calls the number, presses the key a second after the answer and stays until the other side hangs up. Resolves with
 * SIPp's exit code: 0 if the call was answered, or busy where that is expected.
 */
export async function callIn(
  asterisk: RunningAsterisk,
  { from, to, key, address = "127.0.0.1", is_busy = false }: IncomingCall,
): Promise<number> {
  const files = findAsteriskFiles();
  if (files === null) throw new Error("SIPp is not installed; run `npm run asterisk:install`");
  const dir = join(asterisk.run_dir, "caller");
  mkdirSync(dir, { recursive: true });
  const scenario_path = join(dir, "scenario.xml");
  writeFileSync(scenario_path, scenarioOf(from, key, is_busy));
  const rtp = await freeRtpPort();
  const options = [
    "-sf",
    scenario_path,
    "-s",
    to,
    "-m",
    "1",
    "-nostdin",
    "-watchdog_interval",
    "0",
  ];
  const source = ["-i", address, "-p", String(asterisk.ports.dead), "-mi", address];
  const audio = ["-rtp_echo", "-min_rtp_port", String(rtp), "-max_rtp_port", String(rtp + 3)];
  const command = files.command("usr/bin/sipp");
  const words = [...command, ...options, ...source, ...audio, `127.0.0.1:${asterisk.ports.sip}`];
  const child = spawn("setpriv", ["--pdeathsig", "SIGKILL", ...words], {
    cwd: dir,
    env: { ...process.env, TERM: "dumb" },
    stdio: "ignore",
  });
  const [code] = (await once(child, "exit")) as [number];
  return code;
}

const tag = "tag=[pid]SIPpTag00[call_number]";

function scenarioOf(from: string, key: string, is_busy: boolean): string {
  const head = (
    method: string,
    to: string,
  ) => `Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
From: <sip:${from}@[local_ip]:[local_port]>;${tag}
${to}
Call-ID: [call_id]
CSeq: ${method}
Contact: <sip:${from}@[local_ip]:[local_port]>
Max-Forwards: 70`;
  const uri = "sip:[service]@[remote_ip]:[remote_port]";
  // Without telephone-event, keys are sent by INFO, which needs no raw socket.
  return `<?xml version="1.0" encoding="ISO-8859-1" ?>
<!DOCTYPE scenario SYSTEM "sipp.dtd">
<scenario name="caller">
<send retrans="500"><![CDATA[
INVITE ${uri} SIP/2.0
${head("1 INVITE", `To: <${uri}>`)}
Content-Type: application/sdp
Content-Length: [len]

v=0
o=sipp 53655765 2353687637 IN IP[local_ip_type] [local_ip]
s=-
c=IN IP[media_ip_type] [media_ip]
t=0 0
m=audio [media_port] RTP/AVP 0
a=rtpmap:0 PCMU/8000
]]></send>
<recv response="100" optional="true"/>
<recv response="180" optional="true"/>
<recv response="183" optional="true"/>
<recv response="${is_busy ? 486 : 200}" rrs="true"/>
<send><![CDATA[
ACK ${is_busy ? uri : "[next_url]"} SIP/2.0
${head("1 ACK", "[last_To:]")}
Content-Length: 0

]]></send>
${is_busy ? "" : conversationOf(head, key)}</scenario>
`;
}

function conversationOf(head: (method: string, to: string) => string, key: string): string {
  return `${pause(1_000)}
<send retrans="500"><![CDATA[
INFO [next_url] SIP/2.0
${head("2 INFO", "[last_To:]")}
Content-Type: application/dtmf-relay
Content-Length: [len]

Signal=${key}
Duration=160
]]></send>
<recv response="200"/>
<recv request="BYE"/>
<send><![CDATA[
SIP/2.0 200 OK
[last_Via:]
[last_From:]
[last_To:]
[last_Call-ID:]
[last_CSeq:]
Content-Length: 0

]]></send>
`;
}
