// Writes the behavior of outcomes.ts as a SIPp scenario, with one branch for each number prefix.
import { far_end, refusals } from "./outcomes.ts";
import {
  runActions,
  confirm,
  findInNumber,
  jump,
  label,
  pause,
  receive,
  receiveInvite,
  request,
  respond,
  type Media,
} from "./scenario-elements.ts";

export type ScenarioOptions = {
  /** As RTP events (RFC 4733), for which SIPp needs root (raw sockets), or by SIP INFO. */
  readonly digits_by: "rtp" | "info";
  /** The audio of the far end that speaks: a WAV file, 8 kHz mono. */
  readonly speech_path: string;
  /** The audio of answering people and machines, written by writeVoice. */
  readonly hello_path: string;
  readonly greeting_path: string;
};

const ringing = respond(180, "Ringing");
const keys = "0123456789".split("");

/** Returns the scenario in which the dialed number selects the behavior. */
export function steeredScenario(options: ScenarioOptions): string {
  const numbers = [...refusals.map(({ status }) => `7${status}`), ...Object.values(far_end)];
  return scenario([
    receiveInvite,
    jump("steered", "steered"),
    label("usual"),
    ...answersAfter(pause(200)),
    jump("end"),
    label("steered"),
    runActions(...numbers.map((number) => findInNumber(`^${number}`, `is${number}`))),
    ...numbers.map((number) => jump(number, `is${number}`)),
    jump("usual"),
    ...refusing(),
    ...waiting(options),
    ...hangingUp(),
    ...pressing(options),
    label("end"),
    pause(10),
    '<Reference variables="to,from,cseq,all,contact,steered,digit"/>',
  ]);
}

/**
 * Returns the scenario for load: answers every call after 200 ms. With `talk_ms` it hangs up this long
 * after its answer, otherwise it waits for the other side.
 */
export function fastScenario(talk_ms?: number): string {
  const ending = talk_ms === undefined ? untilBye : [pause(talk_ms), request("BYE", 2)];
  return scenario([
    receiveInvite,
    ringing,
    pause(200),
    answer(),
    ...ending,
    '<Reference variables="to,from,all,contact,steered,number"/>',
  ]);
}

function scenario(parts: readonly string[]): string {
  return `<?xml version="1.0" encoding="ISO-8859-1" ?>
<!DOCTYPE scenario SYSTEM "sipp.dtd">
<scenario name="far end">
${parts.join("\n")}
</scenario>
`;
}

function branch(number: string, ...parts: readonly string[]): string[] {
  return [label(number), ...parts, jump("end")];
}

function answer(media: Media = "media_port"): string {
  return `${respond(200, "OK", { media })}\n${receive("ACK")}`;
}

const untilBye = [receive("BYE"), confirm];

function answersAfter(wait: string): string[] {
  return [ringing, wait, answer(), ...untilBye];
}

/** Pauses for as many seconds as the two digits after `digits_before` of the number say. */
function pauseAsDialed(digits_before: number): string {
  const read = runActions(
    findInNumber(`^[0-9]{${digits_before}}([0-9][0-9])`, "all", "seconds"),
    '<todouble assign_to="ms" variable="seconds"/>',
    '<multiply assign_to="ms" value="1000"/>',
  );
  return `${read}\n<pause variable="ms"/>`;
}

function refusing(): string[] {
  return refusals.flatMap(({ status, reason, rings, header }) =>
    branch(
      `7${status}`,
      ...(rings === true ? [ringing, pause(300)] : []),
      respond(status, reason, header === undefined ? {} : { header }),
      receive("ACK"),
    ),
  );
}

/** Branches of far ends that wait for the BYE after they answered. */
function waiting({ speech_path, hello_path, greeting_path }: ScenarioOptions): string[] {
  const say = (path: string) => runActions(`<exec rtp_stream="${path},-1,0"/>`);
  const talker = (path: string) => [
    ringing,
    answer("rtpstream_audio_port"),
    say(path),
    ...untilBye,
  ];
  const progress = respond(183, "Session Progress", { media: "media_port" });
  const terminated = [receive("CANCEL"), confirm, respond(487, "Request Terminated")];
  return [
    ...branch(far_end.rings_on, ringing, ...terminated, receive("ACK")),
    ...branch(far_end.early_media, progress, pause(2_000), answer(), ...untilBye),
    ...branch(far_end.answers_late, ...answersAfter(pauseAsDialed(4))),
    ...branch(far_end.speaks, ...talker(speech_path)),
    ...branch(far_end.says_hello, ...talker(hello_path)),
    ...branch(far_end.greets_long, ...talker(greeting_path)),
    ...branch(far_end.listens, ringing, answer("rtpstream_audio_port"), ...untilBye),
    ...branch(
      far_end.scripted,
      runActions(findInNumber(`^${far_end.scripted}([0-9]{5})`, "all", "port")),
      ringing,
      answer("$port"),
      ...untilBye,
    ),
    ...branch(far_end.silent),
  ];
}

function hangingUp(): string[] {
  const why = "Reason: Q.850;cause=16";
  const begin = [ringing, answer(), pauseAsDialed(4)];
  return [
    ...branch(far_end.hangs_up, ...begin, request("BYE", 2)),
    ...branch(far_end.hangs_up_with_reason, ...begin, request("BYE", 2, { header: why })),
  ];
}

function pressing({ digits_by }: ScenarioOptions): string[] {
  const press = (pressed: string) => (digits_by === "rtp" ? pressByRtp(pressed) : byInfo(pressed));
  /** SIPp needs the digits of RTP events in the scenario, so each digit has its own branch. */
  const pressAsDialed = (number: string, before: string) => [
    ringing,
    answer(),
    runActions(...keys.map((key) => findInNumber(`^${number}${key}`, `key${key}`))),
    pauseAsDialed(5),
    ...keys.map((key) => jump(`${number}${key}`, `key${key}`)),
    ...keys.flatMap((key) => [
      label(`${number}${key}`),
      press(before + key),
      ...untilBye,
      jump("end"),
    ]),
  ];
  const begin = [ringing, answer()];
  const dialed = runActions(findInNumber("^7204([0-9])", "all", "digit"));
  return [
    ...branch(far_end.presses_1_9_hash, ...begin, pause(800), press("19#"), ...untilBye),
    ...branch(
      far_end.presses_by_info,
      ...begin,
      dialed,
      pauseAsDialed(5),
      info("[$digit]", 2),
      ...untilBye,
    ),
    ...branch(far_end.presses_sequence, ...begin, ...pressSequence(), ...untilBye),
    ...branch(far_end.presses, ...pressAsDialed(far_end.presses, "")),
    ...branch(far_end.presses_star_and, ...pressAsDialed(far_end.presses_star_and, "*")),
    ...branch(far_end.presses_star, ...begin, pauseAsDialed(4), press("*"), ...untilBye),
    ...branch(far_end.presses_hash, ...begin, pauseAsDialed(4), press("#"), ...untilBye),
  ];
}

/** Presses as many digits as the seventh digit says, each after the same pause. */
function pressSequence(): string[] {
  const number = far_end.presses_sequence;
  const presses = [1, 2, 3].flatMap((nth) => [
    runActions(
      findInNumber(
        `^${number}[0-9]{2}[${nth}-9][0-9]{${nth - 1}}([0-9])`,
        `press${nth}`,
        `digit${nth}`,
      ),
    ),
    jump(`${number}-${nth}`, `press${nth}`),
    jump(`${number}-0`),
    label(`${number}-${nth}`),
    pauseAsDialed(4),
    info(`[$digit${nth}]`, 1 + nth),
  ]);
  return [...presses, label(`${number}-0`)];
}

/** Plays each digit for 160 ms as payload 101; SIPp ignores a second play_dtmf in a call. */
function pressByRtp(pressed: string): string {
  return runActions(`<exec play_dtmf="${pressed},160,101"/>`);
}

function byInfo(pressed: string): string {
  return pressed
    .split("")
    .map((key, index) => info(key, 2 + index))
    .join("\n");
}

function info(key: string, sequence: number): string {
  const text = `Signal=${key}\nDuration=160`;
  return request("INFO", sequence, { content: ["application/dtmf-relay", text] });
}
