// Writes the commands of SIPp scenarios as XML.

/** Labels the next command. */
export function label(name: string): string {
  return `<label id="${name}"/>`;
}

/** Jumps to the label `name`: always, or if the variable `test` is set. */
export function jump(name: string, test?: string): string {
  return test === undefined ? `<nop next="${name}"/>` : `<nop next="${name}" test="${test}"/>`;
}

/** Runs actions. */
export function runActions(...actions: readonly string[]): string {
  return `<nop><action>${actions.join("\n  ")}</action></nop>`;
}

export function pause(ms: number): string {
  return `<pause milliseconds="${ms}"/>`;
}

/** Matches the last ten dialed digits with `regexp` and assigns the groups to the variables. */
export function findInNumber(regexp: string, ...variables: readonly string[]): string {
  const to = variables.join(",");
  return `<ereg regexp="${regexp}" search_in="var" variable="number" assign_to="${to}"/>`;
}

/** Receives the INVITE and stores the headers that later requests in its dialog need. */
export const receiveInvite = `<recv request="INVITE" crlf="true"><action>
  <ereg regexp=".*" search_in="hdr" header="To:" assign_to="to"/>
  <ereg regexp=".*" search_in="hdr" header="From:" assign_to="from"/>
  <ereg regexp="[0-9]+ INVITE" search_in="hdr" header="CSeq:" assign_to="cseq"/>
  <ereg regexp="Contact: *&lt;([^&gt;]*)" search_in="msg" assign_to="all,contact"/>
  <ereg regexp="INVITE sip:[+0-9]*(7[0-9]{9})@" search_in="msg" assign_to="steered,number"/>
</action></recv>`;

export function receive(method: "ACK" | "BYE" | "CANCEL"): string {
  return `<recv request="${method}" crlf="true"/>`;
}

const our_tag = "tag=[pid]SIPpTag01[call_number]";

/** Returns a session description with audio at the port of a SIPp keyword. */
function session(port: string): string {
  return `v=0
o=sipp 53655765 2353687637 IN IP[local_ip_type] [local_ip]
s=-
c=IN IP[media_ip_type] [media_ip]
t=0 0
m=audio [${port}] RTP/AVP 0 101
a=rtpmap:0 PCMU/8000
a=rtpmap:101 telephone-event/8000
a=fmtp:101 0-16`;
}

/** Audio that SIPp echoes or plays from a file, or that another process exchanges at the port in a variable. */
export type Media = "media_port" | "rtpstream_audio_port" | "$port";

/** Responds to the INVITE; repeats final responses until the ACK. */
export function respond(
  status: number,
  reason: string,
  more: { readonly header?: string; readonly media?: Media } = {},
): string {
  const { header, media } = more;
  return `<send${status >= 200 ? ' retrans="500"' : ""}><![CDATA[
SIP/2.0 ${status} ${reason}
[last_Via:]
[last_From:]
[last_To:];${our_tag}
[last_Call-ID:]
CSeq:[$cseq]
Contact: <sip:[local_ip]:[local_port];transport=[transport]>
${header === undefined ? "" : `${header}\n`}${body(media === undefined ? null : ["application/sdp", session(media)])}
]]></send>`;
}

/** Responds 200 to the last BYE or CANCEL. */
export const confirm = `<send><![CDATA[
SIP/2.0 200 OK
[last_Via:]
[last_From:]
[last_To:]
[last_Call-ID:]
[last_CSeq:]
Content-Length: 0

]]></send>`;

/** Sends a request in the dialog of the call and receives its response. */
export function request(
  method: "BYE" | "INFO",
  sequence: number,
  more: { readonly header?: string; readonly content?: readonly [type: string, text: string] } = {},
): string {
  return `<send retrans="500"><![CDATA[
${method} [$contact] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
From:[$to];${our_tag}
To:[$from]
[last_Call-ID:]
CSeq: ${sequence} ${method}
Max-Forwards: 70
${more.header === undefined ? "" : `${more.header}\n`}${body(more.content ?? null)}
]]></send>
<recv response="200" crlf="true"/>`;
}

function body(content: readonly [type: string, text: string] | null): string {
  if (content === null) return "Content-Length: 0\n";
  return `Content-Type: ${content[0]}\nContent-Length: [len]\n\n${content[1]}\n`;
}
