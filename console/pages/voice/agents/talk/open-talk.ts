// A talk with an AI agent: the microphone and the loudspeaker at one end of a WebSocket.
import type { TalkInput, TalkOutput } from "../../../../../server/voice/ai-agents/talk-schema.ts";
import type { AgentDraft } from "../agent-draft.ts";
import worklet from "./talk-worklet.ts?worker&url";

export type Talk = {
  readonly send: (input: TalkInput) => void;
  readonly hangUp: () => void;
};

export type TalkEvents = {
  /** The AI agent listens. Without a microphone, or the permission to use it, the person can still type. */
  readonly onBegin: (hasMicrophone: boolean) => void;
  readonly onMessage: (message: TalkOutput) => void;
  /** The talk has ended; with a reason if neither side ended it. */
  readonly onEnd: (reason: string | null) => void;
};

const reasons: Readonly<Record<number, string>> = {
  1001: "The service is restarting. Begin again in a moment.",
  1008: "The service ended it: your access has changed, or too much sound arrived at once.",
};
const normal_end = 1000;

/** Begins a talk with the AI agent of a draft, whose texts get these values. */
export async function openTalk(
  { name: _name, ...agent }: AgentDraft,
  variables: Readonly<Record<string, string>>,
  { onBegin, onMessage, onEnd }: TalkEvents,
): Promise<Talk> {
  const microphone = await navigator.mediaDevices
    .getUserMedia({ audio: { echoCancellation: true, noiseSuppression: true } })
    .catch(() => null);
  const sound = new AudioContext();
  await sound.audioWorklet.addModule(worklet);
  const node = new AudioWorkletNode(sound, "talk");
  node.connect(sound.destination);
  if (microphone) sound.createMediaStreamSource(microphone).connect(node);
  const socket = new WebSocket(new URL("/api/v1/voice/agents/talk", location.href));
  socket.binaryType = "arraybuffer";
  node.port.addEventListener("message", ({ data }: MessageEvent<Int16Array<ArrayBuffer>>) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(data);
  });
  node.port.start();
  // oxlint-disable-next-line require-post-message-target-origin -- A port has no origin; windows have.
  const play = (audio: Int16Array | "flush") => node.port.postMessage(audio);
  let isBegun = false;
  socket.addEventListener("open", () => {
    isBegun = true;
    socket.send(JSON.stringify({ type: "start", agent, variables }));
  });
  socket.addEventListener("message", ({ data }: MessageEvent<string | ArrayBuffer>) => {
    if (data instanceof ArrayBuffer) return play(new Int16Array(data));
    const message = JSON.parse(data) as TalkOutput;
    if (message.type === "flush") play("flush");
    // The service synthesizes all texts first, and does not listen until then.
    else if (message.type === "ready") onBegin(microphone !== null);
    else onMessage(message);
  });
  socket.addEventListener("close", ({ code }) => {
    for (const track of microphone?.getTracks() ?? []) track.stop();
    void sound.close();
    const lost = isBegun
      ? "The connection to the service was lost."
      : "The service did not accept it: three talks of the account may be going on at once.";
    onEnd(code === normal_end ? null : (reasons[code] ?? lost));
  });
  return {
    send: (input) => socket.send(JSON.stringify(input)),
    hangUp: () => socket.close(normal_end),
  };
}
