// IDs of Trunkline's objects at the switch (legs, bridges, recordings, playbacks): a name, `_` and the ARI
// application. The suffix separates installations that share a switch and count calls alike. It also makes
// prefixes unambiguous, because Asterisk finds channels by ID prefix and names contain no `_`.

/** Returns the ID at the switch of the object `name`. */
export function idAtSwitch(app: string, name: string): string {
  return `${name}_${app}`;
}

/** Returns the name of the object with this ID; null when it belongs to another application. */
export function ownName(app: string, id: string): string | null {
  const [name = ""] = id.split("_");
  return idAtSwitch(app, name) === id ? name : null;
}

/** Returns the ID of a leg's ringback playback. */
export function ringbackId(app: string, leg: string): string {
  return idAtSwitch(app, `${leg}-ring`);
}

/** Returns the ID of an external media channel, in a form that is not mistaken for a leg's. */
export function mediaId(app: string, unique: string): string {
  return `media_${unique}_${app}`;
}

/** Returns whether the ID is that of an external media channel of this application. */
export function isMedia(app: string, id: string): boolean {
  return id.startsWith("media_") && mediaId(app, id.split("_")[1] ?? "") === id;
}
