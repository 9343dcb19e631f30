// SIPp as a caller of a dialplan that answers, plays audio and hangs up: the calls that Asterisk carries
// without an ARI client.
import { mkdirSync, writeFileSync } from "node:fs";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { findAsteriskFiles } from "../../scripts/asterisk/asterisk-files.ts";
import type { RunningAsterisk } from "../../scripts/asterisk/start-asterisk.ts";

const scenario = `<?xml version="1.0" encoding="ISO-8859-1" ?>
<!DOCTYPE scenario SYSTEM "sipp.dtd">
<scenario name="caller">
<send retrans="500"><![CDATA[
INVITE sip:1000@[remote_ip]:[remote_port] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
From: <sip:bench@[local_ip]:[local_port]>;tag=[pid]-[call_number]
To: <sip:1000@[remote_ip]:[remote_port]>
Call-ID: [call_id]
CSeq: 1 INVITE
Contact: <sip:bench@[local_ip]:[local_port]>
Max-Forwards: 70
Content-Type: application/sdp
Content-Length: [len]

v=0
o=sipp 1 1 IN IP[local_ip_type] [local_ip]
s=-
c=IN IP[media_ip_type] [media_ip]
t=0 0
m=audio [media_port] RTP/AVP 0
a=rtpmap:0 PCMU/8000
]]></send>
<recv response="100" optional="true"/>
<recv response="180" optional="true"/>
<recv response="200" rrs="true"/>
<send><![CDATA[
ACK [next_url] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
From: <sip:bench@[local_ip]:[local_port]>;tag=[pid]-[call_number]
To: <sip:1000@[remote_ip]:[remote_port]>[peer_tag_param]
Call-ID: [call_id]
CSeq: 1 ACK
Max-Forwards: 70
Content-Length: 0

]]></send>
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
</scenario>
`;

/** Far above the duration of a run, half a minute. */
const timeout_ms = 180_000;

/** Places `count` calls, `in_flight` at once. Throws unless every call follows the scenario. */
export async function callDirectly(
  asterisk: RunningAsterisk,
  { count, in_flight }: { count: number; in_flight: number },
): Promise<void> {
  const files = findAsteriskFiles()!;
  const dir = join(asterisk.run_dir, "caller");
  mkdirSync(dir, { recursive: true });
  const scenario_path = join(dir, "scenario.xml");
  writeFileSync(scenario_path, scenario);
  const [program = "", ...words] = files.command("usr/bin/sipp");
  const ports = ["-i", "127.0.0.1", "-mi", "127.0.0.1", "-p", String(asterisk.ports.bench)];
  const load = ["-r", "1000", "-l", String(in_flight), "-m", String(count)];
  const rest = ["-sf", scenario_path, "-nostdin", "-watchdog_interval", "0"];
  await promisify(execFile)(
    program,
    [...words, `127.0.0.1:${asterisk.sip_port}`, ...rest, ...ports, ...load],
    {
      cwd: dir,
      env: { ...process.env, TERM: "dumb" },
      maxBuffer: 64 * 1_048_576,
      timeout: timeout_ms,
    },
  );
}
