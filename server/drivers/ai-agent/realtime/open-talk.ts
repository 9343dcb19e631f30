// What becomes of each thing that the server tells, and of each key.
import type { Timers } from "../../../lib/timers.ts";
import type { CallMedia } from "../../call-media.ts";
import type { AgentPlan } from "../driver.ts";
import type { Conversation } from "../open-conversation.ts";
import {
  askForAnswer,
  beginAnswer,
  cutAnswer,
  endAnswer,
  refuseAnswer,
  watchAnswer,
  type Answers,
} from "./open-answers.ts";
import { openCalls, type Calls } from "./open-calls.ts";
import { openPlayback, type Playback } from "./open-playback.ts";
import type { RealtimeSocket } from "./open-realtime-socket.ts";
import { openWords, type Words } from "./open-words.ts";
import type { ServerEvent } from "./read-server-event.ts";
import { greetingInstructions, sessionUpdate } from "./session-update.ts";
import { openEncoder, readFormat, type SoundFormat } from "./sound-format.ts";

/** Nobody speaks for longer without a pause: the server forgot to tell the end. */
const speech_ms_max = 60_000;
const early_keys_max = 32;
/** Asked for in this order; a server may give something else again. */
const formats: readonly SoundFormat[] = ["pcmu", "pcm"];

export type TalkParts = {
  readonly plan: AgentPlan;
  readonly media: CallMedia;
  readonly timers: Timers;
  readonly conversation: Conversation;
  readonly socket: RealtimeSocket;
  readonly answers: Answers;
  readonly fail: (what: string) => void;
};

export type Talk = TalkParts & {
  readonly words: Words;
  readonly calls: Calls;
  /** Null until the session is set up. */
  playback: Playback | null;
  /** Which of `formats` was asked for; null before the session was created. */
  asked: number | null;
  /** By the clock of `timers`: since when nobody says or does anything, unless somebody does now. */
  quiet_from: number;
  speaking_since: number | null;
  early_keys: readonly string[];
};

export function openTalk(parts: TalkParts): Talk {
  const { plan, conversation, socket, answers } = parts;
  const ask = () => askForAnswer(answers);
  return {
    ...parts,
    words: openWords(conversation),
    calls: openCalls({ plan, conversation, send: socket.send, ask }),
    playback: null,
    asked: null,
    quiet_from: parts.timers.now(),
    speaking_since: null,
    early_keys: [],
  };
}

/** Since when nobody says or does anything; null while somebody does, or nobody can yet. */
export function quietSince({ playback, answers, speaking_since, ...talk }: Talk): number | null {
  if (playback === null || answers.current !== null) return null;
  const spoken_ms = speaking_since === null ? Infinity : talk.timers.now() - speaking_since;
  return spoken_ms < speech_ms_max ? null : talk.quiet_from;
}

export function takeServerEvent(talk: Talk, event: ServerEvent): void {
  watchAnswer(talk.answers);
  if (talk.playback) converse(talk, talk.playback, event);
  else if (event.type === "created" && talk.asked === null) askFormat(talk, 0);
  else if (event.type === "updated" && talk.asked !== null) begin(talk, event);
  else if (event.type === "error" && talk.asked !== null) askFormat(talk, talk.asked + 1);
  else if (event.type === "error") talk.fail("the session was refused");
}

/** A key interrupts, and is told the model in words. */
export function takeKey(talk: Talk, key: string): void {
  talk.conversation.said("caller", `pressed ${key}`);
  if (talk.playback === null) {
    talk.early_keys = [...talk.early_keys, key].slice(-early_keys_max);
    return;
  }
  giveWay(talk, talk.playback, { next: true });
  tellKey(talk, key);
  askForAnswer(talk.answers);
}

function askFormat(talk: Talk, index: number): void {
  const format = formats[index];
  talk.asked = index;
  if (format) talk.socket.send(sessionUpdate(talk.plan, format));
  else talk.fail("the session's settings were refused");
}

function begin(talk: Talk, event: Extract<ServerEvent, { type: "updated" }>): void {
  const { media, socket, conversation } = talk;
  const asked = formats[talk.asked ?? 0] ?? "pcmu";
  const [input, output] = [readFormat(event.input, asked), readFormat(event.output, asked)];
  if (input === null || output === null) {
    talk.fail("the session has a format of sound that is not spoken here");
    return;
  }
  talk.playback = openPlayback(media, output);
  const encode = openEncoder(input);
  media.listen((samples) => void (conversation.isOver() || socket.sendSound(encode(samples))));
  touch(talk);
  for (const key of talk.early_keys) tellKey(talk, key);
  askForAnswer(talk.answers, greetingInstructions(talk.plan));
}

function converse(talk: Talk, playback: Playback, event: ServerEvent): void {
  const { answers, words, conversation } = talk;
  const isCut = "answer" in event && answers.cut.has(event.answer);
  switch (event.type) {
    case "speech_started":
      talk.speaking_since = talk.timers.now();
      giveWay(talk, playback, { next: false });
      break;
    case "speech_stopped":
      talk.speaking_since = null;
      touch(talk);
      break;
    case "caller_said":
      conversation.said("caller", event.text);
      break;
    case "answer_begun":
      beginAnswer(answers, event.answer);
      break;
    case "sound":
      if (!isCut && !playback.play(event)) talk.fail("an answer without end");
      touch(talk);
      break;
    case "words":
      if (!isCut) words.more(event.item, event.text);
      break;
    case "words_done":
      if (!isCut) words.done(event.item, event.text);
      break;
    case "call":
      if (!isCut && !talk.calls.take(event)) talk.fail("function calls without end");
      break;
    case "answer_done":
      if (!isCut) playback.finish();
      endAnswer(answers, event.answer, event.ok);
      touch(talk);
      break;
    case "error":
      refuseAnswer(answers, event.of, event.code);
      break;
    case "created":
    case "updated":
      break;
  }
}

/** The caller comes first: silent at once, and the server is told how much was heard. */
function giveWay(talk: Talk, playback: Playback, what: { readonly next: boolean }): void {
  const answer = cutAnswer(talk.answers, what);
  for (const { item, content_index, heard_ms } of playback.cut(answer)) {
    talk.words.cut(item);
    talk.socket.send({
      type: "conversation.item.truncate",
      item_id: item,
      content_index,
      audio_end_ms: heard_ms,
    });
  }
  touch(talk);
  talk.calls.interrupted();
}

function tellKey({ socket }: Talk, key: string): void {
  const content = [{ type: "input_text", text: `[pressed ${key}]` }];
  const item = { type: "message", role: "user", content };
  socket.send({ type: "conversation.item.create", item });
}

/** Counts from when all that was written has been played. */
function touch(talk: Talk): void {
  talk.quiet_from = talk.timers.now() + talk.media.queued_ms();
}
