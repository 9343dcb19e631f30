// What our legs and bridges are called at the switch: by their own names, closed with a character that
// is in none of them. Asterisk finds channels by the beginning of their id: closed, none is the
// beginning of another. And what does not end so is none of ours.

const closing = "_";

export function channelOf(leg: string): string {
  return leg + closing;
}

/** The leg that the channel is; null: none of ours. */
export function legOf(channel: string): string | null {
  return opened(channel);
}

export function bridgeIdOf(bridge: string): string {
  return bridge + closing;
}

/** Our name of the bridge; null: none of ours. */
export function bridgeOf(id: string): string | null {
  return opened(id);
}

/** Of the ringing that a leg hears. */
export function ringbackOf(leg: string): string {
  return `${leg}-ring`;
}

function opened(id: string): string | null {
  return id.endsWith(closing) ? id.slice(0, -closing.length) : null;
}
