import {
  VoiceError,
  type VoiceDriver,
  type VoiceEvent,
  type VoiceNode,
  type VoiceSession,
} from "../../server/drivers/voice/driver.ts";

/** Switches whose contact with their node leaders a test can cut. */
export type InterruptibleSwitches = {
  readonly driver: VoiceDriver;
  /** Cuts the contact until `restore`; calls continue at the switch. `seenAt`: when it was last in contact. */
  cut(nodeId: number, seenAt: Date): void;
  /** Restores the contact; after `restart`, the switch has lost its calls. */
  restore(nodeId: number, restart?: boolean): void;
  /** Returns the session with the switch, which requests reach also during a cut. */
  behind(nodeId: number): VoiceSession;
};

type Line = { cut(seenAt: Date): void; restore(): void };

/** Wraps the driver of simulated switches. `beforeDial` and `beforeCdrs` run before these requests reach a node's session. */
export function openInterruptibleSwitches(
  inner: VoiceDriver,
  beforeDial: (nodeId: number) => void = () => {},
  beforeCdrs: () => Promise<void> = async () => {},
): InterruptibleSwitches {
  const cuts = new Set<number>();
  const restarts = new Map<number, number>();
  const lines = new Map<number, Line>();
  const behind = new Map<number, VoiceSession>();
  /** A restarted switch is another one, without calls. */
  const openBehind = (node: VoiceNode, onEvent: (event: VoiceEvent) => void) => {
    const count = restarts.get(node.id) ?? 0;
    const session = inner.open({ ...node, id: node.id + count * 1_000_000 }, (event) =>
      onEvent(event.type === "connected" ? { ...event, epoch: `${event.epoch}-${count}` } : event),
    );
    behind.set(node.id, session);
    return session;
  };
  const open: VoiceDriver["open"] = (node, onEvent) => {
    let session: VoiceSession | null = null;
    let closed = false;
    let connection = 0;
    const connect = () => {
      if (closed) return;
      connection += 1;
      const own = connection;
      session = openBehind(node, (event) => {
        if (!closed && !cuts.has(node.id) && connection === own) onEvent(event);
      });
    };
    lines.set(node.id, {
      cut(seen_at) {
        if (!closed) onEvent({ type: "disconnected", seen_at });
      },
      restore: connect,
    });
    if (!cuts.has(node.id)) connect();
    const close = async () => {
      closed = true;
      if (!cuts.has(node.id)) await session?.close();
    };
    return new Proxy({} as VoiceSession, {
      get(_target, name: keyof VoiceSession) {
        if (name === "close") return close;
        return async (...values: never[]) => {
          if (name === "dial") beforeDial(node.id);
          if (name === "findCdrs") await beforeCdrs();
          const isCut = cuts.has(node.id) || session === null;
          if (isCut && name === "findCdrs") return "unreadable";
          if (isCut || session === null)
            throw new VoiceError("unreachable", "the contact with the switch is cut");
          return (session[name] as (...of: never[]) => Promise<unknown>)(...values);
        };
      },
    });
  };
  return {
    driver: { ...inner, open },
    cut(nodeId, seenAt) {
      cuts.add(nodeId);
      lines.get(nodeId)?.cut(seenAt);
    },
    restore(nodeId, restart = false) {
      cuts.delete(nodeId);
      if (restart) restarts.set(nodeId, (restarts.get(nodeId) ?? 0) + 1);
      lines.get(nodeId)?.restore();
    },
    behind: (nodeId) => behind.get(nodeId)!,
  };
}
